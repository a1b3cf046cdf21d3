#!/usr/bin/env bash
# Crawls real sites and compares what was found with a ground truth made by an independent script: once by henro crawl, once by a
# master and three slaves as processes of their own. The set of pages, every link, every WARC digest must agree, and nothing may be
# asked for twice. Once more with all that pages are made of, and the set of that must agree too.
#
#   crawl.sh [DIR]     DIR keeps the unpacked sites and the results; default: a temporary one, removed at the end
set -euo pipefail
export HENRO_REQUISITES=off # where nothing else is said
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
if [ $# -gt 0 ]; then
	mkdir -p "$1"
	dir=$(cd "$1" && pwd)
else
	dir=$(mktemp -d)
fi
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	"$lab/docs.sh" down "$dir/sites" || true
	[ $# -gt 0 ] || true
	[ "$keep" = yes ] || rm -rf "$dir"
}
keep=no
[ $# -gt 0 ] && keep=yes
trap finish EXIT

. "$lab/programs.sh"
install python3 python3
cd "$root"
build "$dir/bin" ./cmd/...
# With two workers the next request may come to one before the other has taken down the end of the last.
WORKERS=1 PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/sites"
[ -e "$dir/truth/requisites.tsv" ] || python3 "$lab/groundtruth.py" "$dir/sites" "$dir/truth"
mapfile -t flags <"$dir/sites/flags.txt"
flags+=(--allow-private --delay 0 --depth -1 --seeds "$dir/sites/seeds.txt" --log-level warn --listen-http off)

compare() { # name of the crawl, folder of its WARC files, further flags of compare.py
	"$dir/bin/henro" check "$dir/$1"
	"$dir/bin/henro" export --dir "$dir/$1" --what pages --to tsv "$dir/$1.pages.tsv"
	"$dir/bin/henro" export --dir "$dir/$1" --what links --to tsv "$dir/$1.links.tsv"
	python3 "$lab/compare.py" "$dir/truth" --pages "$dir/$1.pages.tsv" --links "$dir/$1.links.tsv" --logs "$dir/sites/logs" --warc "$2" --exact "${@:3}"
	python3 "$lab/intervals.py" "$dir"/sites/logs/*.docs.test.log --min 0 | awk '/^ok/ {last = $0; next} {print} END {print last}'
}

echo "--- henro crawl"
"$lab/docs.sh" logs "$dir/sites"
rm -rf "$dir/one"
"$dir/bin/henro" crawl --dir "$dir/one" "${flags[@]}"
compare one "$dir/one/warc"

echo "--- henro crawl, with what pages are made of"
"$lab/docs.sh" logs "$dir/sites"
rm -rf "$dir/whole"
HENRO_REQUISITES=all "$dir/bin/henro" crawl --dir "$dir/whole" "${flags[@]}"
compare whole "$dir/whole/warc" --requisites

echo "--- one master and three slaves"
"$lab/docs.sh" logs "$dir/sites"
rm -rf "$dir/many" "$dir/slaves"
gossip=127.0.0.1:17781
for i in 1 2 3; do
	"$dir/bin/henro-slave" --join "$gossip" --name "slave$i" --dir "$dir/slaves/$i" --log-level warn &
	pids+=($!)
done
"$dir/bin/henro-master" --dir "$dir/many" --gossip "$gossip" --actors 127.0.0.1:17782 --name master "${flags[@]}"
for pid in "${pids[@]}"; do kill -TERM "$pid"; done
for pid in "${pids[@]}"; do wait "$pid"; done
pids=()
compare many "$dir/slaves"
for i in 1 2 3; do echo "slave $i archived $(du -sh "$dir/slaves/$i" | cut -f1)"; done
