#!/usr/bin/env bash
# Crawls webs of hosts that answer slowly with scarce connections, in one process and with slaves, and measures by the
# web's log what the equations promise: Σe/(C·τ), the share of revisits that come within one interval of their time, and
# that no interval is undercut. Beside each result stands for what part of the time something waited for a processor: a
# machine that is busy answers later, and crawls less.
#
#   promises.sh [SECONDS]      of each crawl, default 90; those that revisit take twice as long and more
#   CASES="24 240"             which webs, of 24, 240, 2400, timetable, kill, admission (hosts are added until one is
#                              refused), parallel (one host that consents to 4 requests at once), split (new pages and
#                              known ones of hosts that do not bear their timetables), figures (3 to 7, drawn in
#                              FIGURES, beside those of virtual time) and grid (all webs in virtual time); default: all
#   GRID='S=2400,C=16'         which webs of the grid
#   BEFORE=DIR                 programs of another commit, measured in turns with these
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
seconds=${1:-90}
dir=$(mktemp -d)
killed= drawn= every=60
known=100000 # how many seeds are known at the start
judge=promises.py
ended() { # ends what the crawl before began
	local file
	for file in "$dir"/crawl/*.pid; do
		if [ -f "$file" ]; then kill "$(cat "$file")" 2>/dev/null || true; fi
	done
	wait
}
finish() {
	ended
	rm -rf "$dir"
}
trap finish EXIT
. "$lab/programs.sh"
install python3 python3
build "$dir/bin" ./cmd/henro ./.ci/lab/fakeweb ./cmd/henro-master ./cmd/henro-slave
failed=0
port=${PORT:-17860}

# node master|I: starts the master of the crawl, or its slave I, once more after a kill
node() {
	if [ "$1" = master ]; then
		"$bin/henro-master" "${flags[@]}" --name lab --gossip "127.0.0.1:$((port + 1))" --actors "127.0.0.1:$((port + 2))" >>"$at/log" 2>&1 &
	else
		"$bin/henro-slave" --join "127.0.0.1:$((port + 1))" --name "slave$1" --dir "$at/slave$1" --connections "${connections[$1]}" \
			--listen-http off --log-level error >>"$at/log" 2>&1 &
	fi
	echo $! >"$at/$1.pid"
}

# kills ends a slave, the master, and the slave again, by kill -9, in the first half of the crawl, each for 3 s
kills() {
	for who in 0 master 0; do
		sleep $((for / 8))
		kill -9 "$(cat "$at/$who.pid")"
		sleep 3
		node "$who"
	done
	wait
}

# crawl NAME PROGRAMS SECONDS LATENCY HOSTS PAGES "CONNECTIONS…" [FLAG…]: of several numbers each is a slave's
crawl() {
	local name=$1 bin=$2 for=$3 latency=$4 hosts=$5 pages=$6 connections=($7) at=$dir/crawl
	shift 7
	rm -rf "$at"
	mkdir -p "$at"
	"$dir/bin/fakeweb" --seed 7 --hosts "$hosts" --domains "$hosts" --pages "$pages" --pareto 0 --cross 0 --redirects 0 --crawl-delays 0 \
		--latency "$latency" --latency-jitter 0 --changing 1 "${web[@]}" --folder "$at/web" >"$at/out" &
	echo $! >"$at/web.pid"
	until grep -qs '^ready' "$at/out"; do sleep 0.1; done
	head -n "$known" "$at/web/seeds.txt" >"$at/seeds"
	tail -n +"$((known + 1))" "$at/web/seeds.txt" >"$at/more"
	mapfile -t flags < <(sed 's/^/--resolve=/' "$at/web/resolve.txt")
	flags+=(--dir "$at/crawl" --allow-private --delay 1s --depth -1 --requisites off --sitemaps off --seeds "$at/seeds"
		--listen-http "127.0.0.1:$port" --log-level error "$@")
	if [ ${#connections[@]} = 1 ]; then
		"$bin/henro" crawl "${flags[@]}" --connections "${connections[0]}" --progress off >"$at/log" 2>&1 &
		echo $! >"$at/crawl.pid"
	else
		node master
		for i in "${!connections[@]}"; do node "$i"; done
	fi
	if [ -n "$killed" ]; then kills & fi
	EVERY=$every HENRO=$bin/henro KILLED=$killed python3 "$lab/$judge" "$name" "127.0.0.1:$port" "$at/web/access.log" "$for" "$(($(tr ' ' + <<<"${connections[*]}")))" "$latency" || failed=1
	[ -z "$drawn" ] || "$bin/henro" stats --timetable --master "127.0.0.1:$port" --to "$drawn" "$at/crawl"
	ended
	port=$((port + 3))
}

web=()
timed=(--continuous --revisit-min 60s --revisit-max 61s --revisit-first 60s)
measure() { # PREFIX PROGRAMS
	for case in ${CASES:-24 240 2400 timetable kill admission parallel split figures grid}; do
		case $case in
		24)
			crawl "${1}24 hosts, one process" "$2" "$seconds" 1.0s 24 400 4
			crawl "${1}24 hosts, two slaves" "$2" "$seconds" 1.0s 24 400 "2 2"
			;;
		240)
			crawl "${1}240 hosts, one process" "$2" "$seconds" 0.2s 240 400 16
			crawl "${1}240 hosts, three slaves" "$2" "$seconds" 0.2s 240 400 "6 5 5"
			;;
		2400)
			crawl "${1}2,400 hosts, one process" "$2" "$seconds" 1.0s 2400 400 64
			crawl "${1}2,400 hosts that answer after 3 s, one process" "$2" "$seconds" 3.0s 2400 400 256
			crawl "${1}2,400 hosts that answer after 3 s, three slaves" "$2" "$seconds" 3.0s 2400 400 "86 85 85"
			crawl "${1}240 hosts that answer after 0.05 s, one process" "$2" "$seconds" 0.05s 240 800 4
			;;
		timetable)
			crawl "${1}24 hosts that are revisited, one process" "$2" "$((2 * seconds))" 1.0s 24 6 4 "${timed[@]}"
			crawl "${1}24 hosts that are revisited, two slaves" "$2" "$((2 * seconds))" 1.0s 24 6 "2 2" "${timed[@]}"
			;;
		kill)
			killed=1
			crawl "${1}240 hosts, three slaves, a slave and the master killed" "$2" "$seconds" 0.2s 240 400 "6 5 5"
			crawl "${1}24 hosts that are revisited, two slaves, a slave and the master killed" "$2" "$((4 * seconds))" 1.0s 24 6 "2 2" \
				"${timed[@]}"
			killed=
			;;
		admission)
			known=15 judge=admission.py web=(--change-fastest 1s --change-slowest 2s)
			crawl "${1}admission" "$2" 0 3.0s 24 4 4 "${timed[@]}"
			known=100000 judge=promises.py web=()
			;;
		parallel)
			judge=parallel.py
			MOST=1 GAP=1 crawl "${1}one host, no interval" "$2" "$seconds" 1.0s 1 2000 8 --delay 0
			MOST=4 GAP=0 AT_ONCE=1 crawl "${1}one host, no interval, 4 at once" "$2" "$seconds" 1.0s 1 2000 8 --delay 0 --parallel .fakeweb.test=4
			MOST=1 GAP=3 crawl "${1}one host" "$2" "$seconds" 1.0s 1 2000 8 --delay 500ms
			MOST=4 GAP=0.75 crawl "${1}one host, 4 at once" "$2" "$seconds" 1.0s 1 2000 8 --delay 500ms --parallel .fakeweb.test=4
			judge=promises.py
			;;
		split)
			judge=split.py web=(--change-fastest 1s --change-slowest 2s)
			crawl "${1}split" "$2" "$((2 * seconds))" 0.05s 4 400 4 "${timed[@]}"
			judge=promises.py web=()
			;;
		figures)
			[ -z "$1" ] || continue
			to=${FIGURES:-$dir/figures}
			web=(--pareto 1.5 --latency-spread 0.7 --change-fastest 1m --change-slowest 20m) drawn=$to/live every=1440
			crawl "84 hosts, figures" "$2" 600 0.6s 84 4 4 --continuous --revisit-min 1m --revisit-max 2h --revisit-first 1m-3m
			web=() drawn= every=60
			go test ./cmd/embedded -run TestConnectionsAndTimetablesAreKept/figures -grid -report "$to/virtual" >/dev/null || failed=1
			python3 "$lab/figures.py" "$to/live" "$to/virtual" >"$to/promises.svg"
			;;
		grid)
			[ -n "$1" ] || go test ./cmd/embedded -run "TestConnectionsAndTimetablesAreKept/${GRID:-}" -grid -v -timeout 4h |
				grep -E '=== RUN|promises_test.go' || failed=1
			;;
		esac
	done
}
[ -z "${BEFORE:-}" ] || measure "before: " "$BEFORE"
[ -z "${BEFORE:-}" ] || failed=0
measure "" "$dir/bin"
exit "$failed"
