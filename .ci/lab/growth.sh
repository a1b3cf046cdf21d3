#!/usr/bin/env bash
# What a page costs as a crawl grows: processor time, bytes written, disk and memory of crawls of 10,000, 100,000 and 1,000,000 pages of a
# made-up web, the processor seconds of what is done with a crawl afterwards, and, by the clock, how long a crawl that goes on takes until
# it answers, henro status, and the slowest page of its dashboard.
#
#   growth.sh [PAGES…]         default 10000 100000 1000000; the last takes an hour and some 10 GB of disk on two cores
#   TINY=1                     pages of 200 bytes with 6 links, for 10000000: half an hour and some 30 GB of disk
#   WRITTEN=1                  under strace: what is written, by kind of file and page (written.py), and no times
#
# All have hosts of 100 pages of 2 kB, each with 18 links, if not tiny; a tenth of the links lead to other hosts.
set -euo pipefail
export HENRO_REQUISITES=off
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
[ $# -gt 0 ] || set -- 10000 100000 1000000
page=(--page-bytes 2000 --degree 18)
[ -z "${TINY:-}" ] || page=(--page-bytes 200 --degree 6)
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	rm -rf "$dir"
}
trap finish EXIT
ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -Hn)"
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb
spent() { # COMMAND…: processor seconds
	local TIMEFORMAT='%U %S'
	{ time "$@" >"$dir/answer" 2>&1; } 2>&1 | awk '{ printf "\t%.2f", $1 + $2 }' || {
		echo "$*:"
		tail "$dir/answer"
		return 1
	} >&2
}

at=127.0.0.1:7797
watched() { # the crawl goes on, and somebody looks: seconds until it answers, of henro status, and of the slowest page of the dashboard
	local since=$EPOCHREALTIME running host page TIMEFORMAT=%R
	"${crawl[@]}" --continuous --listen-http "$at" >"$dir/answer" 2>&1 &
	running=$!
	until curl -sf -o "$dir/body" "http://$at/readyz"; do
		kill -0 "$running"
		sleep 0.1
	done
	awk -v a="$since" -v b="$EPOCHREALTIME" 'BEGIN { printf "\t%.1f", b - a }'
	printf '\t%s' "$({ time "$dir/bin/henro" status --master "$at" >"$dir/body"; } 2>&1)"
	page=$(tail -1 "$dir/web/seeds.txt")
	host=${page%/}
	for view in / /hosts '/hosts?sort=-errors' "/host?name=$host" "/page?url=$page" /fetches /failed /missing /nodes /revisit /changes /log; do
		curl -sf -o "$dir/body" -w "%{time_total}\t$view\n" "http://$at$view"
	done >"$dir/views"
	sort -n "$dir/views" | tail -1 | awk -F '\t' '{ printf "\t%.2f %s", $1, $2 }'
	kill -INT "$running"
	wait "$running" || true
}

[ -n "${WRITTEN:-}" ] || printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\town MB\tmapped MB\tstate/page\twarc/page\tcheck\tstats\twhy\tstart\tready s\tstatus s\tslowest view\n'
for pages; do
	rm -rf "$dir/crawl" "$dir/web" "$dir/out"
	"$dir/bin/fakeweb" --hosts $((pages / 100)) --domains $((pages / 100)) --pages 100 --pareto 0 --cross 0.1 "${page[@]}" \
		--redirects 0 --crawl-delays 0 --latency-jitter 0 --folder "$dir/web" >"$dir/out" &
	web=$!
	until grep -qs '^ready' "$dir/out"; do sleep 0.1; done
	awk 'NR==1{print "resolve:"} {print "  - \"" $1 "\""}' "$dir/web/resolve.txt" >"$dir/henro.yaml"
	crawl=("$dir/bin/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --config "$dir/henro.yaml" --listen-http off
		--progress off --log-level error --seeds "$dir/web/seeds.txt")
	if [ -n "${WRITTEN:-}" ]; then
		python3 "$lab/written.py" "$pages" "${crawl[@]}"
		kill "$web"
		wait "$web" || true
		continue
	fi
	row=$(python3 "$lab/measure.py" memory "$pages" "${crawl[@]}")
	printf '%s' "$row"
	found=$(cut -f2 <<<"$row")
	for part in state warc; do
		printf '\t%d' $(($(du -s --block-size=1 "$dir/crawl/$part" | cut -f1) / found))
	done
	spent "$dir/bin/henro" check "$dir/crawl"
	spent "$dir/bin/henro" stats "$dir/crawl"
	spent "$dir/bin/henro" why --dir "$dir/crawl" "$(head -1 "$dir/web/seeds.txt")"
	spent "${crawl[@]}"
	watched
	echo
	kill "$web"
	wait "$web" || true
	web=
done
