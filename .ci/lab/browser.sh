#!/usr/bin/env bash
# Looks at the dashboard of a running crawl with a real browser: see browser/main.go, which does all of it. Chromium and npm are installed
# if they are missing; axe-core judges whether everybody can use the pages, and is fetched for that alone.
#
#   browser.sh                 some 60 s
#   SCREENSHOTS=docs browser.sh   leaves the pictures of docs/dashboard.md there
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

. "$lab/apt.sh"
install chromium chromium
install npm nodejs npm
if [ -n "${SCREENSHOTS:-}" ]; then
	SCREENSHOTS=$(realpath "$SCREENSHOTS")
	install fc-list fontconfig
	fc-list | grep -q NotoSansCJK || packages install -y -qq --no-install-recommends fonts-noto-cjk fonts-inter
fi
(cd "$dir" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock axe-core@4.11)

cd "$root"
mkdir "$dir/bin"
go build -o "$dir/bin/" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave
go build -modfile=.ci/tools.mod -o "$dir/browser" ./.ci/lab/browser
"$dir/browser" -bin "$dir/bin" -dir "$dir" -axe "$dir/node_modules/axe-core/axe.min.js" -screenshots "${SCREENSHOTS:-}"
