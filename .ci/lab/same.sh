#!/usr/bin/env bash
# Which pages of real documentation sites have the same text, two of them under a second name: what henro says is compared with the files.
#
#   same.sh [DIR]
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir/sites"
dir=$(cd "$dir" && pwd)
finish() {
	"$lab/docs.sh" down "$dir/sites" || true
	[ -n "${1:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
(cd "$lab/../.." && go build -o "$dir/henro" ./cmd/henro)
docs=$dir/sites/sites
export PORT=${PORT:-8080} MORE="git-again $docs/git-doc/usr/share/doc/git-doc
policy-again $docs/debian-policy/usr/share/doc/debian-policy/policy.html"
bash "$lab/docs.sh" up "$dir/sites"
printf 'http://%s-again.docs.test:'"$PORT"'/\n' git policy >>"$dir/sites/seeds.txt"
mapfile -t flags <"$dir/sites/flags.txt"
rm -rf "$dir/crawl"
crawl() { # FOLDER FLAG...
	"$dir/henro" crawl --dir "$dir/$1" --allow-private --delay 0 --depth -1 --seeds "$dir/sites/seeds.txt" "${flags[@]}" --requisites off "${@:2}" \
		--log-level error --listen-http off --progress off >"$dir/ended"
}
crawl crawl --near mark
python3 "$lab/same.py" "$dir/henro" "$dir/crawl" "$dir/sites"
