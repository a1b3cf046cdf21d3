#!/usr/bin/env bash
# Lets tools that know nothing of henro judge its archives: warcio.js reads every record and computes every digest anew, a checker written
# from the specification takes a WACZ apart, ReplayWeb.page shows a captured and a revisited page of it in headless Chromium, and henro
# replay is watched there for requests that leave the machine.
#
#   archive.sh [DIR]           DIR is one that crawl.sh has used, whose sites and crawl are taken; default: a temporary one
#   SCREENSHOTS=DIR            where pictures for the documentation go
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
mine=
if [ $# -gt 0 ]; then
	mkdir -p "$1"
	dir=$(cd "$1" && pwd)
else
	dir=$(mktemp -d)
	mine=$dir
fi
web=
finish() {
	if [ -n "$web" ]; then "$lab/docs.sh" down "$dir/sites"; fi
	if [ -n "$mine" ]; then rm -rf "$mine"; fi
}
trap finish EXIT

install() { # command, packages
	command -v "$1" >/dev/null && return
	if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then apt-get update -qq; fi
	apt-get install -y -qq --no-install-recommends "${@:2}" >/dev/null
}
install python3 python3
install npm nodejs npm
install chromium chromium
tools=$dir/tools
mkdir -p "$tools"
cp "$lab"/archive/* "$tools"
[ -d "$tools/node_modules" ] || (cd "$tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)

cd "$root"
go build -o "$dir/bin/" ./cmd/henro
export PORT=${PORT:-8080}
serve() { # with settings of docs.sh
	env "$@" bash "$lab/docs.sh" up "$dir/sites" >/dev/null
	web=up
	mapfile -t flags <"$dir/sites/flags.txt"
	flags+=(--allow-private --delay 0 --depth -1 --log-level warn --listen-http off --progress off)
}
down() {
	"$lab/docs.sh" down "$dir/sites"
	web=
}
serve A=1
[ -d "$dir/one/warc" ] || "$dir/bin/henro" crawl --dir "$dir/one" "${flags[@]}" --seeds "$dir/sites/seeds.txt" | head -n 1

echo "--- the seeds again: not modified, then identical"
again() { # status of the revisits there will be then
	"$dir/bin/henro" crawl --dir "$dir/one" "${flags[@]}" --seeds "$dir/sites/seeds.txt" --continuous --for 60s >"$dir/again.log" 2>&1 &
	local crawl=$! n=0
	until n=$(cat "$dir"/one/warc/*.cdxj.open 2>/dev/null | grep -c '"warc/revisit"') && [ "$n" -ge 20 ] || ! kill -0 "$crawl" 2>/dev/null; do sleep 0.3; done
	kill -INT "$crawl" 2>/dev/null || true
	wait "$crawl" || [ $? -eq 130 ]
	n=$(grep '"mime":"warc/revisit"' "$dir/one/warc/index.cdxj" | grep -c "\"status\":\"$1\"" || true)
	if [ "$n" -eq 0 ]; then
		cat "$dir/again.log"
		echo "FAIL  no revisits with status $1"
		return 1
	fi
	echo "ok    $n revisits with status $1"
}
again 304
down
serve VALIDATORS=off IF_MODIFIED_SINCE=off
again 200
down

echo "--- warcio"
"$dir/bin/henro" index "$dir/one"
warcs=("$dir"/one/warc/*.warc.gz)
node "$tools/digests.mjs" "$dir/one/warc/index.cdxj" "${warcs[@]}"
cli() { node "$tools/node_modules/warcio/dist/cli.js" "$@"; }
cli index "${warcs[@]}" >"$dir/records.jsonl"
cli cdx-index "${warcs[@]}" >"$dir/theirs.cdxj"
python3 - "$dir/one/warc/index.cdxj" "$dir/theirs.cdxj" "$dir/records.jsonl" <<'COMPARE'
import json, sys
def lines(path):
    return {(e["filename"], int(e["offset"])): (e["url"], int(e["length"]), e.get("status"), e.get("mime")) for e in (json.loads(l[l.index("{"):]) for l in open(path))}
ours, theirs = lines(sys.argv[1]), lines(sys.argv[2])
differ = [(k, ours.get(k), theirs.get(k)) for k in sorted(ours.keys() | theirs.keys()) if ours.get(k) != theirs.get(k)]
print("%s  warcio's index of %d records: %d captures, ours the same but for %d" % ("FAIL" if differ else "ok  ", sum(1 for _ in open(sys.argv[3])), len(theirs), len(differ)))
for d in differ[:5]: print("        ", d)
sys.exit(bool(differ))
COMPARE

echo "--- WACZ"
"$dir/bin/henro" wacz "$dir/one" "$dir/one.wacz"
python3 "$tools/wacz.py" "$dir/one.wacz"

echo "--- browser"
node "$tools/browser.mjs" "$(command -v chromium)" "$dir/one.wacz" "$dir/bin/henro" "$dir/one" "http://git.docs.test:$PORT/" ${SCREENSHOTS:+"$SCREENSHOTS"}
