#!/usr/bin/env bash
# The documents as a site, with every link of it followed by henro itself: docs/examples/linkcheck crawls it.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
jobs=()
finish() {
	kill "${jobs[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
go run -C .ci/site . "$dir/site"
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/site" 0 >"$dir/served" 2>/dev/null &
jobs+=($!)
until grep -q port "$dir/served"; do sleep 0.1; done
go run ./docs/examples/linkcheck -local -dir "$dir/crawl" "$(grep -o 'http://[^)]*' "$dir/served")" >"$dir/said" || {
	cat "$dir/said"
	exit 1
}
echo "site       $(find "$dir/site" -name '*.html' | wc -l) pages, $(find "$dir/site" -name '*.png' -o -name '*.svg' | wc -l) pictures; henro says: $(tail -1 "$dir/said")"
