#!/usr/bin/env bash
# A crawl whose wall clock is set to and fro while it runs, by a minute, an hour and a day (shift.py), beside the same crawl with a clock
# that is right: it has as many pages after as many seconds, five more at most, and the log has no word of a master that stood still.
# Linux on amd64.
#
#   clock.sh [DIR]
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$lab/../.."
go build -o "$dir/" ./cmd/henro ./.ci/lab/fakeweb
"$dir/fakeweb" --hosts 8 --pages 40 --pareto 0 --seed 3 --folder "$dir/web" >"$dir/web.log" &
web=$!
trap 'kill $web 2>/dev/null; [ -n "'"${1:-}"'" ] || rm -rf "$dir"' EXIT
until grep -q '^ready' "$dir/web.log"; do sleep 0.1; done

# crawled NAME SHIFT…: how many seconds, and how many pages
crawled() {
	local begun=$SECONDS
	# shellcheck disable=SC2046
	"$dir/henro" crawl --contact lab@example.org --allow-private --delay 1s --for 2m --progress off --listen-http off --dir "$dir/$1" \
		--seeds "$dir/web/seeds.txt" $(sed 's/^/--resolve /' "$dir/web/resolve.txt") >/dev/null 2>"$dir/$1.log" &
	local crawl=$!
	sleep 2
	[ $# -eq 1 ] || python3 "$lab/shift.py" "$crawl" "${@:2}"
	wait "$crawl"
	echo $((SECONDS - begun)) "$(sed -n 's/.*"pages": *\([0-9]*\).*/\1/p' "$dir/$1/summary.json" | head -n 1)"
}

read -r took pages < <(crawled right)
read -r shifted had < <(crawled set 3600 -3600 60 -60 86400 -86400 3600 0)
echo "clock right: $pages pages after $took s; set eight times: $had after $shifted s"
! grep -q 'stood still' "$dir/set.log"
[ "$had" -eq "$pages" ] && [ "$shifted" -le $((took + 5)) ]
