#!/usr/bin/env bash
# Whether a crawl knows which pages have the same text: a fakeweb with aliases, mirrors, session ids, near-duplicates and pages that only look alike is crawled
# by real processes, some of them killed, and what the state says of each page is compared with the truth of that web.
#
#   twins.sh [HOSTS] [PAGES] [KILLS]     PAGES a host; the crawl is ended by kill -9 so often, at random moments of its first 4 seconds
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
hosts=${1:-40} pages=${2:-60} kills=${3:-3}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
(cd "$lab/../.." && go build -o "$dir/henro" ./cmd/henro)
"$dir/henro" fakeweb --hosts "$hosts" --domains $((hosts / 5 + 1)) --pages "$pages" --pareto 0 --crawl-delays 0 --aliases 0.3 --mirrors 0.3 --dust 0.3 \
	--near 0.5 --templates 0.2 --parked 0.1 --fronts 0.2 --translations 0.2 --soft-not-found 0.1 --folder "$dir/web" >"$dir/said" &
web=$!
for _ in $(seq 600); do grep -q '^ready' "$dir/said" && break; sleep 0.1; done
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
crawl=("$dir/henro" crawl --dir "$dir/crawl" --allow-private --i-own-these-hosts --delay 0 --contact lab@example.org --depth -1 --requisites off --near mark
	--listen-http off --progress off --log-level error --seeds "$dir/web/seeds.txt" "${resolve[@]}")
for _ in $(seq "$kills"); do
	"${crawl[@]}" >/dev/null &
	victim=$!
	sleep "$(awk -v r="$RANDOM" 'BEGIN { print 0.3 + 3.7 * r / 32767 }')"
	kill -9 "$victim" 2>/dev/null || true
	wait "$victim" 2>/dev/null || true
done
"${crawl[@]}" >"$dir/ended"
"$dir/henro" check "$dir/crawl" >/dev/null
python3 "$lab/twins.py" "$dir/henro" "$dir/crawl" "$dir/web"
