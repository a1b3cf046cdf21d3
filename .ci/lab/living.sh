#!/usr/bin/env bash
# Opens pages that are made by scripts in Chromium, live and in henro replay: they do what applications do, or try to reach the live web.
#
#   living.sh [DIR]    default: a temporary one
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
mine=
if [ $# -gt 0 ]; then
	mkdir -p "$1"
	dir=$(cd "$1" && pwd)
else
	dir=$(mktemp -d)
	mine=$dir
fi
trap '[ -z "$mine" ] || rm -rf "$mine"' EXIT
. "$lab/programs.sh"
install chromium chromium

cd "$lab/../.."
build "$dir/bin" ./cmd/henro ./.ci/lab/living
"$dir/bin/living" -dir "$dir" -henro "$dir/bin/henro" "$lab/living/www"
