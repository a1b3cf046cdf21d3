#!/usr/bin/env bash
# Compares how henro reads with readers that know nothing of it: the encodings, titles and links of pages with each
# label of the Encoding Standard with Chromium, the links, frames and bases of mutilated pages with parse5, and broken
# WARC files of other writers with warcio and gowarc.
#
#   reading.sh [PAGES] [DIR]   default: 800 mutilated pages and the labels in short, some 40 s; 4000 and more: all
#   SEED=1                     of the mutations
#   ONLY=labels|pages|warcs    one of the three
#   SHOWN=3                    differences of one kind that are printed
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
pages=${1:-800}
mine=
if [ $# -gt 1 ]; then
	mkdir -p "$2"
	dir=$(cd "$2" && pwd)
else
	dir=$(mktemp -d)
	mine=$dir
fi
trap '[ -z "$mine" ] || rm -rf "$mine"' EXIT
. "$lab/programs.sh"
install npm nodejs npm
install chromium chromium

mkdir -p "$dir/unpacked" "$dir/tools"
for package in git-doc gnuplot-doc haproxy-doc bind9-doc; do
	[ -e "$dir/unpacked/.$package" ] && continue
	(cd "$dir" && packages download -q "$package") || { echo "cannot download $package"; exit 2; }
	dpkg-deb -x "$dir/$package"_*.deb "$dir/unpacked"
	rm "$dir/$package"_*.deb
	touch "$dir/unpacked/.$package"
done
cp "$lab"/reading/*.mjs "$lab"/reading/package.json "$dir/tools"
[ -d "$dir/tools/node_modules" ] || (cd "$dir/tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)

cd "$lab/../.."
build "$dir/bin" ./cmd/henro ./.ci/lab/reading
doc=$dir/unpacked/usr/share/doc
"$dir/bin/reading" -dir "$dir" -henro "$dir/bin/henro" -scripts "$dir/tools" -pages "$pages" -seed "${SEED:-1}" -shown "${SHOWN:-3}" \
	-only "${ONLY:-}" $([ "$pages" -lt 4000 ] || echo -all) "$doc/git-doc" "$doc/gnuplot/htmldocs" "$doc/haproxy/html" "$doc/bind9-doc/arm"
