#!/usr/bin/env bash
# What a crawl of real processes foresaw of its end, at a quarter, half and three quarters of the way: some four minutes, most of them at rest.
#
#   forecast.sh [PAGES]
#
# A fakeweb of hosts of different sizes, some of which are dead or slow, is crawled at a request a second. The status is asked for every two seconds.
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/" ./cmd/henro ./.ci/lab/fakeweb
"$dir/fakeweb" --hosts 20 --pages "${1:-80}" --dead-hosts 0.1 --latency 200ms --latency-spread 1 --folder "$dir/web" >"$dir/out" &
web=$!
until grep -q '^ready' "$dir/out"; do sleep 0.1; done
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
"$dir/henro" crawl --dir "$dir/crawl" --allow-private --delay 1s --depth -1 --seeds "$dir/web/seeds.txt" "${resolve[@]}" \
	--log-level error --progress off --listen-http 127.0.0.1:0 >"$dir/summary" &
crawl=$!
while kill -0 "$crawl" 2>/dev/null; do
	"$dir/henro" status --master "$(cat "$dir/crawl/http.address" 2>/dev/null)" --json >>"$dir/seen" 2>/dev/null || true
	sleep 2
done
wait "$crawl"
head -1 "$dir/summary"
python3 - "$dir/seen" "$dir/crawl/summary.json" <<'PYTHON'
import json, sys
took = json.load(open(sys.argv[2]))["seconds"]
text, at, seen = open(sys.argv[1]).read(), 0, []
while at < len(text.rstrip()):
    status, end = json.JSONDecoder().raw_decode(text, at)
    at = end + len(text[end:]) - len(text[end:].lstrip())
    if "forecast" in status:
        seen.append((status["seconds"], status["forecast"]))
for share in (0.25, 0.5, 0.75):
    passed, forecast = [s for s in seen if s[0] <= share * took][-1]
    left, truth = forecast["left_ns"] / 1e9, took - passed
    print(f"at {share:.2f} of {took:.0f} s: {left:.0f} s foreseen, {truth:.0f} s in truth, {100 * (left - truth) / truth:+.1f} %",
          "at least" if forecast.get("grows") else "")
PYTHON
