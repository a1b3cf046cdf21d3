#!/usr/bin/env bash
# Crawls sites whose pages scripts make, built with current frameworks from npm, beside static ones, and lets Chromium judge: each page is
# opened live and in henro replay. The servers' log says whether a crawl went where it may not, asked twice or too early.
#
#   living.sh              three sites that need little of npm, some two minutes
#   living.sh all          23 sites, and one of 2,000 pages; some fifteen minutes, and 400 MB of packages
#   living.sh big          the large site alone: what share is rendered, and pages/s of all ways
#   living.sh soak [MINUTES]  every page of the large site rendered at a request a second, for an hour: memory and processor
#   living.sh kill         three sites, while Chromium and henro are killed in the middle and go on
#   living.sh NAME…        these sites: see living/make.mjs
#
# BROWSER=off,auto         ways of crawling (three: off; the large site: all too)
# PAGES=20                 of a site that are compared (three: 6)
# BIG=2000                 pages of the large site
# SLAVES=3                 with a master and so many slaves, each with a Chromium of its own
# SOME=300                 of these that --browser all visits: its pages/s do not depend on how many there are
# BARS=off                 what is missed is no failure
# CACHE=FOLDER             for packages and sites, which are made anew only when what makes them has changed
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
install npm nodejs npm
install chromium chromium
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/henro-living}
port=${PORT:-8480}
large= soak=
case ${1:-three} in
three) set -- react cors manual && PAGES=${PAGES:-6} BROWSER=${BROWSER:-off} ;;
all)
	set -- vitepress starlight docsify hash swagger redoc react vue scroll shadow cors total fragments tried worker lot parts sight frames closed manual blog menu
	large=${BIG:-2000}
	;;
soak) soak=${2:-60} && set -- && large=${BIG:-2000} ;;
big) set -- && large=${BIG:-2000} ;;
kill) set -- vitepress react manual && PAGES=${PAGES:-6} BROWSER=${BROWSER:-auto} KILL=-kill ;;
esac

# what of npm the sites need; three sites need esbuild and React alone
lock=$(cat "$lab"/living/package*.json | sha256sum | cut -c 1-16)
needed=all
[ "$*" != 'react cors manual' ] || needed=few
modules=$cache/$needed-$lock
[ "$needed" = all ] || [ ! -e "$cache/all-$lock/.done" ] || modules=$cache/all-$lock
if [ ! -e "$modules/.done" ]; then
	mkdir -p "$modules"
	cp "$lab"/living/package*.json "$modules"
	if [ "$needed" = few ]; then # at the versions of package.json
		rm "$modules/package-lock.json"
		sed -i '/"\(esbuild\|react\|react-dom\|react-router\)":/!{/^    "/d}; s/"react-router": \(.*\),/"react-router": \1/' "$modules/package.json"
	fi
	how=ci
	[ "$needed" = all ] || how=install
	if ! (cd "$modules" && nice -n 5 npm "$how" --silent --no-fund --no-audit --ignore-scripts); then
		echo 'npm cannot install what the sites are made with: is its registry reached from here? NOTHING WAS JUDGED.'
		exit 2
	fi
	touch "$modules/.done"
fi

# made NAME…: the folder with the sites
made() {
	local key sites
	key=$(cat "$lab/living/make.mjs" <(echo "$lock $port ${large:-} $*") | sha256sum | cut -c 1-16)
	sites=$cache/sites-$key
	if [ ! -e "$sites/.done" ]; then
		mkdir -p "$sites"
		nice -n 5 node "$lab/living/make.mjs" "$modules" "$sites" "$port" "${large:-0}" "$@" >&2
		touch "$sites/.done"
	fi
	echo "$sites"
}

cd "$lab/../.."
build "$dir/bin" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave ./.ci/lab/living
failed=0
judge() { # FOLDER FLAGS…
	local sites=$1
	shift
	mkdir -p "$dir/run"
	"$dir/bin/living" -dir "$dir/run" -henro "$dir/bin/henro" -sites "$sites" -port "$port" -bars "${BARS:-on}" -slaves "${SLAVES:-0}" "$@" || failed=1
	rm -rf "$dir/run"
}
if [ $# -gt 0 ]; then
	small=$large large=
	sites=$(made "$@")
	large=$small
	judge "$sites" -browser "${BROWSER:-off,auto}" -pages "${PAGES:-20}" ${KILL:+"$KILL"}
fi
if [ -n "$large" ]; then # as fast as it goes, in all ways
	sites=$(made big)
	if [ -n "$soak" ]; then
		judge "$sites" -browser "${BROWSER:-all}" -delay "${DELAY:-1s}" -soak "${soak}m"
		exit $failed
	fi
	judge "$sites" -browser "${BROWSER:-off,auto,all}" -pages "${PAGES:-20}" -delay 0 -limit 30m -some "${SOME:-300}"
fi
exit $failed
