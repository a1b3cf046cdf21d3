#!/usr/bin/env bash
# Crawls what wants more than a request: nginx with basic authentication and with a login by cookie, and the same through tinyproxy and
# microsocks; then looks for the secrets in all that a crawl leaves to be read. A host that admits signed requests alone verifies them, and
# the directory of their key, by npm packages that know nothing of us.
#
#   sites.sh         some 15 s
#   sites.sh live    also a crawl that waits for its hours, by the clock on the wall: up to a minute more
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
PATH=$PATH:/usr/sbin
install nginx nginx-light
install tinyproxy tinyproxy-bin
install microsocks microsocks
install curl curl
install npm nodejs npm
cd "$lab/../.."
work=$(mktemp -d)
chmod 755 "$work" # nginx reads as another user
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$work"
}
trap finish EXIT
build "$work/bin" ./cmd/henro
export HOME=$work # no settings of the user who runs this
port=$((20000 + RANDOM % 10000))
site=http://127.0.0.1:$port
mkdir -p "$work"/www/{private,members}
links() { for n in 1 2 3 4 5; do echo "<a href=\"$1$n.html\">$n</a>"; done; }
echo "<a href=/login>login</a> <a href=/private/>private</a>" >"$work/www/index.html"
for place in private members; do
	links "/$place/" >"$work/www/$place/index.html"
	for n in 1 2 3 4 5; do echo "$place $n" >"$work/www/$place/$n.html"; done
done
echo 'me:{PLAIN}p4ssword' >"$work/htpasswd"
cat >"$work/nginx.conf" <<CONF
daemon off;
pid $work/nginx.pid;
error_log $work/error.log;
events {}
http {
	log_format seen '\$status \$uri';
	access_log $work/access.log seen;
	types { text/html html; }
	client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3; uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
	server {
		listen 127.0.0.1:$port;
		root $work/www;
		location /private/ { auth_basic private; auth_basic_user_file $work/htpasswd; }
		location /members/ { if (\$cookie_session != "0pensesame") { return 403; } }
		location = /login {
			default_type text/html;
			add_header Set-Cookie "session=0pensesame; Path=/members; Max-Age=3600; HttpOnly";
			return 200 '<a href="/members/">members</a>';
		}
	}
}
CONF
nginx -c "$work/nginx.conf" 2>/dev/null &
pids+=($!)
echo "Port $((port + 1))
Listen 127.0.0.1
BasicAuth me pr0xypass
ConnectPort 443" >"$work/tinyproxy.conf"
tinyproxy -d -c "$work/tinyproxy.conf" >"$work/tinyproxy.log" 2>&1 &
pids+=($!)
microsocks -i 127.0.0.1 -p $((port + 2)) -u me -P pr0xypass >"$work/microsocks.log" 2>&1 &
pids+=($!)
for at in $port $((port + 1)) $((port + 2)); do
	for _ in $(seq 50); do
		if (exec 3<>"/dev/tcp/127.0.0.1/$at") 2>/dev/null; then break; fi
		sleep 0.1
	done
done

failed=0
crawl() { # NAME SEED FLAGS...
	local name=$1 seed=$2
	shift 2
	: >"$work/access.log"
	"$work/bin/henro" crawl --allow-private --delay 0 --dir "$work/$name" --listen-http off --progress off --log-level info "$@" "$seed" \
		>"$work/$name.out" 2>&1 || true
}
seen() { grep -c "^$1 $2" "$work/access.log" || true; }
check() { # WHAT GOT WANT
	if [ "$2" = "$3" ]; then echo "ok   $1"; else
		echo "FAIL $1: $2, want $3"
		failed=1
	fi
}
basic=(--basic "http://me:p4ssword@127.0.0.1:$port/private/")

crawl bare $site/
check "without a login nginx refuses" "$(seen 401 /private/) $(seen 403 /members/) $(seen 200 /private/)" "1 1 0"
crawl both $site/ "${basic[@]}" --cookies 127.0.0.1
check "basic and a cookie set on the way" "$(seen 200 /private/) $(seen 200 /members/) $(seen "40[13]" /)" "6 6 0"
crawl again $site/ "${basic[@]}" --cookies 127.0.0.1 --page-budget 2
check "the cookie outlasts leases of two pages" "$(seen 200 /private/) $(seen 200 /members/) $(seen "40[13]" /)" "6 6 0"
crawl rest $site/ "${basic[@]}" --cookies 127.0.0.1 --pages 5 --page-budget 1
first=$(seen 200 /members/)
crawl rest $site/ "${basic[@]}" --cookies 127.0.0.1
check "and a restart, which asks for no login" "$((first + $(seen 200 /members/))) $(seen 200 /login) $(seen 403 /)" "6 0 0"
curl -s -c "$work/cookies.txt" $site/login >/dev/null
crawl file $site/members/ --cookies "@$work/cookies.txt"
check "a cookie file of curl's" "$(seen 200 /members/) $(seen 200 /login) $(seen 403 /)" "6 0 0"
for kind in "http $((port + 1))" "socks5 $((port + 2))"; do
	read -r scheme at <<<"$kind"
	crawl "by-$scheme" $site/ "${basic[@]}" --cookies 127.0.0.1 --proxy "$scheme://me:pr0xypass@127.0.0.1:$at"
	check "all of it by a proxy of $scheme" "$(seen 200 /private/) $(seen 200 /members/) $(seen "40[13]" /)" "6 6 0"
done
check "tinyproxy saw it" "$(grep -c 'GET http://127.0.0.1' "$work/tinyproxy.log" | awk '{print ($1 > 10)}')" 1
crawl wrong $site/ --proxy "http://127.0.0.1:$((port + 1))" --retries 0
check "no login for the proxy is named" "$(grep -c 'the proxy wants a login' "$work/wrong.out" | awk '{print ($1 > 0)}') $(seen 200 /)" "1 0"

for name in both again rest file by-http by-socks5; do
	find "$work/$name/warc" -name '*.gz' -exec zcat {} + >"$work/$name.warc"
done
check "requests say what they leave out" "$(grep -ac '^Authorization: redacted' "$work/both.warc") $(grep -ac '^Cookie: redacted' "$work/both.warc")" "6 6"
login=$(printf 'me:p4ssword' | base64)
check "no secret in WARCs, logs, crawl.json, summary.json or what was said" \
	"$(cat "$work"/*.warc "$work"/*.out "$work"/*/logs/* "$work"/*/*.json | grep -aEc "p4ssword|pr0xypass|$login|^Cookie: session" || true)" 0

cp -r "$lab/sites" "$work/tools"
(cd "$work/tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)
(umask 077 && "$work/bin/henro" key bot >"$work/bot.key" && "$work/bin/henro" key bot >"$work/other.key")
echo 'Signature-Agent: https://bot.example.org' | tee -a "$work/bot.key" >>"$work/other.key"
"$work/bin/henro" key bot "$work/bot.key" --listen 127.0.0.1:$((port + 3)) >"$work/directory.log" &
pids+=($!)
until grep -q http "$work/directory.log"; do sleep 0.1; done
node "$work/tools/verify.mjs" $((port + 4)) http://127.0.0.1:$((port + 3)) >"$work/verified.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do
	grep -q ready "$work/verified.log" && break
	sleep 0.1
done
check "the directory of a key is signed, and names it by its thumbprint" "$(head -1 "$work/verified.log")" ready
signed=http://127.0.0.1:$((port + 4))/
verified() { grep -c "^$1 /[1-4.html]* *${2:-}" "$work/verified.log" || true; }
crawl unsigned $signed
check "without a key the host refuses" "$(verified 200) $(verified 401 agent)" "0 1"
crawl another $signed --bot-key "$work/other.key"
check "with another's key too" "$(verified 200) $(verified 401 'no signature')" "0 1"
crawl signed $signed --bot-key "$work/bot.key"
check "requests that are signed hold, robots.txt too" "$(verified 200) $(grep -c '^404 /robots.txt' "$work/verified.log")" "5 1"
check "the directory without a server is the same" "$("$work/bin/henro" key bot "$work/bot.key" | sha256sum)" \
	"$(curl -s http://127.0.0.1:$((port + 3))/.well-known/http-message-signatures-directory | sha256sum)"
check "the private key is in nothing that is shown" \
	"$(cat "$work"/*.out "$work"/signed/logs/* "$work"/signed/*.json | grep -acF "$(sed -n 2p "$work/bot.key")" || true)" 0

if [ "${1:-}" = live ]; then
	opens=$(date -u -d '+1 minute' +%H:%M)
	shuts=$(date -u -d '+3 minutes' +%H:%M)
	wait_for=$((60 - $(date +%-S)))
	: >"$work/access.log"
	"$work/bin/henro" crawl --allow-private --delay 0 --dir "$work/hours" --progress off --log-level info --window "daily $opens-$shuts UTC" $site/ \
		>"$work/hours.out" 2>&1 &
	crawl=$!
	sleep $((wait_for - 2))
	before=$(wc -l <"$work/access.log")
	wait $crawl
	check "a crawl waits for its hours" "$before $(seen 200 /login) $(grep -c 'outside the hours' "$work/hours.out")" "0 1 1"
fi
exit $failed
