#!/usr/bin/env bash
# How fast henro crawls with everything durable, beside a plain net/http loop over the same sites in the same run, in turns, and beside the
# ceiling: a loop tuned for speed that archives.
#
#   bench.sh [ROUNDS] [DIR]
#   LARGE=1                    16 sites instead of 9 (docs.sh)
#   BEFORE=DIR                 programs of another commit, measured in turns with these
#   WITH="--topic FILE"        these programs with more flags, measured in turns with those without
#
# Prints a line a run and the medians. Ratios of neighbours are what counts: machines differ, and so do their moments.
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
rounds=${1:-5}
dir=${2:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
finish() {
	"$lab/docs.sh" down "$dir/sites" || true
	[ -n "${2:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
cd "$root"
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/loop
PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/sites"
mapfile -t flags <"$dir/sites/flags.txt"

measure() { python3 "$lab/measure.py" run "$@" | tee -a "$dir/bench.tsv"; }
crawl() { # NAME FOLDER FLAG…
	rm -rf "$dir/crawl"
	measure "$1" "$2/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --depth -1 --seeds "$dir/sites/seeds.txt" \
		"${flags[@]}" --log-level warn --listen-http off --progress off "${@:3}"
}

printf 'what\tpages\tseconds\tpages/s\tus/page\tpeak MB\twritten/page\n' | tee "$dir/bench.tsv"
for round in $(seq "$rounds"); do
	measure loop "$dir/bin/loop" "$dir/sites"
	measure ceiling "$dir/bin/loop" -ceiling "$dir/ceiling.warc.gz" "$dir/sites"
	((round % 2)) || [ -z "${BEFORE:-}" ] || crawl before "$BEFORE" # who is second is mostly faster
	crawl henro "$dir/bin"
	((round % 2 == 0)) || [ -z "${BEFORE:-}" ] || crawl before "$BEFORE"
	# shellcheck disable=SC2086 # several flags
	[ -z "${WITH:-}" ] || crawl with "$dir/bin" $WITH
done
python3 "$lab/measure.py" medians "$dir/bench.tsv"
