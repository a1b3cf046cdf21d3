#!/usr/bin/env bash
# What a visit of a known page that has not changed costs through the whole machine: sockets, WARC, index, state, fetch log.
#
#   revisit.sh [ROUNDS] [HOSTS] [PAGES]
#   BEFORE=DIR                 programs of another commit, measured in turns with these
#   WRITTEN=1                  under strace: what is written, by kind of file and page (written.py), and no times
#
# A made-up web of HOSTS hosts with PAGES pages each is crawled once, then twice again by --again. Where all hosts send ETags every answer is
# a 304; where none does every body comes whole and is the same. Prints a line a run and the medians: what counts is processor time and bytes
# written a page, which a busy machine changes little.
set -euo pipefail
export HENRO_REQUISITES=off
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
rounds=${1:-3} hosts=${2:-200} pages=${3:-100}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb
measure() {
	if [ -n "${WRITTEN:-}" ]; then
		python3 "$lab/written.py" "$@"
	else
		python3 "$lab/measure.py" run "$@" | tee -a "$dir/bench.tsv"
	fi
}
round() { # PREFIX FOLDER ETAGS NAME
	rm -rf "$dir/crawl" "$dir/out"
	"$dir/bin/fakeweb" --hosts "$hosts" --domains "$hosts" --pages "$pages" --pareto 0 --cross 0 --redirects 0 --crawl-delays 0 \
		--latency-jitter 0 --moving-bars 0 --etags "$3" --folder "$dir/web" >"$dir/out" &
	web=$!
	until grep -qs "^ready" "$dir/out"; do sleep 0.1; done
	awk 'NR==1{print "resolve:"} {print "  - \"" $1 "\""}' "$dir/web/resolve.txt" >"$dir/henro.yaml"
	local crawl=("$2/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --config "$dir/henro.yaml" --listen-http off
		--progress off --seeds "$dir/web/seeds.txt")
	measure "$1first" "${crawl[@]}"
	measure "$1$4" "${crawl[@]}" --again
	measure "$1$4" "${crawl[@]}" --again
	kill "$web"
	wait "$web" || true
	web=
}

[ -n "${WRITTEN:-}" ] || printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\n' | tee "$dir/bench.tsv"
for turn in $(seq "$rounds"); do
	for kind in "1 304" "0 unchanged"; do
		read -r etags name <<<"$kind"
		((turn % 2)) || [ -z "${BEFORE:-}" ] || round before- "$BEFORE" "$etags" "$name" # who is second is mostly faster
		round "" "$dir/bin" "$etags" "$name"
		((turn % 2 == 0)) || [ -z "${BEFORE:-}" ] || round before- "$BEFORE" "$etags" "$name"
	done
done
[ -n "${WRITTEN:-}" ] || python3 "$lab/measure.py" medians "$dir/bench.tsv"
