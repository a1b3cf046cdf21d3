#!/usr/bin/env bash
# Crawls a made-up web whose pages change within minutes, with a master and a slave of 4 connections for 84 hosts, and
# compares what henro says of its timetable with what timetable.py makes of the access log by itself: S/C, I, L, R, the
# verdicts, figures 3 to 7, and the visits that were made beside those that the hosts bear.
#
#   timetable.sh               a short form, one minute, with one relief
#   timetable.sh SECONDS [DIR] in real time, with the reliefs none, stretch, delay and optimal side by side; DIR keeps all
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
seconds=${1:-45}
if [ $# -gt 1 ]; then
	mkdir -p "$2"
	dir=$(cd "$2" && pwd)
else
	dir=$(mktemp -d)
fi
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	[ $# -gt 1 ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
. "$lab/programs.sh"
install python3 python3
cd "$root"
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb ./cmd/henro-master ./cmd/henro-slave

reliefs=(none stretch delay optimal)
web=(--hosts 84 --domains 84 --pages 12 --pareto 1.5 --latency 1500ms --latency-spread 0.7 --latency-jitter 0.05 --crawl-delays 0 --changing 1
	--change-fastest 1m --change-slowest 20m)
short=
if [ "$seconds" -lt 300 ]; then
	short=--short
	reliefs=(optimal)
	web=(--hosts 84 --domains 84 --pages 3 --latency 60ms --latency-spread 0.7 --latency-jitter 0.05 --crawl-delays 0 --changing 1
		--change-fastest 10s --change-slowest 2m)
fi

port=${PORT:-17810} # three of each crawl
masters=()
for relief in "${reliefs[@]}"; do
	at=$dir/$relief
	rm -rf "$at"
	mkdir -p "$at"
	"$dir/bin/fakeweb" "${web[@]}" --folder "$at/web" >"$at/fakeweb.out" 2>&1 &
	pids+=($!)
	until grep -q ready "$at/fakeweb.out"; do sleep 0.1; done
	mapfile -t flags < <(sed 's/^/--resolve=/' "$at/web/resolve.txt")
	"$dir/bin/henro-master" --dir "$at/crawl" --name "master-$relief" --gossip "127.0.0.1:$port" --actors "127.0.0.1:$((port + 1))" \
		--listen-http "127.0.0.1:$((port + 2))" --continuous --sitemaps off --allow-private --requisites off --depth -1 --delay 1s \
		--relief "$relief" --revisit-min 1m --revisit-max 2h --revisit-first 1m-3m --contact lab@example.org \
		--seeds "$at/web/seeds.txt" "${flags[@]}" >"$at/master.log" 2>&1 &
	pids+=($!)
	"$dir/bin/henro-slave" --join "127.0.0.1:$port" --name "slave-$relief" --dir "$at/slave" --connections 4 --listen-http off \
		>"$at/slave.log" 2>&1 &
	pids+=($!)
	masters+=("$relief=127.0.0.1:$((port + 2))")
	port=$((port + 3))
done
python3 "$lab/timetable.py" --henro "$dir/bin/henro" --dir "$dir" --seconds "$seconds" --connections 4 --delay 1 $short "${masters[@]}"
