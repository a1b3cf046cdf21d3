#!/usr/bin/env bash
# Plays a user with a site of 60 pages, a quarter of them in a folder that is none of his business: a crawl with a contact and an
# exclusion, Ctrl-C, on by the directory alone, a greater depth; then every verb at the crawl that has ended and at the one that
# runs with --continuous, whose address is not the default; and what it archives is replayed, searched, counted and told of while
# it runs. Some 40 s.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
pids=()
finish() {
	code=$?
	[ "$code" -eq 0 ] || tail -n 20 "$dir/said" "$dir/crawl.log" 2>/dev/null || true
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap finish EXIT
. .ci/lab/programs.sh
build "$dir/bin" ./cmd/henro ./.ci/lab/fakeweb
PATH=$dir/bin:$PATH
cd "$dir"
fakeweb --hosts 1 --domains 1 --pareto 0 --pages 60 --redirects 0 --crawl-delays 0 --changing 1 --change-fastest 2s --change-slowest 20s \
	--folder web >web.log &
pids+=($!)
until grep -q ready web.log; do sleep 0.1; done
seed=$(cat web/seeds.txt)
host=${seed#http://} host=${host%/}
export HENRO_LISTEN_HTTP=127.0.0.1:0 HENRO_PROGRESS=off HENRO_LOG_LEVEL=warn # of the machine, not of the crawl

fail() { echo "FAIL  $*"; exit 1; }
said() { henro "$@" >said 2>&1 || fail "henro $*: exit code $?"; }
pages() { henro sql --dir site "SELECT count(*) FROM pages WHERE status = 200" --format tsv | tail -n 1; }
private() { cut -f 5 web/access.log | grep -c '^/private/' || true; }

henro crawl --dir site --contact me@example.org --exclude /private/ --depth 1 --delay 300ms --allow-private \
	--resolve "$(cat web/resolve.txt)" "$seed" >crawl.log 2>&1 &
crawl=$!
until [ "$(wc -l <web/access.log)" -ge 3 ]; do kill -0 "$crawl" && sleep 0.1; done
kill -INT "$crawl"
code=0
wait "$crawl" || code=$?
[ "$code" -eq 130 ] || fail "Ctrl-C: exit code $code"
said crawl --dir site
[ "$(private)" -eq 0 ] || fail "on by the directory alone, pages that are excluded were asked for"
first=$(pages)
said crawl --dir site --depth 4 --delay 50ms
grep -q 'depth: 1 → 4' said || fail "the greater depth is not said"
[ "$(pages)" -gt "$first" ] || fail "a greater depth brought no page"
[ "$(private)" -eq 0 ] || fail "with a greater depth, pages that are excluded were asked for"
echo "resumed    $first pages by the directory alone, $(pages) with a greater depth; none that was excluded"

word=$(curl -fsS --resolve "$(cat web/resolve.txt)" "$seed" | grep -o '<title>[^ <]*' | cut -c8-)
look() { # every verb that looks, at the crawl as it is now
	local verb
	for verb in "status" "page $seed" "host $host" "why $seed" "missing" "stats" "search --index" "search $word" "feed" "diff $seed" "stats --timetable --to $dir/report" \
		"sql SELECT+count(*)+FROM+captures" "export --what links --to csv links.csv" "backup state-$1.tar" "host alias" "host url-rules" "config"; do
		read -ra words <<<"$verb"
		words+=(--dir site)
		case $1/${words[0]} in ended/status) continue ;; esac # nothing runs
		said "${words[@]//+/ }"
		looked=$((looked + 1))
	done
}
looked=0
look ended
said check site
said wacz site site.wacz
said check site.wacz
said check --repair site
said prove site "$seed" -o a.proof
said verify a.proof
said import --dir other site/warc
said page "$seed" --dir other
echo "ended      $((looked + 8)) commands look into it"

henro crawl --dir site --continuous >crawl.log 2>&1 &
crawl=$!
pids+=("$crawl")
until [ -s site/http.address ]; do kill -0 "$crawl" && sleep 0.1; done
said status --dir site
head -n 3 said | grep -q site || fail "status does not begin with the directory"
captures() { henro sql --dir site "SELECT count(*) FROM captures" --format tsv | tail -n 1; }
before=$(captures)
henro replay --dir site --listen 127.0.0.1:0 >replay.log 2>&1 &
pids+=($!)
said revisit --dir site --now "$seed*"
for _ in $(seq 100); do
	[ "$(captures)" -le "$before" ] || break
	sleep 0.2
done
[ "$(captures)" -gt "$before" ] || fail "nothing new is seen while it runs"
looked=0
look running
for verb in "nodes" "seeds add $seed" "pause" "resume" "trace" "host exclude http://other.example"; do
	read -ra words <<<"$verb"
	said "${words[@]}" --dir site
	looked=$((looked + 1))
done
until grep -q http replay.log; do sleep 0.1; done
at=$(grep -o 'http://[^ /]*' replay.log | head -n 1)
curl -fsSL "$at/web/$seed" -o page.html
grep -q '<' page.html || fail "replay shows nothing"
echo "running    $looked commands look into it and steer it; $before captures became $(captures); replay shows its pages"
said stop --dir site
wait "$crawl" || [ $? -eq 130 ] || fail "stop: exit code $?"
[ "$(private)" -eq 0 ] || fail "pages that are excluded were asked for"
said check site
echo "stopped    sound, and nothing that was excluded was asked for"
