#!/usr/bin/env bash
# The questions of docs/examples/analysis to DuckDB, on the Parquet files of a crawl that is running, and to henro sql: the same answers. The
# crawl is paused meanwhile, so that both ask the same state; then once more while it goes on, when nothing may be less than before.
set -euo pipefail
export HENRO_REQUISITES=off
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
questions=$root/docs/examples/analysis
dir=$(mktemp -d)
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
. "$lab/programs.sh"
install npm nodejs npm
cp "$lab"/analysis/* "$dir"
(cd "$dir" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)
cd "$root"
build "$dir/bin" ./cmd/henro ./.ci/lab/fakeweb
henro=$dir/bin/henro
"$dir/bin/fakeweb" --hosts 20 --pages 200 --folder "$dir/web" >"$dir/web.log" 2>&1 &
pids+=($!)
until grep -q ready "$dir/web.log"; do sleep 0.1; done
mapfile -t flags < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
"$henro" crawl --dir "$dir/crawl" --allow-private --delay 200ms --seeds "$dir/web/seeds.txt" "${flags[@]}" \
	--listen-http 127.0.0.1:0 --progress off --log-level warn >"$dir/crawl.log" 2>&1 &
crawl=$!
pids+=("$crawl")

# count TABLE: its rows, by henro sql.
count() { "$henro" sql "$dir/crawl" "SELECT count(*) FROM $1" --format tsv 2>/dev/null | tail -n 1; }
until [ -s "$dir/crawl/http.address" ] && n=$(count captures) && [ "${n:-0}" -ge 300 ]; do kill -0 "$crawl" && sleep 1; done

# asked FOLDER: the tables as of now, and DuckDB's answers on them.
asked() {
	"$henro" export --dir "$dir/crawl" --to cc-index "$1" 2>"$dir/export.log"
	mkdir -p "$1/answers"
	(cd "$1" && node "$dir/duckdb.mjs" "$questions/tables.sql" answers $(ls "$questions"/*.sql | grep -v /tables.sql))
}

# ours FILE: the question, with what of captures has Common Crawl's names under those that it has in henro sql, which has no domains: here,
# what is between the first dot of a host and its port.
ours() {
	local behind="substr(host, instr(host, '.') + 1)"
	sed -E "s/url_host_registered_domain AS/substr($behind, 1, instr($behind, ':') - 1) AS/; s/^GROUP BY url_host_registered_domain/GROUP BY 1/
		s/fetch_status/status/g; s/content_mime_type/mime/g; s/warc_filename/filename/g; s/warc_record_//g" "$1"
}

"$henro" pause "$dir/crawl" >/dev/null
for _ in $(seq 30); do # until nothing is under way any more
	before=$(count captures)-$(count links)
	sleep 2
	[ "$(count captures)-$(count links)" != "$before" ] || break
done
asked "$dir/paused"
mkdir "$dir/sql"
for file in "$questions"/*.sql; do
	name=$(basename "$file" .sql)
	[ "$name" != tables ] || continue
	"$henro" sql --format tsv -- "$dir/crawl" "$(ours "$file")" 2>"$dir/sql.log" | tail -n +2 >"$dir/sql/$name.tsv"
	rows=$(wc -l <"$dir/sql/$name.tsv")
	holds "$name: $rows rows, the same in DuckDB" cmp -s "$dir/sql/$name.tsv" "$dir/paused/answers/$name.tsv"
	[ "$name" = orphans ] || holds "$name has an answer" [ "$rows" -gt 0 ]
done
holds "the crawl is running" kill -0 "$crawl"

"$henro" resume "$dir/crawl" >/dev/null
least=$(count captures)
until [ "$(count captures)" -gt "$least" ]; do kill -0 "$crawl" && sleep 1; done
least=$(count captures)
asked "$dir/going"
most=$(count captures)
found=$(awk -F'\t' '{n += $2} END {print n}' "$dir/going/answers/domains.tsv")
holds "$found captures while it goes on, from $least before to $most behind" [ "$least" -le "$found" -a "$found" -le "$most" ]
holds "no file is left half" [ -z "$(find "$dir/going" "$dir/paused" -name '*.part')" ]
exit "$failed"
