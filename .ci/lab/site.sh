#!/usr/bin/env bash
# The documents as a site, with every link of it followed by henro itself (docs/examples/linkcheck crawls it), and every page opened in
# Chromium from the folder: site/main.go says what must hold there. Chromium and npm are installed if they are missing; axe-core judges
# whether everybody can use the pages.
#
#   site.sh
#   SCREENSHOTS=DIR site.sh    leaves pictures of some pages there
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
cd "$lab/../.."
dir=$(mktemp -d)
jobs=()
finish() {
	kill "${jobs[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
# shellcheck source=programs.sh
. "$lab/programs.sh"
install chromium chromium
install npm nodejs npm
go run -C .ci/site . "$dir/site"
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/site" 0 >"$dir/served" 2>/dev/null &
jobs+=($!)
until grep -q port "$dir/served"; do sleep 0.1; done
go run ./docs/examples/linkcheck -local -dir "$dir/crawl" "$(grep -o 'http://[^)]*' "$dir/served")" >"$dir/said" || {
	cat "$dir/said"
	exit 1
}
echo "site       $(find "$dir/site" -name '*.html' | wc -l) pages, $(find "$dir/site" -name '*.png' -o -name '*.svg' | wc -l) pictures; henro says: $(tail -1 "$dir/said")"
(cd "$dir" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock axe-core@4.11)
looked=$(go run ./.ci/lab/site -axe "$dir/node_modules/axe-core/axe.min.js" -screenshots "${SCREENSHOTS:-}" "$dir/site")
echo "browser    $looked"
