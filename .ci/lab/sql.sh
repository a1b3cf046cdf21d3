#!/usr/bin/env bash
# Compares the exports of a crawl of real sites and answers in SQL with the same computed by an independent script from the ground truth;
# then exports from a crawl that is running.
#
#   sql.sh [DIR]     DIR is one that crawl.sh has used, whose truth and crawl are taken; default: a temporary one, for which it runs
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
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
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$dir/running" "$dir/sql"
	[ -z "$mine" ] || rm -rf "$mine"
}
trap finish EXIT
. "$lab/programs.sh"
install python3 python3
install npm nodejs npm
tools=$dir/tools-sql
mkdir -p "$tools"
cp "$lab"/sql/package.json "$lab"/sql/parquet.mjs "$tools"
[ -d "$tools/node_modules" ] || (cd "$tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)
if [ ! -e "$dir/truth/links.tsv" ] || [ ! -d "$dir/many/state" ]; then "$lab/crawl.sh" "$dir"; fi
cd "$root"
build "$dir/bin" ./cmd/henro ./.ci/lab/fakeweb
# The crawl by several processes: archive.sh goes on with the other one.
python3 "$lab/sql/compare.py" "$dir/bin/henro" "$dir/many" "$dir/truth" "$dir/sql" "$tools"
go run ./.ci/lab/simulate frontier --graph "$dir/sql/edges.tsv" --policy fifo 2>&1 >/dev/null | sed -n 1p

echo "--- from a crawl that is running"
rm -rf "$dir/running" && mkdir "$dir/running"
"$dir/bin/fakeweb" --hosts 20 --pages 100 --folder "$dir/running/web" >"$dir/running/web.log" 2>&1 &
pids+=($!)
until grep -q ready "$dir/running/web.log"; do sleep 0.1; done
mapfile -t flags < <(sed 's/^/--resolve=/' "$dir/running/web/resolve.txt")
"$dir/bin/henro" crawl --dir "$dir/running/crawl" --allow-private --delay 500ms --seeds "$dir/running/web/seeds.txt" "${flags[@]}" \
	--listen-http 127.0.0.1:0 --progress off --log-level warn >"$dir/running/crawl.log" 2>&1 &
crawl=$!
pids+=("$crawl")
until [ -s "$dir/running/crawl/http.address" ]; do sleep 0.1; done
links=0
until [ "$links" -gt 0 ]; do # the state is written every few seconds
	sleep 1
	links=$("$dir/bin/henro" sql "$dir/running/crawl" "SELECT count(*) FROM links" --format tsv 2>/dev/null | tail -n 1)
done
"$dir/bin/henro" export --dir "$dir/running/crawl" "$dir/running/crawl.sqlite"
kill -0 "$crawl" || { echo "FAIL  the crawl ended before it was exported"; exit 1; }
python3 - "$dir/running/crawl.sqlite" "$links" <<'END'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
one = lambda question: database.execute(question).fetchone()[0]
pages, links, orphans = one("SELECT count(*) FROM pages"), one("SELECT count(*) FROM links"), one('SELECT count(*) FROM links WHERE number NOT IN (SELECT number FROM pages)')
print("ok    %d pages and %d links of a running crawl, every link with its page" % (pages, links))
sys.exit(not (pages > 0 and links >= int(sys.argv[2]) and orphans == 0))
END
