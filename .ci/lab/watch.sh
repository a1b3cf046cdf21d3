#!/usr/bin/env bash
# Whether changes that matter are told from noise: pages of Debian's documentation packages in two versions, with fifteen kinds of made noise.
#
#   watch.sh [DIR] [FLAG...]     packages are unpacked into DIR, once; flags are those of go run ./.ci/lab/watch
#
#   watch.sh live [PAGES SECONDS KILLS]     henro watch over pages that change, killed and started again: live.py
#   watch.sh receivers     who is told hangs, refuses, fails and comes back: receivers.py
#   watch.sh gather [CHANGES]     10,000 changes at once, to receivers with faults: gather.py
#   watch.sh relief [SECONDS]     whether noise raises the request rate of a page, with --relief news and without: relief.py
#   watch.sh masters [PAGES SECONDS KILLS SLAVES]     three masters, any node killed and started again: masters.py
#
# Packages are downloaded with apt-get and unpacked, not installed: the oldest and the newest version that the lists of packages have.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
if [ "${1:-}" = live ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	install python3 python3
	build "$dir/bin" ./cmd/henro
	python3 "$lab/watch/live.py" "$dir/bin/henro" "$dir/live" "${@:2}"
	exit
fi
if [ "${1:-}" = receivers ] || [ "${1:-}" = gather ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	install python3 python3
	/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || packages install -y -qq --no-install-recommends python3-aiosmtpd
	build "$dir/bin" ./cmd/henro
	if [ "$1" = gather ]; then
		python3 "$lab/watch/gather.py" "$dir/bin/henro" "$dir/gather" "${PORT:-18620}" "${@:2}"
		exit
	fi
	# Gotify's server, built from its module; the pages that people see are not in that.
	gotify=${GOTIFY:-$dir/gotify}
	if [ ! -x "$gotify" ]; then
		from=$(GOFLAGS='' go mod download -json github.com/gotify/server/v2@v2.6.1 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
		cp -r "$from" "$dir/server" && chmod -R u+w "$dir/server"
		mkdir -p "$dir/server/ui/build/static"
		for page in index.html manifest.json asset-manifest.json static/none; do echo none >"$dir/server/ui/build/$page"; done
		(cd "$dir/server" && CGO_ENABLED=1 GOFLAGS=-trimpath go build -ldflags='-w -X main.Mode=prod' -o "$gotify" .)
	fi
	python3 "$lab/watch/receivers.py" "$dir/bin/henro" "$dir/receivers" "${PORT:-18600}" "$gotify" "${@:2}"
	exit
fi
if [ "${1:-}" = relief ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	install python3 python3
	build "$dir/bin" ./cmd/henro
	python3 "$lab/watch/relief.py" "$dir/bin/henro" "$dir/relief" "${@:2}"
	exit
fi
if [ "${1:-}" = masters ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	install python3 python3
	build "$dir/bin" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave
	python3 "$lab/watch/masters.py" "$dir/bin" "$dir/masters" "${@:2}"
	exit
fi
dir=${1:-$(mktemp -d)}
[ $# = 0 ] || shift
mkdir -p "$dir/packages"
# unpacked PACKAGE VERSION: the folder of a package in one version
unpacked() {
	local to=$dir/${1}_$2
	if [ ! -d "$to" ]; then
		(cd "$dir/packages" && packages download -q "$1=$2")
		mkdir "$to.new"
		dpkg-deb -x "$dir/packages/$1_${2//:/%3a}"_*.deb "$to.new"
		mv "$to.new" "$to"
	fi
	echo "$to/usr/share/doc/$3"
}
versions() { apt-cache madison "$1" | grep Packages | cut -d'|' -f2 | tr -d ' ' | sort -uV; }
pairs=()
while read -r package folder next next_folder; do
	old=$(versions "$package" | head -1) new=$(versions "$package" | tail -1)
	[ -n "$old" ] || { echo "$package: no version is known; apt-get update" >&2; continue; }
	[ "$old" = "$new" ] || pairs+=("$(unpacked "$package" "$old" "$folder")=$(unpacked "$package" "$new" "$folder")")
	[ -z "$next" ] || pairs+=("$(unpacked "$package" "$new" "$folder")=$(unpacked "$next" "$(versions "$next" | tail -1)" "$next_folder")")
done <<'LIST'
apache2-doc apache2-doc/manual
dpdk-doc .
linux-doc-6.1 linux-doc-6.1/html linux-doc-6.12 linux-doc-6.12/html
postgresql-doc-15 .
LIST
cd "$lab/../.." && go run ./.ci/lab/watch "$@" "${pairs[@]}"
