#!/usr/bin/env bash
# What looking into the mailboxes costs a whole crawl: processor time (user and system) of its process for a page, with nothing recorded
# (off), one message in 64 followed (sampled), and all of them (full). Processor time hardly depends on what else the machine does; modes take turns all the same. Needs Go and jq.
#
#   trace.sh [ROUNDS]      medians of 5 rounds, some three minutes
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
cd "$(dirname "$0")/../.."
rounds=${1:-5}
dir=$(mktemp -d)
henro=${HENRO:-$dir/henro}
[ -x "$henro" ] || go build -o "$henro" ./cmd/henro
go build -o "$dir/" ./.ci/lab/fakeweb
"$dir/fakeweb" --hosts 40 --pages 100 --pareto 0 --crawl-delays 0 --folder "$dir/web" >"$dir/web.log" &
web=$!
trap 'kill $web 2>/dev/null || true; rm -rf "$dir"' EXIT
until grep -q '^ready' "$dir/web.log"; do sleep 0.1; done
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")

once() { # mode: writes microseconds of processor time for a page
	local mode=$1 port=$((20000 + RANDOM % 8000)) follow=() looker=
	case $mode in
	sampled) follow=(--every 64) ;;
	full) follow=(--every 1) ;;
	esac
	if [ ${#follow[@]} -gt 0 ]; then # as soon as it answers
		(until "$henro" trace --master 127.0.0.1:$port --follow --json "${follow[@]}" >/dev/null 2>&1; do sleep 0.05; done) &
		looker=$!
	fi
	TIMEFORMAT='%U %S'
	{ time "$henro" crawl --dir "$dir/$mode" --allow-private --delay 0 --depth -1 --progress off --log-level error --listen-http 127.0.0.1:$port \
		"${resolve[@]}" --seeds "$dir/web/seeds.txt" >/dev/null 2>&1; } 2>"$dir/time"
	if [ -n "$looker" ]; then
		kill $looker 2>/dev/null || true
		wait $looker 2>/dev/null || true
	fi
	awk -v pages="$(jq .pages "$dir/$mode/summary.json")" '{ printf "%.0f\n", ($1 + $2) * 1e6 / pages }' "$dir/time" >>"$dir/$mode.us"
	rm -rf "${dir:?}/$mode"
}

modes=(off sampled full)
for ((round = 0; round < rounds; round++)); do
	for mode in "${modes[@]}"; do once "$mode"; done
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
off=$(median "$dir/off.us")
for mode in "${modes[@]}"; do
	awk -v mode="$mode" -v off="$off" -v all="$(sort -n "$dir/$mode.us" | tr '\n' ' ')" -v us="$(median "$dir/$mode.us")" \
		'BEGIN { printf "%-8s %5d µs a page  ×%.2f  (%s)\n", mode, us, us / off, all }'
done
