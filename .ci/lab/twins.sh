#!/usr/bin/env bash
# Whether a crawl knows which pages have the same text: a fakeweb with aliases, mirrors, session ids, near-duplicates and pages that only look alike is crawled
# by real processes, some of them killed, and what the state says of each page is compared with the truth of that web.
#
#   twins.sh [HOSTS] [PAGES] [KILLS] [SECONDS]     PAGES a host; the crawl is ended by kill -9 so often, each time at a random moment of its first SECONDS
#
# PAGE_BYTES makes pages smaller than 4096 bytes. With PLAIN=1 the same web is crawled with --near off too, for memory and bytes of the state.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
hosts=${1:-40} pages=${2:-60} kills=${3:-3} seconds=${4:-4}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
(cd "$lab/../.." && go build -o "$dir/" ./cmd/henro ./.ci/lab/fakeweb)
"$dir/fakeweb" --hosts "$hosts" --domains $((hosts / 5 + 1)) --pages "$pages" --pareto 0 --crawl-delays 0 --aliases 0.3 --mirrors 0.3 --dust 0.3 \
	--near 0.5 --templates 0.2 --parked 0.1 --fronts 0.2 --translations 0.2 --soft-not-found 0.1 --page-bytes "${PAGE_BYTES:-4096}" --folder "$dir/web" >"$dir/said" &
web=$!
for _ in $(seq 3000); do grep -q '^ready' "$dir/said" && break; sleep 0.1; done
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
crawl=("$dir/henro" crawl --allow-private --i-own-these-hosts --delay 0 --contact lab@example.org --depth -1 --requisites off
	--listen-http off --progress off --log-level error --seeds "$dir/web/seeds.txt" "${resolve[@]}")
# measured NAME FLAG... crawls to the end; prints the most memory that it had, and the bytes of its state
measured() {
	local name=$1 most=0 now
	shift
	"${crawl[@]}" --dir "$dir/$name" "$@" >"$dir/ended" &
	local process=$!
	while now=$(awk '/VmHWM/ { print $2 }' "/proc/$process/status" 2>/dev/null) && [ -n "$now" ]; do most=$now; sleep 0.2; done
	wait "$process"
	echo "$*: $((most / 1024)) MiB of memory at most, $(du -cb "$dir/$name"/state/*.db | tail -1 | cut -f1) bytes of state"
}
[ -z "${PLAIN:-}" ] || measured plain --near off
for _ in $(seq "$kills"); do
	"${crawl[@]}" --dir "$dir/crawl" --near mark >/dev/null &
	victim=$!
	sleep "$(awk -v r="$RANDOM" -v s="$seconds" 'BEGIN { print 0.3 + (s - 0.3) * r / 32767 }')"
	kill -9 "$victim" 2>/dev/null || true
	wait "$victim" 2>/dev/null || true
done
measured crawl --near mark
"$dir/henro" check "$dir/crawl" >/dev/null
python3 "$lab/twins.py" "$dir/henro" "$dir/crawl" "$dir/web"
