#!/usr/bin/env bash
# How fast henro crawls servers as the public web has them, beside the plain loop and the ceiling in the same conditions, in turns: TLS 1.3,
# HTTP/2, pages of 240 kB in the mean, connections closed after each answer. Then what each stage of such a page costs.
#
#   tls.sh [ROUNDS] [PAGES]
#   BEFORE=DIR                 programs of another commit, measured in turns with these
#
# The pages are text of the documentation sites of docs.sh, put together, on 8 hosts, with links among themselves alone.
set -euo pipefail
export HENRO_REQUISITES=off
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
rounds=${1:-3} pages=${2:-800}
dir=$(mktemp -d)
finish() {
	"$lab/docs.sh" down "$dir/sites" || true
	rm -rf "$dir"
}
trap finish EXIT
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/loop
PORT=${PORT:-8080} "$lab/docs.sh" up "$dir/sites" # unpacks them
"$lab/docs.sh" down "$dir/sites"
MORE=$(
	python3 - "$dir" "$pages" <<'PAGES'
import glob, os, random, re, sys
dir, pages = sys.argv[1], int(sys.argv[2])
draw = random.Random(1)
files = sorted(f for f in glob.glob(dir + "/sites/sites/**/*.html", recursive=True) if os.path.isfile(f))
for host in range(8):
    folder = f"{dir}/large{host}"
    os.makedirs(folder)
    mine = pages // 8
    for page in range(mine):
        size, parts = draw.expovariate(1 / 232_000), []  # the last part goes beyond it
        while size > 0:
            text = open(draw.choice(files), "rb").read(400_000)
            parts.append(re.sub(rb"(?i)\b(href|src)=", b"data-to=", text))
            size -= len(text)
        links = "".join(f"<a href=p{to}.html>{to}</a>\n" for to in {2 * page + 1, 2 * page + 2, *draw.sample(range(mine), 16)} if to < mine)
        with open(f"{folder}/p{page}.html", "wb") as f:
            f.write(b"<!doctype html><meta charset=utf-8><title>%d</title><body>" % page + links.encode() + b"".join(parts))
    print(f"large{host} {folder}")
PAGES
)
export MORE
echo "$(find "$dir"/large* -name '*.html' | wc -l) pages, $(du -cb "$dir"/large* | tail -1 | cut -f1) bytes"
PORT=${PORT:-8080} TLS=1 "$lab/docs.sh" up "$dir/sites"
grep ^large "$dir/sites/hosts.tsv" | while IFS=$'\t' read -r name _ port _; do echo "https://$name:$port/p0.html"; done >"$dir/sites/seeds.txt"
mapfile -t flags <"$dir/sites/flags.txt"
measure() { python3 "$lab/measure.py" run "$@" | tee -a "$dir/bench.tsv"; }
crawl() { # NAME FOLDER FLAG…
	rm -rf "$dir/crawl"
	measure "$1" "$2/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --seeds "$dir/sites/seeds.txt" "${flags[@]}" \
		--log-level error --progress off "${@:3}"
}

printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\n' | tee "$dir/bench.tsv"
for _ in $(seq "$rounds"); do
	measure loop "$dir/bin/loop" "$dir/sites"
	measure ceiling "$dir/bin/loop" -ceiling "$dir/ceiling.warc.gz" "$dir/sites"
	crawl henro "$dir/bin" --listen-http off
	[ -z "${BEFORE:-}" ] || crawl before "$BEFORE" --listen-http off
done
python3 "$lab/measure.py" medians "$dir/bench.tsv"
(sleep 1 && curl -sSf -o "$dir/profile" "http://127.0.0.1:17780/debug/pprof/profile?seconds=${SECONDS_OF_PROFILE:-3}") &
crawl henro "$dir/bin" --listen-http 127.0.0.1:17780
wait $!
python3 "$lab/stages.py" "$dir/profile" "$dir/bin/henro" "$(tail -1 "$dir/bench.tsv" | cut -f5)"
