#!/usr/bin/env bash
# What an ordinary crawl holds of memory: two minutes at full speed over a web of 400 hosts, then a minute of rest. Prints the
# anonymous memory of henro crawl each 10 s, and the heap at work and at rest, by who allocated it.
#
#   memory.sh [SECONDS]    BIN=DIR: programs that are built already; OUT=DIR: keeps the heap profiles
set -euo pipefail
for_=${1:-120}
dir=$(mktemp -d)
out=${OUT:-$dir}
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap finish EXIT
cd "$(dirname "$0")/../.."
bin=${BIN:-$dir/bin}
[ -n "${BIN:-}" ] || go build -o "$bin/" ./cmd/henro ./.ci/lab/fakeweb
mkdir -p "$out"

"$bin/fakeweb" --hosts 400 --pages 400 --latency 50ms --addresses 8 --folder "$dir/web" >"$dir/said" 2>&1 &
pids+=($!)
for _ in $(seq 100); do grep -q ready "$dir/said" && break; sleep 0.1; done
# A crawl that keeps a timetable rests when all is known; --pages would end it.
# shellcheck disable=SC2046
"$bin/henro" crawl --dir "$dir/crawl" --allow-private --delay 100ms --depth -1 --listen-http 127.0.0.1:17780 --progress off --continuous \
	--requisites off --seeds "$dir/web/seeds.txt" $(sed "s/^/--resolve /" "$dir/web/resolve.txt") >"$dir/crawl.log" 2>&1 &
crawl=$!
pids+=("$crawl")
held() { # anonymous, and pages of files, which the system takes back when it likes
	awk '/RssAnon/ { a = int($2 / 1024) } /RssFile/ { f = int($2 / 1024) } END { print a " + " f }' "/proc/$crawl/status"
}
pages() { curl -s http://127.0.0.1:17780/api/status | sed -n 's/.*"pages":\([0-9]*\).*/\1/p' | head -n 1; }
heap() { # NAME: the live heap and who holds it
	curl -s "http://127.0.0.1:17780/debug/pprof/heap${2:-}" >"$out/$1.pprof"
	go tool pprof -sample_index=inuse_space -top -nodecount=12 "$bin/henro" "$out/$1.pprof" 2>/dev/null | sed -n '4,20p'
}
for second in $(seq 10 10 "$for_"); do
	sleep 10
	echo "at work $second s: $(held) MB, $(pages) pages"
done
heap work
curl -s -X POST http://127.0.0.1:17780/api/pause >/dev/null
for second in $(seq 10 10 60); do
	sleep 10
	echo "at rest $second s: $(held) MB"
done
heap rest '?gc=1'
