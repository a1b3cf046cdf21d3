#!/usr/bin/env bash
# Crawls webs of hosts that answer slowly with scarce connections, in one process and with slaves, and measures by the
# web's log what the equations promise: Σe/(C·τ), the share of revisits that come within one interval of their time, and
# that no interval is undercut.
#
#   promises.sh [SECONDS]      of each crawl, default 90; those that revisit take twice as long
#   CASES="24 240"             which webs, of 24, 240 and timetable; default: all
#   BEFORE=DIR                 programs of another commit, measured in turns with these
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
seconds=${1:-90}
dir=$(mktemp -d)
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap finish EXIT
. "$lab/programs.sh"
install python3 python3
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb ./cmd/henro-master ./cmd/henro-slave
failed=0
port=${PORT:-17860}

# crawl NAME PROGRAMS SECONDS LATENCY HOSTS PAGES "CONNECTIONS…" [FLAG…]: of several numbers each is a slave's
crawl() {
	local name=$1 bin=$2 for=$3 latency=$4 hosts=$5 pages=$6 connections=($7) at=$dir/crawl
	shift 7
	rm -rf "$at"
	mkdir -p "$at"
	"$dir/bin/fakeweb" --hosts "$hosts" --domains "$hosts" --pages "$pages" --pareto 0 --cross 0 --redirects 0 --crawl-delays 0 \
		--latency "$latency" --latency-jitter 0 --changing 1 --folder "$at/web" >"$at/out" &
	pids=($!)
	until grep -qs '^ready' "$at/out"; do sleep 0.1; done
	mapfile -t flags < <(sed 's/^/--resolve=/' "$at/web/resolve.txt")
	flags+=(--dir "$at/crawl" --allow-private --delay 1s --depth -1 --requisites off --sitemaps off --seeds "$at/web/seeds.txt"
		--listen-http "127.0.0.1:$port" --log-level error "$@")
	if [ ${#connections[@]} = 1 ]; then
		"$bin/henro" crawl "${flags[@]}" --connections "${connections[0]}" --progress off >"$at/log" 2>&1 &
		pids+=($!)
	else
		"$bin/henro-master" "${flags[@]}" --name lab --gossip "127.0.0.1:$((port + 1))" --actors "127.0.0.1:$((port + 2))" >"$at/log" 2>&1 &
		pids+=($!)
		for i in "${!connections[@]}"; do
			"$bin/henro-slave" --join "127.0.0.1:$((port + 1))" --name "slave$i" --dir "$at/slave$i" --connections "${connections[$i]}" \
				--listen-http off --log-level error >>"$at/log" 2>&1 &
			pids+=($!)
		done
	fi
	python3 "$lab/promises.py" "$name" "127.0.0.1:$port" "$at/web/access.log" "$for" "$(($(tr ' ' + <<<"${connections[*]}")))" "$latency" || failed=1
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait "${pids[@]}" 2>/dev/null || true
	pids=()
	port=$((port + 3))
}

timed=(--continuous --revisit-min 60s --revisit-max 61s --revisit-first 60s)
measure() { # PREFIX PROGRAMS
	for case in ${CASES:-24 240 timetable}; do
		case $case in
		24)
			crawl "${1}24 hosts, one process" "$2" "$seconds" 1.0s 24 400 4
			crawl "${1}24 hosts, two slaves" "$2" "$seconds" 1.0s 24 400 "2 2"
			;;
		240)
			crawl "${1}240 hosts, one process" "$2" "$seconds" 0.2s 240 400 16
			crawl "${1}240 hosts, three slaves" "$2" "$seconds" 0.2s 240 400 "6 5 5"
			;;
		timetable)
			crawl "${1}24 hosts that are revisited, one process" "$2" "$((2 * seconds))" 1.0s 24 6 4 "${timed[@]}"
			crawl "${1}24 hosts that are revisited, two slaves" "$2" "$((2 * seconds))" 1.0s 24 6 "2 2" "${timed[@]}"
			;;
		esac
	done
}
[ -z "${BEFORE:-}" ] || measure "before: " "$BEFORE"
[ -z "${BEFORE:-}" ] || failed=0
measure "" "$dir/bin"
exit "$failed"
