#!/usr/bin/env bash
# What a master and a slave need for a page, from which docs/measured/scale.md says what 10⁸ and 10⁹ pages need. A master and a slave crawl a made-up web with pages as long and links as many as those of real
# documentation; each process's own time is that of getrusage, so a busy machine changes it by a third at most, bytes not at all.
#
#   scale.sh [HOSTS] [PAGES]     default 100 hosts of 100 pages
set -euo pipefail
export HENRO_REQUISITES=off
cd "$(dirname "$0")/../.."
hosts=${1:-100} pages=${2:-100}
dir=$(mktemp -d)
jobs=()
finish() {
	kill "${jobs[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/" ./cmd/... ./.ci/lab/fakeweb
"$dir/fakeweb" --hosts "$hosts" --domains "$hosts" --pages "$pages" --degree 18 --cross 0.3 --page-bytes 24000 --folder "$dir/web" >"$dir/web.log" &
jobs+=($!)
until grep -q ready "$dir/web.log"; do sleep 0.1; done
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")

# crawl NAME FLAGS…: a master and a slave, each with its times and its memory at most.
crawl() {
	local name=$1 at="$dir/$1"
	shift
	python3 - "$at.master.use" "$dir/henro-master" --dir "$at" --name m --allow-private --delay 0 --depth -1 --seeds "$dir/web/seeds.txt" \
		--listen-http 127.0.0.1:7790 --gossip 127.0.0.1:7791 --actors 127.0.0.1:7792 "${resolve[@]}" "$@" <<<"$use" >"$at.json" 2>"$at.log" &
	local master=$!
	python3 - "$at.slave.use" "$dir/henro-slave" --dir "$at-slave" --name s --join 127.0.0.1:7791 <<<"$use" 2>"$at-slave.log" &
	local slave=$!
	jobs+=("$master" "$slave")
	while kill -0 "$master" 2>/dev/null; do
		curl -s 127.0.0.1:7790/metrics >"$at.now" && mv "$at.now" "$at.metrics" || true
		sleep 0.5
	done
	wait "$master" || true
	pkill -TERM -P "$slave" || true
	wait "$slave" || true
}
use='
import json, resource, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.run(sys.argv[2:])
r = resource.getrusage(resource.RUSAGE_CHILDREN)
json.dump({"seconds": r.ru_utime + r.ru_stime, "mb": r.ru_maxrss / 1000}, open(sys.argv[1], "w"))
'
crawl whole
"$dir/henro" check --repair "$dir/whole" >/dev/null # what is free in the files does not count
python3 .ci/lab/scale.py "$dir"
