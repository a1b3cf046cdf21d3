#!/usr/bin/env bash
# How many objects a second henro archives of whole pages, beside wget -p --warc-file and beside a plain net/http loop over
# the URLs that henro fetches, in turns: of documentation sites, and of a site of small images.
#
#   whole.sh [ROUNDS] [DIR]
#   HOSTS="git policy"         only these sites; default: all nine
#   SMALL=20000                images of 1 to 4 kB
#   BEFORE=DIR                 programs of another commit, measured in turns with these
#
# Prints a line a run and the medians; what counts is ratios of neighbours. The loop finds the links of pages, as bench.sh
# has it, and keeps nothing; wget follows links and requisites within each host, one request after another.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-3}
dir=${2:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
finish() {
	"$lab/docs.sh" down "$dir/sites" || true
	[ -n "${2:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
. "$lab/programs.sh"
install wget wget
cd "$lab/../.."
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/loop
rm -rf "$dir/small"
python3 - "$dir/small" "${SMALL:-20000}" <<'SMALL'
import os, random, sys
folder, n = sys.argv[1], int(sys.argv[2])
draw = random.Random(1)
os.makedirs(folder)
for page in range(0, n, 100):
    images = [f"{i}.png" for i in range(page, min(page + 100, n))]
    for name in images:
        open(f"{folder}/{name}", "wb").write(b"\x89PNG\r\n\x1a\n" + draw.randbytes(draw.randrange(1000, 4000)))
    body = "".join(f"<img src={name}>" for name in images)
    open(f"{folder}/p{page}.html", "w").write(f"<title>{page}</title><a href=p{page + 100}.html>next</a>{body}")
SMALL
MORE="small $dir/small" PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/sites"
mapfile -t flags <"$dir/sites/flags.txt"
echo "http://small.docs.test:${PORT:-8080}/p0.html" >"$dir/small.seeds"
of=$(echo "${HOSTS:-.}" | tr ' ' '|')
grep -E "//($of)" "$dir/sites/seeds.txt" >"$dir/docs.seeds"

measure() { python3 "$lab/measure.py" run "$@" | tee -a "$tsv"; }
crawl() { # FOLDER
	rm -rf "$dir/crawl"
	"$1/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --seeds "$dir/$what.seeds" "${flags[@]}" \
		--log-level error --listen-http off --progress off
}
mirror() { # wget resolves no names of ours: each host is asked by its address
	rm -rf "$dir/wget"
	mkdir "$dir/wget"
	wget -nv -o "$dir/wget/log" -P "$dir/wget/files" -r -l inf -p -e robots=off --warc-file="$dir/wget/w" -i "$dir/$what.addresses" ||
		[ $? -eq 8 ] # some answers were errors
	echo "urls=$(grep -c -- ' -> ' "$dir/wget/log")"
}
export -f crawl mirror
export dir flags_text="${flags[*]}"
for what in docs small; do
	export what
	tsv=$dir/$what.tsv
	echo "--- $what"
	printf 'what\tobjects\tseconds\tobjects/s\tus/object\tpeak MB\twritten/object\n' | tee "$tsv"
	crawl "$dir/bin" >"$dir/first" # not measured: it says which URLs there are, and warms the caches of the machine
	python3 - "$dir/crawl/warc/index.cdxj" >"$dir/$what.urls" <<'URLS'
import json, sys
print("\n".join(sorted({json.loads(line[line.index(" {"):])["url"] for line in open(sys.argv[1]) if '"url":"http' in line})))
URLS
	awk -F'\t' 'NR==FNR { of[$1] = $2; next } { for (name in of) sub("//" name ":", "//" of[name] ":"); print }' \
		"$dir/sites/hosts.tsv" "$dir/$what.seeds" >"$dir/$what.addresses"
	before() { [ -z "${BEFORE:-}" ] || measure before bash -c 'flags=($flags_text); crawl "$BEFORE"'; }
	for round in $(seq "$rounds"); do
		measure loop "$dir/bin/loop" -urls "$dir/$what.urls" "$dir/sites"
		((round % 2)) || before # who is second is mostly faster
		measure henro bash -c 'flags=($flags_text); crawl "$dir/bin"'
		((round % 2 == 0)) || before
		measure wget bash -c mirror
	done
	python3 "$lab/measure.py" medians "$tsv"
done
