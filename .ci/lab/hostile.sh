#!/usr/bin/env bash
# What hostile hosts do to the others: a crawl of 20 ordinary hosts, and one of the same beside one host of each hostile kind, over real
# sockets, each to its end.
#
#   hostile.sh [ROUNDS] [PAGES]
#
# PAGES bounds the pages of one host (150): a host with a million links on every page gives that many of 27 MB.
#
# The hostile hosts are served by a process of their own at the least priority, as if they were on another machine: they get the processor when
# no other program wants it. Pace is read in the log of the ordinary ones: how long each host took from its first request to its last, and what
# passed between two requests beyond the interval, which is the slave's own time. Prints that, memory, the time to the end, and of each
# hostile host what became of its pages.
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
rounds=${1:-1} pages=${2:-150}
dir=$(mktemp -d)
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/" ./cmd/henro ./.ci/lab/fakeweb ./.ci/lab/hostile
serve() { # folder, priority, command
	local folder=$1 priority=$2
	shift 2
	nice -n "$priority" "$@" >"$dir/$folder.out" &
	pids+=($!)
	until grep -q '^ready' "$dir/$folder.out"; do
		kill -0 $!
		sleep 0.1
	done
}
serve good 0 "$dir/fakeweb" --folder "$dir/good" --hosts 20 --domains 20 --pages 40 --pareto 0 --crawl-delays 0 --latency 20ms
serve bad 19 "$dir/hostile" "$dir/bad"
grep hostile "$dir/bad/seeds.txt" >"$dir/hostile.txt"
awk 'NR==1{print "resolve:"} {print "  - \"" $1 "\""}' "$dir"/{good,bad}/resolve.txt >"$dir/henro.yaml"
crawl() { # name, seeds
	local name=$1
	shift
	cat "$@" >"$dir/seeds.txt"
	rm -rf "$dir/crawl"
	wc -l <"$dir/good/access.log" >"$dir/$name.from"
	python3 "$lab/measure.py" run "$name" "$dir/henro" crawl --dir "$dir/crawl" --allow-private --delay 200ms --depth -1 --host-pages "$pages" \
		--patience 2m --config "$dir/henro.yaml" --listen-http off --log-level warn --progress off --seeds "$dir/seeds.txt" | tee -a "$dir/runs.tsv"
	sleep 1 # the log is written a moment late
	tail -n "+$(($(cat "$dir/$name.from") + 1))" "$dir/good/access.log" >"$dir/$name.log"
	grep -v hostile.test "$dir/$name.log" >"$dir/$name.$round.log"
}
printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\n'
for round in $(seq "$rounds"); do
	crawl alone "$dir/good/seeds.txt"
	crawl beside "$dir/good/seeds.txt" "$dir/hostile.txt"
done
python3 "$lab/pace.py" 0.2 "$dir"/alone.*.log -- "$dir"/beside.*.log
"$dir/henro" export --dir "$dir/crawl" --what pages --to jsonl - | python3 "$lab/pace.py" ends
