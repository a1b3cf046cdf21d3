#!/usr/bin/env bash
# Attacks the built programs as a hostile page, another program of the machine or a damaged disk would, and says of each check what came
# of it. Every check is a function below; it says ok or fails by itself, with `holds TEXT CONDITION...`.
#
#   trust.sh                   all checks
#   trust.sh replay_raw ...    only those named
#   BIN=DIR trust.sh           programs are linked in DIR, and stay there
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
pids=() # of programs in the background
finish() {
	for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap finish EXIT

. "$lab/programs.sh"
install python3 python3
install curl curl
install chromium chromium
bin=$dir/bin
build "$bin" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave ./.ci/lab/fakeweb

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
			python3 "$lab/trust/live.py" 17699 http://{127.0.0.1:17690,localhost:17690,localhost:17691}/web/{2026id_,2026mp_,20260314120000}/http://evil.test/ \
			http://{2026,20260314120000}-http.evil.test.archive.localhost:17691/
		end "$started"
	done
}

check_replay_headers() {
	local url policy
	replay_up
	for url in 127.0.0.1:17690/web/2026id_/http://evil.test/ 2026-http.evil.test.archive.localhost:17691/; do
		policy=$(field content-security-policy "http://$url")
		holds "replay: http://$url, by itself, may do nothing" \
			[ "$policy" = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox" ]
	done
	url=http://127.0.0.1:17690/web/2026id_/http://evil.test/
	holds "replay: $url is a download" [ "$(field content-disposition "$url")" = attachment ]
	for name in "" evil.test localhost. 0.0.0.0; do
		for port in 17690 17691; do
			holds "replay: Host \"$name\" is refused at $port" [ "$(status "http://127.0.0.1:$port/" -H "Host;" -H "Host: $name")" = 403 ]
		done
	done
	for path in / /timemap/link/http://secret.test/ '/web/*/http://secret.test/'; do
		holds "replay: $path is not answered to another site" \
			[ "$(status "http://127.0.0.1:17690$path" -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Dest: empty')" = 403 ]
		holds "replay: $path is not where captures run" [ "$(status "http://localhost:17691$path")" = 403 ]
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
		"SELECT count(*) FROM sqlite_dbpage" "SELECT count(*) FROM pragma_database_list" "SELECT load_extension('./x')" "SELECT writefile('new.db', 'x')" "SELECT readfile('$dir/other.db')" "DROP TABLE pages" \
		"CREATE TABLE x AS SELECT * FROM pages" "SELECT * FROM sqlite_dbpage" "SELECT zeroblob(1000000000)"; do
		holds "sql: refused: $question" refused "$question"
	done
	holds "sql: a subquery with a name is counted" \
		[ "$("$bin/henro" sql --format csv "$dir/crawl" "WITH a AS (SELECT 1 UNION ALL SELECT 2) SELECT count(*) FROM a" 2>&1 | tail -n 1)" = 2 ]
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
	holds "control: 600 readers of a stream are not all taken, and it still answers" \
		python3 "$lab/trust/readers.py" 17680 '/events?of=/log' 600
	end "$started"
}
multipart() {
	mkdir -p "$dir/tmp"
	[ "$(head -c 200000000 /dev/zero | status http://127.0.0.1:17680/api/slaves/drain -F 'f=@-;filename=x')" = 415 ]
}

# Connections that ask for nothing, thousands of them at each port of a master, keep neither a browser nor a slave out.
check_idle() {
	local k=$dir/idle
	mkdir -p "$k"
	"$bin/henro" key new >"$k/key"
	background "$bin/henro-master" --dir "$k/master" --name master --key "$k/key" --gossip 127.0.0.1:17760 --actors 127.0.0.1:17761 \
		--listen-http 127.0.0.1:17762 --allow-private --contact lab@example.org --continuous http://127.0.0.1:17763/
	local all=("$started")
	answers http://127.0.0.1:17762/healthz
	background python3 "$lab/trust/idle.py" 3000 17762 17760 17761
	all+=("$started")
	for _ in $(seq 300); do grep -q answer "$dir/said" && break; sleep 0.1; done
	cat "$dir/said"
	holds "idle: 3,000 idle connections at each port, and the dashboard answers at once" grep -q ' 204 after [01]\.' "$dir/said"
	background "$bin/henro-slave" --dir "$k/slave" --name pc1 --key "$k/key" --join 127.0.0.1:17760 --gossip 127.0.0.1:17764 \
		--actors 127.0.0.1:17765 --listen-http off
	all+=("$started")
	holds "idle: and a slave comes to work" joined
	local node
	for node in "${all[@]}"; do end "$node"; done
}
joined() {
	for _ in $(seq 60); do
		curl -s --max-time 2 http://127.0.0.1:17762/api/status | grep -q '"name":"pc1"' && return
		sleep 0.5
	done
	return 1
}

# The receiver of collected files is no way in for a page whose name was made to point here.
check_collect() {
	background "$bin/henro" nodes collect --listen 127.0.0.1:17683 "$dir/collected"
	answers http://127.0.0.1:17683/
	holds "collect: a name that was made to point here is refused" \
		[ "$(status http://127.0.0.1:17683/files/a.warc -X PUT -d x -H 'Host: evil.test:17683')" = 421 ]
	holds "collect: a browser is refused" [ "$(status http://127.0.0.1:17683/files/a.warc -H 'Sec-Fetch-Site: cross-site')" = 403 ]
	holds "collect: nothing was taken" [ -z "$(find "$dir/collected" -name 'a.warc*')" ]
	end "$started"
}

# A cluster of processes changes its key while it crawls, and a node that is revoked gets nothing more.
check_keys() {
	local k=$dir/keys old new node
	mkdir -p "$k"
	background "$bin/fakeweb" --hosts 12 --pages 1500 --pareto 0 --folder "$k/web"
	local web=$started
	for _ in $(seq 100); do grep -q ready "$dir/said" && break; sleep 0.1; done
	"$bin/henro" key new >"$k/whole.key"
	# deal: every node gets what it needs of the whole key; the master has a copy of it.
	deal() {
		cp -p "$k/whole.key" "$k/master.key"
		for node in pc1 pc2; do
			"$bin/henro" key node "$node" --key "$k/whole.key" >"$k/$node.new"
			mv "$k/$node.new" "$k/$node.key"
		done
		sleep 3
	}
	for node in pc1 pc2; do "$bin/henro" key node "$node" --key "$k/whole.key" >"$k/$node.key"; done
	"$bin/henro" key token >"$k/token"
	holds "keys: keys and tokens are their owner's alone to read" \
		[ "$(stat -c %a "$k/whole.key" "$k/pc1.key" "$k/token" | sort -u)" = 600 ]
	cp -p "$k/whole.key" "$k/master.key"
	# shellcheck disable=SC2046
	"$bin/henro-master" --dir "$k/master" --name master --key "$k/master.key" --gossip 127.0.0.1:17720 --actors 127.0.0.1:17721 --allow-private \
		--delay 200ms --depth -1 --listen-http 127.0.0.1:17722 --continuous --seeds "$k/web/seeds.txt" \
		$(sed "s/^/--resolve /" "$k/web/resolve.txt") >"$k/master.log" 2>&1 &
	pids+=($!)
	local all=("$web" $!) port=17723
	for node in pc1 pc2; do
		"$bin/henro-slave" --dir "$k/$node" --name "$node" --key "$k/$node.key" --join 127.0.0.1:17720 --gossip 127.0.0.1:$port \
			--actors 127.0.0.1:$((port + 1)) --listen-http off >"$k/$node.log" 2>&1 &
		pids+=($!)
		all+=($!)
		port=$((port + 2))
	done
	holds "keys: two nodes with files of their own work" eventually "$k" pc1 pc2
	old=$("$bin/henro" key list --key "$k/whole.key" | sed -n 's/ *used//p')
	new=$("$bin/henro" key add --key "$k/whole.key")
	deal
	"$bin/henro" key use "$new" --key "$k/whole.key"
	deal
	"$bin/henro" key remove "$old" --key "$k/whole.key"
	deal
	local before
	before=$(pages_of "$k")
	sleep 4
	holds "keys: the key was changed, and pages still come ($before, $(pages_of "$k"))" [ "$(pages_of "$k")" -gt "$before" ]
	holds "keys: both nodes still work" eventually "$k" pc1 pc2
	holds "keys: no node was lost meanwhile" [ "$(grep -c 'member down' "$k/master.log")" = 0 ]
	"$bin/henro" key revoke pc2 --key "$k/master.key"
	holds "keys: a node that is revoked is lent nothing within 20 s" eventually "$k" pc1
	holds "keys: its connections are refused" grep -q 'certificate was revoked' "$k/master.log"
	"$bin/henro" key revoke pc2 --undo --key "$k/master.key"
	holds "keys: and lent again once that is taken back" eventually "$k" pc1 pc2
	for node in "${all[@]}"; do end "$node"; done
}
pages_of() { curl -s http://127.0.0.1:17722/api/status | python3 -c 'import json,sys; print(json.load(sys.stdin)["totals"]["pages"])'; }
# eventually FOLDER NODE...: these nodes, and no others, work within 40 s.
eventually() {
	local wanted="${*:2}"
	for _ in $(seq 80); do
		[ "$(curl -s http://127.0.0.1:17722/api/status | python3 -c 'import json,sys
print(*sorted(s["name"] for s in json.load(sys.stdin).get("slaves") or [] if s["leases"] > 0 and s["state"] == "working"))' 2>/dev/null)" = "$wanted" ] && return
		sleep 0.5
	done
	curl -s http://127.0.0.1:17722/api/status | head -c 1500
	tail -n 3 "$1"/*.log
	return 1
}

# --- fetching

# private LINKS FLAG...: crawls a page on loopback with these links, and leaves in $dir/connects every address that was connected
# to, but for the one by which henro learns its own (port 9).
private() {
	local link
	rm -rf "$dir/private" "$dir/links"
	mkdir -p "$dir/links"
	for link in $1; do echo "<a href=\"$link\">x</a>"; done >"$dir/links/index.html"
	background python3 -m http.server 17671 --bind 127.0.0.1 --directory "$dir/links"
	answers http://127.0.0.1:17671/
	strace -f -qq -e trace=connect -o "$dir/traced" \
		"$bin/henro" crawl --dir "$dir/private" --delay 0 --scope any --depth 1 --retries 0 --fetch-timeout 2s --listen-http off --progress off \
		--contact lab@example.org --i-own-these-hosts "${@:2}" http://127.0.0.1:17671/ >/dev/null 2>&1 || true
	end "$started"
	grep -v 'htons(9)' "$dir/traced" | sed -En 's/.*(inet_addr|AF_INET6,).*"([0-9a-f.:]+)".*/\2/p' | sort -u >"$dir/connects"
}
connected() { [ "$(tr '\n' ' ' <"$dir/connects")" = "$1" ]; }

# No link leads a crawl of private networks to a metadata service, to a link-local address or to all machines at once.
check_metadata() {
	install strace strace
	private "http://169.254.169.254/latest/ http://169.254.170.2/ http://[fd00:ec2::254]/ http://[fe80::1]/ http://100.100.100.200/
		http://168.63.129.16/ http://[::ffff:169.254.169.254]/ http://[64:ff9b::a9fe:a9fe]/ http://[2002:a9fe:a9fe::1]/ http://224.0.0.1/
		http://[ff02::1]/ http://255.255.255.255/ http://0.0.0.0:17671/ http://192.0.0.192/ http://127.0.0.2:17671/" --allow-private
	holds "metadata: --allow-private opens none of 14 addresses" connected "127.0.0.1 127.0.0.2 "
	private "http://0.0.0.0:17671/ http://224.0.0.1/" --allow-private 127.0.0.1/32 --allow-private 0.0.0.0
	holds "metadata: --allow-private ADDRESS opens what it names" connected "0.0.0.0 127.0.0.1 "
	private "http://127.0.0.2:17671/" --allow-private 127.0.0.1/32
	holds "metadata: --allow-private NETWORK opens that network only" connected "127.0.0.1 "
	private "http://127.0.0.2:17671/" --allow-private=127.0.0.0/24
	holds "metadata: --allow-private=NETWORK too" connected "127.0.0.1 127.0.0.2 "
}

# A host that closes a connection instead of answering is asked again after the interval.
check_closing() {
	background python3 "$lab/trust/closing.py" 17672 "$dir/closing.log"
	sleep 1
	"$bin/henro" crawl --dir "$dir/closing" --allow-private --delay 300ms --depth 1 --listen-http off --progress off \
		http://127.0.0.1:17672/ >/dev/null 2>&1
	end "$started"
	holds "closing: all 13 pages were answered" \
		[ "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["pages"])' "$dir/closing/summary.json")" = 13 ]
	holds "closing: no two requests are closer than 290 ms" \
		awk 'NR > 1 && $1 - last < 0.29 { print "      " $0, $1 - last; bad = 1 } { last = $1 } END { exit bad }' "$dir/closing.log"
}

# farms: crawls 30 link farms and an ordinary host for 25 s; the most memory that was not a file's, in MB.
farms() {
	local peak=0 held crawl
	rm -rf "$dir/farmed"
	# shellcheck disable=SC2046
	"$bin/henro" crawl --dir "$dir/farmed" --allow-private --delay 500ms --depth 3 --listen-http off --progress off --for 25s \
		$(seq -f 'http://127.0.1.%.0f:17701/' 30) http://127.0.2.1:17702/ >/dev/null 2>&1 &
	crawl=$!
	pids+=("$crawl")
	while held=$(awk '/RssAnon/ { print int($2 / 1024) }' "/proc/$crawl/status" 2>/dev/null) && [ -n "$held" ]; do
		[ "$held" -le "$peak" ] || peak=$held
		sleep 0.2
	done
	echo "$peak"
}

# Pages of 1.6 MB that name 16 MB of links each, at 30 hosts, do not fill the memory, and do not keep a host waiting whose pages
# are as large but ordinary. Alone it has its 17 pages in 9 s; how many come beside the farms is the machine's affair too.
check_farms() {
	local peak pages ordinary
	: >"$dir/large.log"
	background python3 "$lab/trust/large.py" 17702 "$dir/large.log"
	ordinary=$started
	background python3 "$lab/trust/farm.py" 17701 30
	answers http://127.0.1.30:17701/robots.txt
	answers http://127.0.2.1:17702/robots.txt
	peak=$(farms)
	pages=$(sort -u "$dir/large.log" | wc -l)
	holds "farms: pages of 16 MB of links cost $peak MB, at most 600" [ "$peak" -le 600 ]
	holds "farms: beside them $pages of 17 ordinary pages of 1.6 MB came in 25 s, at least 3" [ "$pages" -ge 3 ]
	end "$started"
	end "$ordinary"
}

# --- disks

# Whatever a page of the state has become, every command ends in a line.
check_damage() {
	crawl_up
	holds "damage: 15 damaged states, five commands each, end without a stack, in time and memory" \
		python3 "$lab/trust/damage.py" "$bin/henro" "$dir/crawl" 15
}

# full WHERE SIZE: crawls with a small disk there, below a mount namespace of its own; the exit code, and how long it took.
full() {
	rm -rf "$dir/full"
	mkdir -p "$dir/full/warc"
	unshare --map-root-user --mount bash -c '
		mount -t tmpfs -o "size=$2" none "$1"
		began=$(date +%s)
		"$3" crawl --dir "$4/full" --allow-private --delay 10ms --depth -1 --listen-http off --progress off \
			--seeds "$4/web/seeds.txt" $(sed "s/^/--resolve /" "$4/web/resolve.txt") >"$4/full.out" 2>&1
		echo "$? $(($(date +%s) - began))"' - "$1" "$2" "$bin/henro" "$dir"
}
# full_verb COMMAND[/FILE]: on a disk that has no room left, in a mount namespace of its own.
full_verb() {
	crawl_up
	mkdir -p "$dir/small"
	unshare --map-root-user --mount bash -c '
		mount -t tmpfs -o size=40m none "$1/small" && cp -r "$1/crawl" "$1/small/"
		cd "$1/small"
		dd if=/dev/zero of=fill bs=1k 2>/dev/null
		code=0
		case $3 in
		repair) "$2" check --repair crawl ;;
		wacz/*) "$2" wacz crawl "${3#*/}" ;;
		*) "$2" export --dir crawl "${3#*/}" ;;
		esac >/dev/null 2>&1 || code=$?
		rm fill
		[ "$code" = 3 ] && [ "$(ls -A)" = crawl ] && [ "$(ls -A crawl/state)" = "$(ls -A "$1/crawl/state")" ] &&
			"$2" check crawl >/dev/null' - "$dir" "$bin/henro" "$1"
}
ends_full() { local code took; read -r code took <<<"$1"; [ "$code" = 3 ] && [ "$took" -le 25 ]; }

# A crawl that cannot store anything any more says so within seconds, and has not asked for pages in vain.
check_full() {
	local size
	background "$bin/fakeweb" --hosts 4 --pages 62 --pareto 0 --page-bytes 20000 --folder "$dir/web"
	for _ in $(seq 100); do grep -q ready "$dir/said" && break; sleep 0.1; done
	for size in 1m 3m; do
		holds "full: a disk of $size for everything ends with exit code 3" ends_full "$(full "$dir/full" "$size")"
	done
	: >"$dir/web/access.log"
	holds "full: a disk of 1m for the archive ends with exit code 3" ends_full "$(full "$dir/full/warc" 1m)"
	end "$started"
	for kind in export/x.csv export/x.sqlite export/x.jsonl wacz/x.wacz repair; do
		holds "full: henro ${kind/\// to } on a full disk ends with exit code 3, and leaves nothing half done" full_verb "$kind"
	done
	holds "full: no page was asked for more than once" \
		[ -z "$(cut -f 4,5 "$dir/web/access.log" | grep -v robots.txt | sort | uniq -d)" ]
}

# --- check

# Damage that lies beside the state is seen, and indexes are made again.
check_check() {
	crawl_up
	local copy=$dir/damaged warc index
	fresh() {
		rm -rf "$copy"
		cp -r "$dir/crawl" "$copy"
		warc=$(ls "$copy"/warc/*.warc.gz | head -n 1)
		index=${warc%.warc.gz}.cdxj
	}
	fresh
	holds "check: a whole crawl is clean" clean "$copy"
	rm "$warc"
	holds "check: a WARC file that is gone is seen" damaged "$copy"
	fresh
	for change in 's/"offset":"/"offset":"9/' '2d' '3s/.*/garbage/' '$s/.\{30\}$//'; do
		fresh
		sed -i "$change" "$index"
		holds "check: an index changed by $change is seen" damaged "$copy"
		"$bin/henro" check --repair "$copy" >/dev/null 2>&1 || true
		holds "check: and mended" clean "$copy"
	done
	fresh
	: >"$warc"
	: >"$index"
	holds "check: pages whose captures are in no file are seen" damaged "$copy"
	fresh
	truncate -s 65536 "$copy/state/p003.db" # of 650 kB used; the rest of a file is room to grow
	holds "check: a partition that is cut off is seen" damaged "$copy"
	fresh
	truncate -s -1M "$copy/state/p003.db"
	holds "check: and one that is cut off in its room to grow" damaged "$copy"
	local kind
	for kind in flipped gone renamed doubled emptied prolonged foreign_index merged; do
		fresh
		"spoil_$kind"
		holds "check: an archive that was $kind is seen" damaged "$copy"
		"$bin/henro" check --repair "$copy" >"$dir/mended" 2>&1 || true
		holds "check: and mended: $(grep -c '^mended' "$dir/mended") words" clean "$copy"
	done
}

# mixed NAME...: puts these partitions of the first day into the state of the second.
mixed() {
	local name
	rm -rf "$dir/mixed"
	cp -r "$dir/days" "$dir/mixed"
	for name in "$@"; do cp "$dir/first/$name" "$dir/mixed/state/"; done
}
refused_in_a_line() {
	local code=0
	"$bin/henro" crawl --dir "$dir/mixed" --allow-private --listen-http off --progress off --for 5s http://127.0.0.1:1/ >"$dir/mixed.out" 2>&1 || code=$?
	[ "$code" != 0 ] && grep -q 'older than\|of another day' "$dir/mixed.out" && ! grep -q goroutine "$dir/mixed.out"
}

# The files of a state of two days are not taken for one state.
check_days() {
	local name
	background "$bin/fakeweb" --hosts 12 --pages 20 --pareto 0 --folder "$dir/daysweb"
	for _ in $(seq 100); do grep -q ready "$dir/said" && break; sleep 0.1; done
	# shellcheck disable=SC2046
	day() {
		"$bin/henro" crawl --dir "$1" --allow-private --delay 5ms --depth -1 --listen-http off --progress off --pages "$2" \
			--seeds "$dir/daysweb/seeds.txt" $(sed "s/^/--resolve /" "$dir/daysweb/resolve.txt") >/dev/null 2>&1 || true
	}
	day "$dir/days" 60
	cp -r "$dir/days/state" "$dir/first"
	cp -r "$dir/days" "$dir/other"
	day "$dir/days" 160
	day "$dir/other" 160
	for name in p000 p001 p002 p003; do
		mixed $name.db
		holds "days: $name of an earlier day is seen by check" damaged "$dir/mixed"
		holds "days: and refused by crawl, in a line" refused_in_a_line
	done
	mixed p000.db p001.db p002.db
	holds "days: three of four of an earlier day are seen" damaged "$dir/mixed"
	mixed
	cp "$dir/other/state/p001.db" "$dir/mixed/state/"
	holds "days: a partition of another continuation is seen" damaged "$dir/mixed"
	mixed
	mv "$dir/mixed/state/p001.db" "$dir/mixed/state/x"
	mv "$dir/mixed/state/p002.db" "$dir/mixed/state/p001.db"
	mv "$dir/mixed/state/x" "$dir/mixed/state/p002.db"
	holds "days: two partitions that changed places are seen" damaged "$dir/mixed"
	mixed p001.db
	"$bin/henro" check --repair "$dir/mixed" >"$dir/mended" 2>&1 || true
	holds "days: and mended: $(grep -o 'the links of [0-9]* pages' "$dir/mended")" clean "$dir/mixed"
	day "$dir/mixed" 100000
	day "$dir/days" 100000
	holds "days: a crawl that goes on has every page that one without damage has" \
		[ "$(visited "$dir/mixed")" = "$(visited "$dir/days")" ]
	mixed p000.db p001.db p002.db p003.db
	holds "days: a state that is restored as a whole is clean" clean "$dir/mixed"
	end "$started"
}
visited() { "$bin/henro" export --what pages --to csv --dir "$1" - 2>/dev/null | tail -n +2 | cut -d , -f 2,3 | sort | sha256sum; }

# Each spoils the archive of $copy, whose files are $warc and $index.
spoil_flipped() { printf 'XXXXXXXX' | dd of="$warc" bs=1 seek=700000 conv=notrunc status=none; }
spoil_gone() { rm "$warc"; }
spoil_renamed() { mv "$warc" "$copy/warc/other.warc.gz"; }
spoil_doubled() {
	cp "$warc" "$copy/warc/other.warc.gz"
	cp "$index" "$copy/warc/other.cdxj"
}
spoil_emptied() { : >"$warc"; }
spoil_prolonged() { python3 "$lab/trust/member.py" >>"$warc"; }
spoil_foreign_index() { sed 's/"filename":"/"filename":"other-/' -i "$index"; }
spoil_merged() {
	"$bin/henro" check --repair "$copy" >/dev/null
	sed -i '0,/"offset":"/s//"offset":"9/' "$copy/warc/index.cdxj"
}
clean() { "$bin/henro" check "$1" >/dev/null 2>&1; }
damaged() {
	local code=0
	"$bin/henro" check "$1" >/dev/null 2>&1 || code=$?
	[ "$code" = 4 ]
}

# --- all

if [ $# -eq 0 ]; then
	mapfile -t all < <(declare -F | sed -n 's/^declare -f check_//p')
	set -- "${all[@]}"
fi
for check in "$@"; do "check_$check"; done
echo "$SECONDS s"
exit "$failed"
