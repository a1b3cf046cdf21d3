#!/usr/bin/env bash
# Looks at the dashboard of a running crawl with a real browser: see browser/main.go, which does all of it. Chromium and npm are installed
# if they are missing; axe-core judges whether everybody can use the pages, and is fetched for that alone.
#
#   browser.sh                 some 60 s
#   SCREENSHOTS=docs browser.sh   leaves the pictures of docs/dashboard.md there
#   SCREENS=DIR browser.sh     leaves a picture of every page there, wide and narrow, light and dark, in both languages
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

. "$lab/programs.sh"
install chromium chromium
install npm nodejs npm
if [ -n "${SCREENSHOTS:-}${SCREENS:-}" ]; then
	for name in SCREENSHOTS SCREENS; do [ -z "${!name:-}" ] || declare "$name=$(realpath "${!name}")"; done
	install fc-list fontconfig
	fc-list | grep -q NotoSansCJK || packages install -y -qq --no-install-recommends fonts-noto-cjk fonts-inter
fi
(cd "$dir" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock axe-core@4.11)

cd "$root"
build "$dir/bin" ./cmd/henro ./cmd/henro-master ./cmd/henro-slave ./.ci/lab/fakeweb
go build -modfile=.ci/tools.mod -o "$dir/browser" ./.ci/lab/browser
"$dir/browser" -bin "$dir/bin" -dir "$dir" -axe "$dir/node_modules/axe-core/axe.min.js" -screenshots "${SCREENSHOTS:-}" -screens "${SCREENS:-}"
