#!/usr/bin/env bash
# A crawl of documentation sites whose WARC files live in a bucket, of a store that is not of henro's making. Slaves, the master and the
# store die by SIGKILL at random moments; then every capture of the state must be in the bucket, once: see bucket/main.go, which does it.
#
#   bucket.sh [KILLS] [STORE] [FLAGS…]   30 kills; STORE is rclone or versitygw; FLAGS of bucket/main.go
#   STORES=DIR                           where the two stores are built once; default: a folder of the user's
#   SITES=DIR                            keep there what docs.sh unpacks; default: removed at the end
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
kills=${1:-30} store=${2:-rclone}
shift $(($# < 2 ? $# : 2))
stores=${STORES:-${XDG_CACHE_HOME:-$HOME/.cache}/henro-lab-s3}
sites=${SITES:-$(mktemp -d)}
finish() {
	"$lab/docs.sh" down "$sites" || true
	[ -n "${SITES:-}" ] || rm -rf "$sites"
}
trap finish EXIT
mkdir -p "$stores"
[ -x "$stores/rclone" ] && [ -x "$stores/versitygw" ] ||
	go build -C "$lab/s3" -o "$stores/" ./rclone github.com/versity/versitygw/cmd/versitygw
cd "$lab/../.."
WORKERS=1 PORT=${PORT:-8080} bash "$lab/docs.sh" up "$sites"
go run ./.ci/lab/bucket -stores "$stores" -sites "$sites" -store "$store" -kills "$kills" "$@"
