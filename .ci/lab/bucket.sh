#!/usr/bin/env bash
# A crawl of documentation sites whose WARC files live in a bucket, of a store that is not of henro's making. Slaves, the master and the
# store die by SIGKILL at random moments; then every capture of the state must be in the bucket, once: see bucket/main.go, which does it.
#
#   bucket.sh [KILLS] [STORE] [FLAGS…]   30 kills; STORE is rclone, versitygw or minio; FLAGS of bucket/main.go, as -disk 64m
#                                        -replay 10000 -dir DIR: how long replay takes to show captures of a bucket, and of a folder
#   STORES=DIR                           where stores are built once; default: a folder of the user's
#   DUCKDB=1                             DuckDB reads the tables of the running crawl, Polars through S3 (not of rclone, which answers
#                                        ranges as if they were all), and they agree with henro sql
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
. "$lab/programs.sh"
mkdir -p "$stores"
declare -A from=([rclone]=./rclone [versitygw]=github.com/versity/versitygw/cmd/versitygw)
if [ "$store" = minio ]; then # some ten minutes, once
	[ -x "$stores/minio" ] || GOFLAGS= GOBIN=$stores go install github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
else
	[ -x "$stores/$store" ] || go build -C "$lab/s3" -o "$stores/" "${from[$store]}"
fi
cd "$lab/../.."
build "$sites/bin" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave
WORKERS=1 PORT=${PORT:-8580} bash "$lab/docs.sh" up "$sites"
if [ -n "${DUCKDB:-}" ]; then
	install npm nodejs npm
	cp "$lab"/analysis/* "$lab"/bucket/polars.mjs "$sites"
	(cd "$sites" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock -E \
		nodejs-polars@0.25.2 nodejs-polars-linux-x64-gnu@0.25.2)
	set -- -duckdb "$sites" "$@"
fi
go run ./.ci/lab/bucket -stores "$stores" -bin "$sites/bin" -sites "$sites" -store "$store" -kills "$kills" "$@"
