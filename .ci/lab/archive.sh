#!/usr/bin/env bash
# Lets tools that know nothing of henro judge its archives: warcio.js reads every record and computes every digest again, a checker written
# from the specification takes a WACZ apart, ReplayWeb.page shows a captured and a revisited page of it in headless Chromium, and henro
# replay is watched there for requests that leave the machine. The crawl has all that its pages are made of.
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
	for pid in ${receiver:-} ${slave:-} ${master:-}; do kill "$pid" 2>/dev/null || true; done
	if [ -n "$web" ]; then "$lab/docs.sh" down "$dir/sites"; fi
	if [ -n "$mine" ]; then rm -rf "$mine"; fi
}
trap finish EXIT

say() { echo "--- $* (at $SECONDS s)"; }

. "$lab/programs.sh"
install python3 python3
install curl curl
install npm nodejs npm
install chromium chromium
tools=$dir/tools
mkdir -p "$tools"
cp "$lab"/archive/* "$tools"
[ -d "$tools/node_modules" ] || (cd "$tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)

cd "$root"
build "$dir/bin" ./cmd/...
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
[ -d "$dir/whole/warc" ] || "$dir/bin/henro" crawl --dir "$dir/whole" "${flags[@]}" --seeds "$dir/sites/seeds.txt" | sed -n 1p

say "the seeds again: not modified, and where the server forgets, identical"
down
serve FORGETFUL=git
"$dir/bin/henro" crawl --dir "$dir/whole" "${flags[@]}" --seeds "$dir/sites/seeds.txt" --continuous --for 90s >"$dir/again.log" 2>&1 &
crawl=$!
revisits() { grep '"warcRevisit:' "$dir/whole/logs/fetch.jsonl" 2>/dev/null | grep -c "\"status_code\":$1," || true; }
until { [ "$(revisits 304)" -ge 30 ] && [ "$(revisits 200)" -ge 1 ]; } || ! kill -0 "$crawl" 2>/dev/null; do sleep 0.3; done
sleep 1
kill -INT "$crawl" 2>/dev/null || true
wait "$crawl" || [ $? -eq 130 ]
down
"$dir/bin/henro" check --repair "$dir/whole"
for status in 304 200; do
	n=$(grep '"mime":"warc/revisit"' "$dir/whole/warc/index.cdxj" | grep -c "\"status\":\"$status\"" || true)
	[ "$n" -gt 0 ] || { cat "$dir/again.log"; echo "FAIL  no revisits with status $status"; exit 1; }
	echo "ok    $n revisits with status $status"
done

say "warcio"
warcs=("$dir"/whole/warc/*.warc.gz)
node "$tools/digests.mjs" "$dir/whole/warc/index.cdxj" "${warcs[@]}"
for about in seeds settings summary log; do
	grep -q "^urn:henro:$about " "$dir/whole/warc/index.cdxj" || { echo "FAIL  the archive does not hold its $about"; exit 1; }
done
cli() { node "$tools/node_modules/warcio/dist/cli.js" "$@"; }
cli index "${warcs[@]}" >"$dir/records.jsonl"
cli cdx-index "${warcs[@]}" >"$dir/theirs.cdxj"
python3 - "$dir/whole/warc/index.cdxj" "$dir/theirs.cdxj" "$dir/records.jsonl" <<'COMPARE'
import json, sys
def lines(path):
    return {(e["filename"], int(e["offset"])): (e["url"], int(e["length"]), e.get("status"), e.get("mime", "").split(";")[0]) for e in (json.loads(l[l.index(" {"):]) for l in open(path))}
ours, theirs = lines(sys.argv[1]), lines(sys.argv[2])
differ = [(k, ours.get(k), theirs.get(k)) for k in sorted(ours.keys() | theirs.keys()) if ours.get(k) != theirs.get(k)]
print("%s  warcio's index of %d records: %d captures, ours the same but for %d" % ("FAIL" if differ else "ok  ", sum(1 for _ in open(sys.argv[3])), len(theirs), len(differ)))
for d in differ[:5]: print("        ", d)
sys.exit(bool(differ))
COMPARE

say "files of a slave, collected while both ends are killed"
serve A=1
rm -rf "$dir/master" "$dir/slave" "$dir/collected"
"$dir/bin/henro" key new >"$dir/key"
gossip=127.0.0.1:17791 collect=127.0.0.1:17793
at() { "$dir/bin/henro" nodes collect --key "$dir/key" --listen "$collect" --log-level warn "$dir/collected" >/dev/null & receiver=$!; }
work() {
	"$dir/bin/henro-slave" --key "$dir/key" --join "$gossip" --gossip 127.0.0.1:0 --actors 127.0.0.1:0 --name slave --dir "$dir/slave" \
		--warc-size 1MiB --collect "$collect" --log-level error &
	slave=$!
}
settled() { find "$dir/collected/warc" -name '*.warc.gz' 2>/dev/null | wc -l; }
at; work
grep -E '//(git|sqlite|policy)[.]' "$dir/sites/seeds.txt" >"$dir/few.txt"
"$dir/bin/henro-master" --key "$dir/key" --dir "$dir/master" --gossip "$gossip" --actors 127.0.0.1:17792 --name master --log-level error --listen-http off \
	"${flags[@]:0:${#flags[@]}-4}" --contact lab@example.org --delay 20ms --fetch-timeout 10s --seeds "$dir/few.txt" >/dev/null &
master=$!
for round in 1 2; do
	until [ "$(settled)" -ge $((2 * round)) ] || ! kill -0 "$master" 2>/dev/null; do sleep 0.1; done
	kill -0 "$master" 2>/dev/null || { echo "FAIL  the crawl ended before round $round"; exit 1; }
	kill -9 "$receiver"; wait "$receiver" 2>/dev/null || true
	at
	kill -9 "$slave"; wait "$slave" 2>/dev/null || true
	work
done
wait "$master"
kill -TERM "$slave"; wait "$slave" || true # its master has gone
kill -TERM "$receiver"; wait "$receiver"
"$dir/bin/henro" check --repair "$dir/collected"
said() { zcat "$@" | grep -aoE '^(operator: lab@example.org|http-header-user-agent: henro/.*lab@example.org|robots: obey)' | sort -u | wc -l; }
for file in "$dir"/collected/warc/*.warc.gz; do
	[ "$(said "$file")" -ge 3 ] || { echo "FAIL  $file does not say who crawls"; exit 1; }
done
node "$tools/digests.mjs" "$dir/collected/warc/index.cdxj" "$dir"/collected/warc/*.warc.gz
"$dir/bin/henro" export --dir "$dir/master" --what pages --to tsv "$dir/collected.tsv"
python3 - "$dir/collected.tsv" "$dir/collected/warc/index.cdxj" "$dir/slave/warc" <<'COLLECTED'
import csv, json, os, sys
captured = {json.loads(line[line.index(" {"):])["url"] for line in open(sys.argv[2])}
pages = [row["url"] for row in csv.DictReader(open(sys.argv[1]), delimiter="\t", quoting=csv.QUOTE_NONE) if row["status"] not in ("", "0")]
missing = [url for url in pages if url not in captured]
left = [name for name in os.listdir(sys.argv[3]) if not name.startswith(".")]
ok = len(pages) > 100 and not missing and not left
print("%s  %d pages, %d of them not collected; %d files left with the slave" % ("ok  " if ok else "FAIL", len(pages), len(missing), len(left)), missing[:3], left[:3])
sys.exit(not ok)
COLLECTED
node "$tools/digests.mjs" "$dir/collected/warc/index.cdxj" "$dir"/collected/warc/*.warc.gz
down

say "WACZ"
"$dir/bin/henro" key signing >"$dir/signing.key"
"$dir/bin/henro" wacz --sign "$dir/signing.key" "$dir/whole" "$dir/whole.wacz" 2>"$dir/wacz.log"
python3 "$tools/wacz.py" "$dir/whole.wacz"
node "$tools/signature.mjs" "$dir/whole.wacz"
signer=$(sed -n 's/^signed; public key: //p' "$dir/wacz.log")
"$dir/bin/henro" check --signer "$signer" "$dir/whole.wacz"

say "browser"
node "$tools/browser.mjs" "$(command -v chromium)" "$dir/whole.wacz" "$dir/bin/henro" "$dir/whole" "http://git.docs.test:$PORT/" ${SCREENSHOTS:+"$SCREENSHOTS"}

say "twins: a revisit that names another URL, the search of ReplayWeb.page, and what is missing"
mkdir -p "$dir/twin-site"
python3 - "$dir/twin-site" <<'TWINS'
import sys
body = "<!doctype html><title>Twins of henro</title><h1>Twins</h1><p>" + "The same words at two addresses. " * 60
pages = {"one": body, "two": body, "rare": "<!doctype html><title>Rare</title><p>A page that says zyzzyva where no other does.",
         "index": "<!doctype html><title>Start</title><a href=one.html>1</a><a href=two.html>2</a><a href=rare.html>3</a>"}
for name, page in pages.items():
    open(f"{sys.argv[1]}/{name}.html", "w").write(page)
TWINS
python3 -m http.server --bind 127.0.0.1 17794 -d "$dir/twin-site" >/dev/null 2>&1 &
receiver=$! # it ends with the lab
until curl -s -o /dev/null http://127.0.0.1:17794/; do sleep 0.1; done
rm -rf "$dir/twins"
"$dir/bin/henro" crawl --dir "$dir/twins" --allow-private --delay 500ms --log-level error --listen-http off --progress off http://127.0.0.1:17794/ >/dev/null
"$dir/bin/henro" wacz "$dir/twins" "$dir/twins.wacz"
node "$tools/twins.mjs" "$(command -v chromium)" "$dir/twins.wacz" "$dir/bin/henro" "$dir/twins" http://127.0.0.1:17794
