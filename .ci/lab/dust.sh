#!/usr/bin/env bash
# Whether URLs that --url-rules apply does not visit are pages that were visited: a fakeweb with session ids, tracking parameters, sort orders, default documents,
# slashes, capitals and parameters in another order, some of which are other pages on some hosts, is crawled by real processes that are killed.
#
#   dust.sh [HOSTS] [PAGES] [KILLS]     PAGES a host; the crawl is ended by kill -9 so often, at random moments of its first 4 seconds
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
hosts=${1:-20} pages=${2:-200} kills=${3:-3}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
(cd "$lab/../.." && go build -o "$dir/" ./cmd/henro ./.ci/lab/fakeweb)
"$dir/fakeweb" --hosts "$hosts" --domains $((hosts / 5 + 1)) --pages "$pages" --pareto 0 --crawl-delays 0 --dust 0.5 --variants 0.6 --lookalikes 0.4 \
	--aliases 0.1 --mirrors 0.1 --near 0.3 --templates 0.2 --soft-not-found 0.1 --folder "$dir/web" >"$dir/said" &
web=$!
for _ in $(seq 600); do grep -q '^ready' "$dir/said" && break; sleep 0.1; done
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
crawl=("$dir/henro" crawl --dir "$dir/crawl" --allow-private --i-own-these-hosts --delay 0 --contact lab@example.org --depth -1 --requisites off
	--url-rules apply --listen-http off --progress off --log-level error --seeds "$dir/web/seeds.txt" "${resolve[@]}")
for _ in $(seq "$kills"); do
	"${crawl[@]}" >/dev/null &
	victim=$!
	sleep "$(awk -v r="$RANDOM" 'BEGIN { print 0.3 + 3.7 * r / 32767 }')"
	kill -9 "$victim" 2>/dev/null || true
	wait "$victim" 2>/dev/null || true
done
"${crawl[@]}" >"$dir/ended"
"$dir/henro" check "$dir/crawl" >/dev/null
python3 "$lab/dust.py" "$dir/henro" "$dir/crawl" "$dir/web"
