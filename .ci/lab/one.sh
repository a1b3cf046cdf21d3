#!/usr/bin/env bash
# How fast henro crawls one host without an interval, beside the plain loop with one request at a time and with 32.
#
#   one.sh [ROUNDS] [PAGES]    default 3 20000
#   BEFORE=DIR                 programs of another commit, measured in turns with these
#
# henro asks a host for one page at a time, so a loop with one worker shows what the host and the connection allow.
set -euo pipefail
export HENRO_REQUISITES=off
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
rounds=${1:-3} pages=${2:-20000}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb ./.ci/lab/loop
"$dir/bin/fakeweb" --hosts 1 --domains 1 --pages "$pages" --pareto 0 --degree 18 --redirects 0 --crawl-delays 0 --folder "$dir/web" >"$dir/out" &
web=$!
until grep -qs '^ready' "$dir/out"; do sleep 0.1; done
awk 'NR==1{print "resolve:"} {print "  - \"" $1 "\""}' "$dir/web/resolve.txt" >"$dir/henro.yaml"
awk -F: '{ print $1 "\t" $3 "\t" $2 "\t-" }' "$dir/web/resolve.txt" >"$dir/web/hosts.tsv"
measure() { python3 "$lab/measure.py" run "$@" | tee -a "$dir/bench.tsv"; }
crawl() { # NAME FOLDER
	rm -rf "$dir/crawl"
	measure "$1" "$2/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --config "$dir/henro.yaml" --listen-http off --progress off \
		--log-level error --seeds "$dir/web/seeds.txt"
}

printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\n' | tee "$dir/bench.tsv"
for _ in $(seq "$rounds"); do
	for workers in 1 32; do
		measure "loop $workers" "$dir/bin/loop" -workers "$workers" "$dir/web"
	done
	crawl henro "$dir/bin"
	[ -z "${BEFORE:-}" ] || crawl before-henro "$BEFORE"
done
python3 "$lab/measure.py" medians "$dir/bench.tsv"
