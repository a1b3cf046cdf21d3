#!/usr/bin/env bash
# How fast henro crawls a web that takes its time, beside a goroutine a host with net/http over the same web in the same run.
#
#   latency.sh [ROUNDS] [HOSTS] [PAGES] [LATENCY]
#
#   latency.sh profile
#   BEFORE=DIR                 programs of another commit, measured in turns with these
#
# 2,000 hosts of 20 pages that answer after 200 ms, one request a host at a time, allow 10,000 pages/s at most. henro crawls them in one
# process, and as a master and a slave, whose memory is so seen alone. Prints a line a run and the medians. With profile it crawls once and prints
# what each stage of a page costs.
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
mode=rounds
if [ "${1:-}" = profile ]; then
	mode=profile
	shift
fi
rounds=${1:-3} hosts=${2:-2000} pages=${3:-20} latency=${4:-200ms}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	rm -rf "$dir"
}
trap finish EXIT
ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -Hn)"
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb ./cmd/henro-master ./cmd/henro-slave ./.ci/lab/latency
"$dir/bin/fakeweb" --hosts "$hosts" --domains "$hosts" --pages "$pages" --pareto 0 --cross 0 --redirects 0 \
	--crawl-delays 0 --latency "$latency" --latency-jitter 0 --folder "$dir/web" >"$dir/out" &
web=$!
until grep -q '^ready' "$dir/out"; do sleep 0.1; done
sed 's/^/resolve: /' "$dir/web/resolve.txt" | awk 'NR==1{print "resolve:"} {print "  - \"" $2 "\""}' >"$dir/henro.yaml"
crawl=(--dir "$dir/crawl" --allow-private --delay 0 --depth -1 --seeds "$dir/web/seeds.txt" --config "$dir/henro.yaml"
	--log-level warn)
measure() { python3 "$lab/measure.py" run "$@" | tee -a "$dir/bench.tsv"; }
both() { # PREFIX FOLDER
	rm -rf "$dir/crawl"
	measure "$1crawl" "$2/henro" crawl "${crawl[@]}" --connections "$hosts" --progress off
	rm -rf "$dir/crawl" "$dir/slave"
	measure "$1master" "$2/henro-master" "${crawl[@]}" --gossip 127.0.0.1:17946 --actors 127.0.0.1:17947 -- \
		"$1slave" "$2/henro-slave" --dir "$dir/slave" --join 127.0.0.1:17946 --connections "$hosts" --log-level warn
}

printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\n' | tee "$dir/bench.tsv"
if [ "$mode" = profile ]; then
	(sleep 2 && curl -sSf -o "$dir/profile" "http://127.0.0.1:17780/debug/pprof/profile?seconds=4") &
	measure crawl "$dir/bin/henro" crawl "${crawl[@]}" --connections "$hosts" --progress off --listen-http 127.0.0.1:17780
	wait $!
	python3 "$lab/stages.py" "$dir/profile" "$dir/bin/henro" "$(tail -1 "$dir/bench.tsv" | cut -f5)"
	exit
fi
crawl+=(--listen-http off)
for round in $(seq "$rounds"); do
	measure loop "$dir/bin/latency" "$dir/web"
	((round % 2)) || [ -z "${BEFORE:-}" ] || both before- "$BEFORE" # who is second is mostly faster
	both "" "$dir/bin"
	((round % 2 == 0)) || [ -z "${BEFORE:-}" ] || both before- "$BEFORE"
done
python3 "$lab/measure.py" medians "$dir/bench.tsv"
