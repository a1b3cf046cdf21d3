#!/usr/bin/env bash
# What deduplication saves, and who can read it: documentation sites with all that their pages are made of, a made-up
# web full of session ids, and one whose hosts have the same style sheet and image, each crawled without and with it, and the
# documentation once more with --dedup-from. The files of both of its crawls are put into one folder, where warcio and gowarc read every record, every digest, and every capture that a
# revisit names.
#
#   dedup.sh [DIR]
#   HOSTS="git policy"         only these sites; default: all nine
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	"$lab/docs.sh" down "$dir/sites" || true
	[ -n "${1:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
. "$lab/programs.sh"
install npm nodejs npm
mkdir -p "$dir/tools"
cp "$lab"/archive/*.mjs "$lab/archive/package.json" "$dir/tools"
[ -d "$dir/tools/node_modules" ] || (cd "$dir/tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)
cd "$lab/../.."
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb ./.ci/lab/dedup
PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/sites"
mapfile -t flags <"$dir/sites/flags.txt"
of=$(echo "${HOSTS:-.}" | tr ' ' '|')
grep -E "//($of)" "$dir/sites/seeds.txt" >"$dir/seeds.txt"

crawl() { # NAME FLAG…
	rm -rf "${dir:?}/$1"
	"$dir/bin/henro" crawl --dir "$dir/$1" --allow-private --delay 0 --log-level error --listen-http off --progress off "${@:2}" >"$dir/$1.log"
	# "stored once  N answers had …" says what was saved of payloads, the files what was saved of the disk
	printf '%-16s %12d bytes of WARC files; %s\n' "$1" "$(cat "$dir/$1"/warc/*.warc.gz | wc -c)" "$(grep '^stored once' "$dir/$1.log" || echo 'nothing stored once')"
}
docs=(--depth -1 --seeds "$dir/seeds.txt" "${flags[@]}")
crawl docs-without "${docs[@]}" --dedup=false
crawl docs-with "${docs[@]}"
crawl docs-again "${docs[@]}" --dedup-from "$dir/docs-with/warc"

serve() { # FLAG…
	[ -z "$web" ] || { kill "$web"; wait "$web" || true; }
	"$dir/bin/fakeweb" --pareto 0 --page-bytes 8192 --crawl-delays 0 --folder "$dir/web" "$@" >"$dir/web.log" &
	web=$!
	until grep -q '^ready' "$dir/web.log"; do sleep 0.1; done
	mapfile -t made < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
	made+=(--depth -1 --seeds "$dir/web/seeds.txt")
}
serve --hosts 5 --domains 5 --pages 100 --mazes 1
crawl mazes-without "${made[@]}" --dedup=false
crawl mazes-with "${made[@]}"
serve --hosts 100 --domains 20 --pages 20 --template-bytes 50000
crawl template-without "${made[@]}" --dedup=false
crawl template-with "${made[@]}"

rm -rf "$dir/together"
mkdir "$dir/together"
for crawl in docs-with docs-again; do
	for file in "$dir/$crawl"/warc/*.warc.gz; do ln "$file" "$dir/together/$crawl-${file##*/}"; done
done
"$dir/bin/henro" check --repair "$dir/together"
node "$dir/tools/digests.mjs" "$dir/together/index.cdxj" "$dir"/together/*.warc.gz
"$dir/bin/dedup" "$dir"/together/*.warc.gz
