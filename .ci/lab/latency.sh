#!/usr/bin/env bash
# How fast henro crawls a web that takes its time, beside a goroutine a host with net/http over the same web in the same run.
#
#   latency.sh [ROUNDS] [HOSTS] [PAGES] [LATENCY]
#
# 2,000 hosts of 20 pages that answer after 200 ms, one request a host at a time, allow 10,000 pages/s at most.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-3} hosts=${2:-2000} pages=${3:-20} latency=${4:-200ms}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	rm -rf "$dir"
}
trap finish EXIT
ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -Hn)"
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/latency
"$dir/bin/henro" fakeweb --hosts "$hosts" --domains "$hosts" --pages "$pages" --pareto 0 --cross 0 --redirects 0 \
	--crawl-delays 0 --latency "$latency" --latency-jitter 0 --folder "$dir/web" >"$dir/out" &
web=$!
until grep -q '^ready' "$dir/out"; do sleep 0.1; done
sed 's/^/resolve: /' "$dir/web/resolve.txt" | awk 'NR==1{print "resolve:"} {print "  - \"" $2 "\""}' >"$dir/henro.yaml"

measure() {
	local name=$1
	shift
	python3 - "$name" "$@" <<'PY'
import os, re, subprocess, sys, time
start = time.monotonic()
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
out = p.stdout.read()
_, status, usage = os.wait4(p.pid, 0)
took = time.monotonic() - start
if status:
    sys.exit("%s failed: %s" % (sys.argv[1], out))
pages = int(re.search(r"pages=(\d+)|^(\d+) pages", out).group(0).strip("pages= "))
print("%s\t%d pages\t%.2f s\t%.0f pages/s\t%.0f us of processor a page\t%.0f MB at most" % (
    sys.argv[1], pages, took, pages / took, 1e6 * (usage.ru_utime + usage.ru_stime) / pages, usage.ru_maxrss / 1024))
PY
}
for _ in $(seq "$rounds"); do
	measure loop "$dir/bin/latency" "$dir/web"
	rm -rf "$dir/crawl"
	measure henro "$dir/bin/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --connections "$hosts" \
		--seeds "$dir/web/seeds.txt" --config "$dir/henro.yaml" --log-level warn --listen-http off --progress off
done
