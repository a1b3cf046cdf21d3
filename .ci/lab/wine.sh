#!/usr/bin/env bash
# The Windows programs under Wine: a crawl of a made-up web is killed and resumed, and must come to the pages and the bytes that the
# Linux programs come to; the slave is installed as a service, started, crawls for a master, and is removed.
#
#   wine.sh [DIST]         DIST: a release that was made already (go run -C .ci/release . DIST)
#
# Needs root for apt-get: wine, and binutils for Windows. docs/measured/release.md says what Wine cannot show.
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
dir=$(mktemp -d)
export WINEPREFIX=$dir/prefix WINEDEBUG=-all
c=$WINEPREFIX/drive_c
jobs=()
finish() {
	code=$?
	[ "$code" -eq 0 ] || tail -n 20 "$dir"/*.log "$c"/*/logs/*.log 2>/dev/null || true
	kill "${jobs[@]}" 2>/dev/null || true
	wineserver -k 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
# shellcheck source=programs.sh
. "$lab/programs.sh"
install wine wine wine64
install x86_64-w64-mingw32-as binutils-mingw-w64-x86-64
cd "$root"
said() { printf '%-10s %s\n' "$1" "$2"; }
wait_for() { # SECONDS COMMAND…
	local until=$((SECONDS + $1))
	shift
	until "$@"; do
		if [ "$SECONDS" -ge "$until" ]; then
			echo "waited in vain for: $*"
			return 1
		fi
		sleep 0.2
	done
}

go build -o "$dir/" ./cmd/... ./.ci/lab/fakeweb
if [ -n "${1:-}" ]; then
	unzip -q -j "$1"/henro-*-windows-amd64.zip '*.exe' -d "$dir"
else
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -trimpath -ldflags '-s -w' -o "$dir/" ./cmd/...
fi
wineboot -i 2>"$dir/wineboot.log"
if [ ! -e /usr/lib/x86_64-linux-gnu/wine/x86_64-windows/bcryptprimitives.dll ]; then # before Wine 9
	x86_64-w64-mingw32-as -o "$dir/prng.o" "$lab/wine/bcryptprimitives.s"
	x86_64-w64-mingw32-ld -shared -e 0 -o "$c/windows/system32/bcryptprimitives.dll" "$dir/prng.o"
fi
said wine "$(wine --version), $(wine "$dir/henro.exe" version | tr -d '\r')"

"$dir/fakeweb" --hosts 5 --pages 60 --pareto 0 --degree 6 --folder "$dir/web" >"$dir/web.log" &
jobs+=($!)
wait_for 20 grep -q ready "$dir/web.log"
mapfile -t resolve < <(sed 's/^/--resolve=/' "$dir/web/resolve.txt")
flags=(--allow-private --delay 300ms --depth -1 --seeds "$dir/web/seeds.txt" "${resolve[@]}" --listen-http off)

"$dir/henro" crawl --dir "$dir/linux" "${flags[@]}" >"$dir/linux.log" 2>&1
pages_of() { "$dir/henro" export --dir "$1" --what pages --to tsv - 2>/dev/null | cut -f 2,3,11 | sort; }

wine "$dir/henro.exe" crawl --dir 'C:\crawl' "${flags[@]}" >"$dir/wine.log" 2>&1 &
crawl=$!
wait_for 120 grep -q ^running: "$dir/wine.log" # ten seconds after its begin
kill -KILL "$crawl"
wait "$crawl" 2>/dev/null || true
wine "$dir/henro.exe" crawl --dir 'C:\crawl' --allow-private --delay 300ms --depth -1 "${resolve[@]}" --listen-http off >"$dir/resumed.log" 2>&1
diff <(pages_of "$dir/linux") <(pages_of "$c/crawl") >"$dir/diff" || {
	head "$dir/diff"
	exit 1
}
"$dir/henro" check "$c/crawl" >"$dir/check.log" 2>&1
said crawl "killed after $(grep -o "[0-9]* pages" "$dir/wine.log" | head -1), resumed without its seeds: the $(pages_of "$c/crawl" | wc -l) pages and digests of the Linux program; henro check finds no fault"

# Go asks a UDP socket for SIO_UDP_NETRESET, which Wine 8 does not know: this one program is built without the question.
goroot=$(go env GOROOT)
sed 's/err = syscall.WSAIoctl(fd.pfd.Sysfd, windows.SIO_UDP_NETRESET, .*/err = nil/' "$goroot/src/net/fd_windows.go" >"$dir/fd_windows.go"
printf '{"Replace": {"%s/src/net/fd_windows.go": "%s/fd_windows.go"}}' "$goroot" "$dir" >"$dir/overlay.json"
CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -trimpath -overlay "$dir/overlay.json" -ldflags '-s -w' -o "$c/henro/" ./cmd/henro-slave
"$dir/henro-master" --dir "$dir/master" --name master "${flags[@]}" >"$dir/master.json" 2>"$dir/master.log" &
jobs+=($!)
wine sc.exe create henro-slave binPath= 'C:\henro\henro-slave.exe --dir C:\slave --name windows --join 127.0.0.1:7781' >"$dir/service.log" 2>&1
wine sc.exe failure henro-slave reset= 86400 actions= restart/5000/restart/5000/restart/60000 >>"$dir/service.log" 2>&1
# Wine 8's manager of services starts it, does not learn that it runs, and ends it after some ten seconds.
wine net.exe start henro-slave >>"$dir/service.log" 2>&1 || true
wait_for 60 grep -q welcomed "$c/slave/logs/henro-slave.log"
archived() { cat "$c"/slave/warc/*.cdxj* 2>/dev/null | wc -l; }
at_least() { [ "$(archived)" -ge "$1" ]; }
wait_for 60 at_least 20
state=$(wine sc.exe query henro-slave 2>/dev/null | tr -d '\r' | awk '/STATE/ {print $4}')
wine sc.exe stop henro-slave >>"$dir/service.log" 2>&1 || true # where it does not run any more
wine sc.exe delete henro-slave >>"$dir/service.log" 2>&1
said service "installed, started by the manager of services, welcomed by a master outside of Wine, $(archived) captures archived; its state was ${state:-not told}; removed"
