#!/usr/bin/env bash
# Serves real sites on loopback: the HTML of Debian documentation packages, one virtual host each, by an nginx of its own.
#
#   docs.sh up DIR     unpacks the packages into DIR/sites (once), writes DIR/seeds.txt, hosts.tsv, flags.txt and nginx.conf, starts nginx
#   docs.sh down DIR   stops that nginx, and nothing else
#   docs.sh logs DIR   empties the access logs, for the next measurement
#
# Packages are downloaded with apt-get and unpacked, not installed: nothing outside DIR changes and root is not needed. Each
# virtual host has its own address 127.0.0.x, port $PORT (8080), and access log DIR/logs/HOST.log with the columns
# msec, request_time, status, method, scheme://host:port, URI, bytes, user agent. GZIP=on makes nginx compress, and so send chunks;
# FORGETFUL="git sqlite" makes those two send every page whole, however often they are asked. MORE="NAME FOLDER", one a line, serves
# more folders as NAME.docs.test, with no seed. TLS=1 serves all over TLS 1.3 with HTTP/2, by a certificate that no authority has signed, and
# closes each connection after its first answer. LARGE=1 serves seven larger sites too: 16 with 51,000 files of HTML, 190 MB to download.
# DIR/flags.txt holds the --resolve flags for henro, one a line; DIR/hosts.tsv host, address, port, folder.
set -euo pipefail
. "$(dirname "$0")/programs.sh"

# host, package, folder in it, seeds under the host ("*" stands for every folder).
sites='
apache    apache2-doc       usr/share/doc/apache2-doc/manual          /
boost     libboost1.74-doc  usr/share/doc/libboost1.74-doc/doc        /html/index.html
django    python-django-doc usr/share/doc/python-django-doc/html      /
git       git-doc           usr/share/doc/git-doc                     /
handbook  debian-handbook   usr/share/doc/debian-handbook/html        /*/
policy    debian-policy     usr/share/doc/debian-policy/policy.html   /
postgres  postgresql-doc-15 usr/share/doc/postgresql-doc-15/html      /
python    python3.11-doc    usr/share/doc/python3.11/html             /
sqlite    sqlite3-doc       usr/share/doc/sqlite3                     /
'
[ -z "${LARGE:-}" ] || sites+='
ghc       ghc-doc           usr/share/doc/ghc-doc/html                /
gtk       libgtk-4-doc      usr/share/doc/libgtk-4-doc                /*/
java      openjdk-17-doc    usr/share/doc/openjdk-17-jre-headless     /api/
linux     linux-doc-6.1     usr/share/doc/linux-doc-6.1/html          /
pandas    python-pandas-doc usr/share/doc/python-pandas-doc/html      /
scipy     python-scipy-doc  usr/share/doc/python-scipy-doc/html       /
stdcpp    libstdc++-12-doc  usr/share/doc/gcc-12-base/libstdc++       /user/
'
port=${PORT:-8080}

die() { echo "docs.sh: $*" >&2; exit 2; }

unpack() { # package folder
	[ -e "$2/.unpacked" ] && return
	mkdir -p "$2" "$dir/packages"
	(cd "$dir/packages" && { ls "$1"_*.deb >/dev/null 2>&1 || packages download -q "$1"; }) || die "cannot download $1"
	dpkg-deb -x "$dir/packages/$1"_*.deb "$2"
	touch "$2/.unpacked"
}

# host NAME FOLDER: a virtual host at the next address.
host() {
	name=$1.docs.test address=127.0.0.$((++number))
	printf '%s\t%s\t%s\t%s\n' "$name" "$address" "$port" "$2" >>"$dir/hosts.tsv"
	echo "--resolve=$name:$port:$address" >>"$dir/flags.txt"
	validators=
	case " ${FORGETFUL:-} " in *" $1 "*) validators="etag off; if_modified_since off;" ;; esac
	servers+="
	server {
		listen $address:$port${TLS:+ ssl http2};
		server_name $name;
		root $2;
		$validators
		access_log $dir/logs/$name.log lab;
	}"
}

up() {
	mkdir -p "$dir/logs" "$dir/tmp"
	[ -e "$dir/nginx.pid" ] && kill -0 "$(cat "$dir/nginx.pid")" 2>/dev/null && die "nginx of $dir is running"
	nginx=$(command -v nginx || true)
	if [ -z "$nginx" ]; then
		unpack nginx "$dir/nginx"
		nginx=$dir/nginx/usr/sbin/nginx
	fi
	: >"$dir/seeds.txt"; : >"$dir/hosts.tsv"; : >"$dir/flags.txt"
	servers="" number=10
	while read -r host package folder seeds; do
		[ -n "$host" ] || continue
		unpack "$package" "$dir/sites/$package"
		root=$dir/sites/$package/$folder name=$host.docs.test
		[ -d "$root" ] || die "$package has no folder $folder"
		case $seeds in
		'/*/') for d in "$root"/*/; do d=${d%/}; echo "http://$name:$port/${d##*/}/"; done ;;
		*) echo "http://$name:$port$seeds" ;;
		esac >>"$dir/seeds.txt"
		host "$host" "$root"
	done <<<"$sites"
	while read -r name folder; do
		[ -z "$name" ] || host "$name" "$folder"
	done <<<"${MORE:-}"
	tls="keepalive_requests 100000;"
	if [ -n "${TLS:-}" ]; then
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=docs.test \
			-addext subjectAltName=DNS:*.docs.test -keyout "$dir/tls.key" -out "$dir/tls.crt" 2>/dev/null
		tls="keepalive_requests 1; ssl_protocols TLSv1.3; ssl_session_cache shared:lab:10m;
	ssl_certificate $dir/tls.crt; ssl_certificate_key $dir/tls.key;"
	fi
	cache=$(($(ulimit -Sn) > 21000 ? 20000 : $(ulimit -Sn) - 1000)) # files; the others are connections and logs
	user="" # nginx would give up root's rights, and with them the way to DIR
	[ "$(id -u)" = 0 ] && user="user root; "
	cat >"$dir/nginx.conf" <<CONF
${user}daemon on;
pid $dir/nginx.pid;
error_log $dir/logs/error.log;
worker_processes ${WORKERS:-2};
events { worker_connections 4096; }
http {
	types {
		text/html html htm; text/css css; text/plain txt; application/javascript js; image/png png; image/gif gif;
		image/jpeg jpg jpeg; image/svg+xml svg; application/pdf pdf; application/xml xml;
	}
	default_type application/octet-stream;
	log_format lab '\$msec\t\$request_time\t\$status\t\$request_method\t\$scheme://\$http_host\t\$request_uri\t\$bytes_sent\t\$http_user_agent';
	sendfile on;
	tcp_nopush on;
	$tls
	open_file_cache max=$cache inactive=10m;
	open_file_cache_valid 10m;
	gzip ${GZIP:-off};
	gzip_types text/plain text/css;
	client_body_temp_path $dir/tmp/body; proxy_temp_path $dir/tmp/proxy; fastcgi_temp_path $dir/tmp/fastcgi;
	uwsgi_temp_path $dir/tmp/uwsgi; scgi_temp_path $dir/tmp/scgi;
$servers
}
CONF
	"$nginx" -p "$dir" -c "$dir/nginx.conf" -e "$dir/logs/error.log"
	echo "$(wc -l <"$dir/hosts.tsv") hosts, $(wc -l <"$dir/seeds.txt") seeds, $(find "$dir/sites" -name '*.html' | wc -l) HTML files on port $port"
}

down() {
	[ -e "$dir/nginx.pid" ] || return 0
	pid=$(cat "$dir/nginx.pid")
	kill "$pid" 2>/dev/null || true
	for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.1; done
	die "nginx $pid does not end"
}

[ $# -eq 2 ] || die "usage: docs.sh up|down|logs DIR"
mkdir -p "$2"
dir=$(cd "$2" && pwd)
case $1 in
up) up ;;
down) down ;;
logs) for log in "$dir"/logs/*.log; do : >"$log"; done ;;
*) die "usage: docs.sh up|down|logs DIR" ;;
esac
