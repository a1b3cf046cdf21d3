#!/usr/bin/env bash
# What several masters cost, beside one: nodes of their own on loopback, with a key and TLS as on a network.
#
#   masters.sh cost [ROUNDS]     the crawl of documentation (docs.sh) with one master and with three, two slaves each, in turns
#   masters.sh soak [SECONDS]    a web without end at a page a second and host, three masters; memory, goroutines and the log, as CSV
#   MASTERS="1 3 5"              of how many masters the cost is measured
#   BEFORE=DIR                   cost: programs of another commit with one master, in turns with these
#   HOSTS=100                    soak: hosts of the web
#   MOVE=SECONDS                 soak: another master leads after so long, again and again
#
# masters.py says what is measured.
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
what=${1:-cost}
dir=$(mktemp -d)
web=
finish() {
	[ -z "$web" ] || kill "$web" || true
	[ ! -d "$dir/sites" ] || "$lab/docs.sh" down "$dir/sites" || true
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/fakeweb ./cmd/henro-master ./cmd/henro-slave
case $what in
cost)
	PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/sites"
	awk -F= 'NR==1{print "resolve:"} {print "  - \"" $2 "\""}' "$dir/sites/flags.txt" >"$dir/henro.yaml"
	cp "$dir/sites/seeds.txt" "$dir"
	python3 "$lab/masters.py" cost "$dir" "${2:-3}" "${MASTERS:-1 3}" "${BEFORE:-}"
	;;
soak)
	"$dir/bin/fakeweb" --hosts "${HOSTS:-100}" --domains "${HOSTS:-100}" --pages 5000 --pareto 0 --degree 18 --cross 0.1 --page-bytes 2000 --redirects 0 \
		--crawl-delays 0 --folder "$dir/web" >"$dir/out" &
	web=$!
	until grep -qs '^ready' "$dir/out"; do sleep 0.1; done
	awk 'NR==1{print "resolve:"} {print "  - \"" $1 "\""}' "$dir/web/resolve.txt" >"$dir/henro.yaml"
	cp "$dir/web/seeds.txt" "$dir"
	python3 "$lab/masters.py" soak "$dir" "${2:-1800}" "${MOVE:-0}"
	;;
*)
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
