#!/usr/bin/env bash
# Crawls pages drawn by seed from Debian's documentation packages with all that they are made of, and lets Chromium
# judge the archive: what it asks for live must be in it, and henro replay and ReplayWeb.page must show the pages as they
# are, without a request that leaves them.
#
#   pages.sh [PAGES] [DIR]     default: 16 pages of 8 packages, some 2 minutes; 200 and more: of 13 packages
#   SEED=1                     of the draw
#
# Packages are downloaded with apt-get and unpacked into DIR, not installed.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
pages=${1:-16}
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

# name, folder; the packages of both.
sites='
gnuplot    gnuplot/htmldocs
git        git-doc
sphinx     sphinx-doc/html
flask      python-flask-doc/html
bind       bind9-doc/arm
tornado    python-tornado-doc/html
haproxy    haproxy
cmake      cmake-data/html
'
packages='gnuplot-doc git-doc sphinx-doc python-flask-doc bind9-doc python-tornado-doc haproxy-doc cmake-doc
libjs-sphinxdoc libjs-jquery libjs-underscore libjs-bootstrap libjs-mathjax sphinx-rtd-theme-common fonts-font-awesome fonts-lato'
if [ "$pages" -ge 200 ]; then
	sites+='
sqlalchemy python-sqlalchemy-doc/html
pygments   python-pygments-doc/html
octave     octave
maxima     maxima-doc/html
erlang     erlang-doc
'
	packages+=' python-sqlalchemy-doc python-pygments-doc octave-doc maxima-doc erlang-doc'
fi
mkdir -p "$dir/unpacked" "$dir/tools"
for package in $packages; do
	[ -e "$dir/unpacked/.$package" ] && continue
	(cd "$dir" && packages download -q "$package") || { echo "cannot download $package"; exit 2; }
	dpkg-deb -x "$dir/$package"_*.deb "$dir/unpacked"
	rm "$dir/$package"_*.deb
	touch "$dir/unpacked/.$package"
done
cp "$lab/archive/package.json" "$dir/tools"
[ -d "$dir/tools/node_modules" ] || (cd "$dir/tools" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock)

cd "$lab/../.."
build "$dir/bin" ./cmd/henro ./.ci/lab/pages
mapfile -t served < <(while read -r name folder; do [ -z "$name" ] || echo "$name.pages.test=$dir/unpacked/usr/share/doc/$folder"; done <<<"$sites")
"$dir/bin/pages" -dir "$dir" -henro "$dir/bin/henro" -viewer "$dir/tools/node_modules/replaywebpage" -pages "$pages" \
	-seed "${SEED:-1}" -port "${PORT:-8380}" "${served[@]}"
