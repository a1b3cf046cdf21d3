#!/usr/bin/env bash
# How fast henro crawls with everything durable, beside a plain net/http loop over the same sites in the same run, in turns.
#
#   bench.sh [ROUNDS] [DIR]
#
# Prints a line a run and the medians. Ratios of neighbours are what counts: machines differ, and so do their moments.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
rounds=${1:-5}
dir=${2:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
finish() {
	"$lab/docs.sh" down "$dir/sites" || true
	[ -n "${2:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then apt-get update -qq; fi
cd "$root"
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/loop
PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/sites"
mapfile -t flags <"$dir/sites/flags.txt"

# measure NAME COMMAND…: runs it, and leaves seconds, processor seconds and peak memory in $took.
measure() {
	local name=$1
	shift
	python3 - "$name" "$@" <<'PY'
import os, resource, subprocess, sys, time
start = time.monotonic()
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
out = p.stdout.read()
_, status, usage = os.wait4(p.pid, 0)
took = time.monotonic() - start
if status:
    sys.exit("%s failed: %s" % (sys.argv[1], out))
pages = int(out.split("urls=")[1].split()[0]) if "urls=" in out else int(out.split()[0])
cpu = usage.ru_utime + usage.ru_stime
print("%s\t%d\t%.2f\t%.0f\t%.3f\t%.0f" % (sys.argv[1], pages, took, pages / took, 1000 * cpu / pages, usage.ru_maxrss / 1024))
PY
}

printf 'what\tpages\tseconds\tpages/s\tcpu s/1000\tpeak MB\n' | tee "$dir/bench.tsv"
for _ in $(seq "$rounds"); do
	measure loop "$dir/bin/loop" "$dir/sites" | tee -a "$dir/bench.tsv"
	rm -rf "$dir/crawl"
	measure henro "$dir/bin/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --seeds "$dir/sites/seeds.txt" \
		"${flags[@]}" --log-level warn --listen-http off --progress off | tee -a "$dir/bench.tsv"
done
python3 - "$dir/bench.tsv" <<'PY'
import statistics, sys
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])][1:]
by = {name: [r for r in rows if r[0] == name] for name in ("loop", "henro")}
median = lambda name, column: statistics.median(float(r[column]) for r in by[name])
ratios = [float(h[3]) / float(l[3]) for l, h in zip(by["loop"], by["henro"])]
print("median: loop %.0f pages/s, henro %.0f pages/s, ratio %.2f (%.2f to %.2f)" % (
    median("loop", 3), median("henro", 3), statistics.median(ratios), min(ratios), max(ratios)))
print("henro: %.3f s of processor and %.0f MB at most for 1,000 pages; the loop %.3f s and %.0f MB" % (
    median("henro", 4), median("henro", 5), median("loop", 4), median("loop", 5)))
PY
