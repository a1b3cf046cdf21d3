#!/usr/bin/env bash
# Attacks the built programs as a hostile page, another program of the machine or a damaged disk would, and says of each check what came
# of it. Every check is a function below; it says ok or fails by itself, with `holds TEXT CONDITION...`.
#
#   trust.sh                   all checks
#   trust.sh replay_raw ...    only those named
#   BIN=DIR trust.sh           programs that are built already
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
dir=$(mktemp -d)
pids=() # of programs in the background
finish() {
	for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap finish EXIT

. "$lab/apt.sh"
install python3 python3
install curl curl
install chromium chromium
bin=${BIN:-$dir/bin}
[ -n "${BIN:-}" ] || (cd "$root" && go build -o "$bin/" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave)

failed=0
# holds TEXT COMMAND...: the verdict, by what the command returns.
holds() {
	local text=$1
	shift
	if "$@"; then
		echo "ok    $text"
	else
		echo "FAIL  $text"
		failed=1
	fi
}

# background COMMAND...: runs until the lab ends; what it says is in $dir/said. The process is $started.
background() {
	"$@" >"$dir/said" 2>&1 &
	started=$!
	pids+=("$started")
}

# answers URL: waits until somebody answers there.
answers() {
	for _ in $(seq 100); do
		curl -s -o /dev/null "$1" && return
		sleep 0.1
	done
	return 1
}

end() { { kill -9 "$1" && wait "$1" || true; } 2>/dev/null; }

# status URL [CURL OPTION...]: the status of the answer, 000 for none.
status() { curl -s -o /dev/null --max-time 10 -w '%{http_code}' "$@" || true; }

# --- replay

# field NAME URL [CURL OPTION...]: that field of the answer.
field() { curl -s -o /dev/null -D - "${@:2}" | tr -d '\r' | sed -n "s/^$1: //Ip"; }

replay_up() {
	mkdir -p "$dir/hostile"
	python3 "$lab/trust/hostile.py" "$dir/hostile/a.warc" 17699
	background "$bin/henro" replay --listen 127.0.0.1:17690 "$@" "$dir/hostile"
	answers http://127.0.0.1:17690/
}

# A page of the archive that would send out what the archive holds is opened in a browser, in every way there is.
check_replay_browser() {
	local flags
	for flags in "" --no-scripts; do
		# shellcheck disable=SC2086
		replay_up $flags
		holds "replay${flags:+ $flags}: no way of opening a hostile capture asks the live web" \
			python3 "$lab/trust/live.py" 17699 http://{127.0.0.1:17690,localhost:17690,localhost:17691}/web/{2026id_,2026mp_,20260314120000}/http://evil.test/
		end "$started"
	done
}

check_replay_headers() {
	local url policy
	replay_up
	for url in 127.0.0.1:17690/web/2026id_ localhost:17691/web/2026id_; do
		policy=$(field content-security-policy "http://$url/http://evil.test/")
		holds "replay: http://$url/… may do nothing" \
			[ "$policy" = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox" ]
		holds "replay: http://$url/… is a download" [ "$(field content-disposition "http://$url/http://evil.test/")" = attachment ]
	done
	for name in "" evil.test localhost. 0.0.0.0; do
		for port in 17690 17691; do
			holds "replay: Host \"$name\" is refused at $port" [ "$(status "http://127.0.0.1:$port/" -H "Host;" -H "Host: $name")" = 403 ]
		done
	done
	for path in / /timemap/link/http://secret.test/ '/web/*/http://secret.test/'; do
		holds "replay: $path is not answered to another site" \
			[ "$(status "http://127.0.0.1:17690$path" -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Dest: empty')" = 403 ]
		holds "replay: $path is not where captures run" [ "$(status "http://localhost:17691$path")" = 307 ]
	done
	end "$started"
}

# Pages that want all the memory there is, 48 of them, asked for 32 at a time.
check_replay_memory() {
	mkdir -p "$dir/greedy"
	python3 "$lab/trust/hostile.py" "$dir/greedy/a.warc" greedy 48
	background "$bin/henro" replay --listen 127.0.0.1:17690 "$dir/greedy"
	answers http://127.0.0.1:17690/
	seq -f 'http://127.0.0.1:17690/web/2026mp_/http://greedy.test/%.0f' 0 47 | xargs -P 32 -n 1 curl -s -o /dev/null --max-time 30 || true
	peak=$(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$started/status")
	holds "replay: 48 hostile captures cost $peak MB, at most 256" [ "$peak" -le 256 ]
	end "$started"
}

# --- sql

# A question to a crawl makes no file, reads no other database and changes nothing.
check_sql() {
	local question
	crawl_up
	mkdir -p "$dir/sql"
	"$bin/henro" export --dir "$dir/crawl" --what pages --to sqlite "$dir/other.db" >/dev/null 2>&1
	sum=$(sha256sum "$dir/other.db")
	for question in "ATTACH 'new.db' AS x" "ATTACH '$dir/other.db' AS x; SELECT count(*) FROM x.pages" "ATTACH 'file:new.db?mode=rwc' AS x" \
		"VACUUM INTO 'new.db'" "VACUUM INTO 'file:new.db'" "PRAGMA journal_mode = WAL" "PRAGMA temp_store_directory = '.'" \
		"SELECT load_extension('./x')" "SELECT writefile('new.db', 'x')" "SELECT readfile('$dir/other.db')" "DROP TABLE pages" \
		"CREATE TABLE x AS SELECT * FROM pages" "SELECT * FROM sqlite_dbpage" "SELECT zeroblob(1000000000)"; do
		holds "sql: refused: $question" refused "$question"
	done
	holds "sql: no file was made" [ -z "$(ls -A "$dir/sql")" ]
	holds "sql: another database is as it was" [ "$(sha256sum "$dir/other.db")" = "$sum" ]
	holds "sql: what follows a command is asked" [ "$(printf '.tables\n.format csv\nselect 42 as a;' | "$bin/henro" sql "$dir/crawl" 2>&1 | tail -n 1)" = 42 ]
}
refused() { ! (cd "$dir/sql" && "$bin/henro" sql "$dir/crawl" "$1" >/dev/null 2>&1); }

# crawl_up makes a small crawl in $dir/crawl, once.
crawl_up() {
	[ -d "$dir/crawl" ] || "$bin/henro" demo --dir "$dir/crawl" >/dev/null 2>&1
}

# --- control

# What a page of another site, a stalled reader or a flood can ask of a master.
check_control() {
	local path
	background "$bin/henro" crawl --dir "$dir/control" --contact lab@example.org --allow-private --delay 60s --listen-http 127.0.0.1:17680 \
		--progress off --continuous http://127.0.0.1:17681/
	answers http://127.0.0.1:17680/healthz
	for path in /api/backup /api/report /api/status /api/log /api/trace /debug/pprof/heap '/debug/pprof/profile?seconds=1' /metrics; do
		holds "control: another site is refused $path" \
			[ "$(status "http://127.0.0.1:17680$path" -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors' -H 'Sec-Fetch-Dest: image')" = 403 ]
	done
	holds "control: a page may be linked" \
		[ "$(status http://127.0.0.1:17680/ -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document')" = 200 ]
	holds "control: an empty Host is refused" [ "$(status http://127.0.0.1:17680/api/status -H 'Host;')" = 421 ]
	holds "control: a multipart body of 200 MB is refused, and not kept" multipart
	holds "control: 600 followers of the log are not all taken, and it still answers" \
		python3 "$lab/trust/readers.py" 17680 '/api/log?follow=true' 600
	end "$started"
}
multipart() {
	mkdir -p "$dir/tmp"
	[ "$(head -c 200000000 /dev/zero | status http://127.0.0.1:17680/api/slaves/drain -F 'f=@-;filename=x')" = 415 ]
}

# The receiver of collected files is no way in for a page whose name was made to point here.
check_collect() {
	background "$bin/henro" collect --listen 127.0.0.1:17683 "$dir/collected"
	answers http://127.0.0.1:17683/
	holds "collect: a name that was made to point here is refused" \
		[ "$(status http://127.0.0.1:17683/files/a.warc -X PUT -d x -H 'Host: evil.test:17683')" = 421 ]
	holds "collect: a browser is refused" [ "$(status http://127.0.0.1:17683/files/a.warc -H 'Sec-Fetch-Site: cross-site')" = 403 ]
	holds "collect: nothing was taken" [ -z "$(find "$dir/collected" -name 'a.warc*')" ]
	end "$started"
}

# --- all

if [ $# -eq 0 ]; then
	mapfile -t all < <(declare -F | sed -n 's/^declare -f check_//p')
	set -- "${all[@]}"
fi
for check in "$@"; do "check_$check"; done
echo "$SECONDS s"
exit "$failed"
