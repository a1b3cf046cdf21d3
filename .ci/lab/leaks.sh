#!/usr/bin/env bash
# Renders pages that try every way out, and pages that only cost, in a real Chromium: see living/leaks. Under a minute.
#
#   leaks.sh [PAGES]           ordinary pages of which the time is taken; default: 3
# TIMEOUT=4s                 of a page: most of these use it up
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
install chromium chromium
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$lab/../.."
build "$dir/bin" ./.ci/lab/living/leaks
"$dir/bin/leaks" -dir "$dir/scratch" -pages "${1:-3}" -timeout "${TIMEOUT:-4s}"
