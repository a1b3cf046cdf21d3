#!/usr/bin/env bash
# How many walls are found, by kind, and how many of the HTML pages of Debian documentation packages are taken for walls (walls/main.go).
#
#   walls.sh [DIR]     unpacks the packages into DIR/sites (once; 1 GB), without it into a folder that is removed afterwards
#
# Packages are downloaded with apt-get and unpacked, not installed.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
dir=${1:-}
if [ -z "$dir" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
fi
for package in debian-handbook debian-policy git-doc libgtk-4-doc openjdk-17-doc postgresql-doc-15 python3.11-doc python-flask-doc python-scipy-doc sqlite3-doc; do
	[ ! -e "$dir/sites/$package" ] || continue
	mkdir -p "$dir/sites" "$dir/packages"
	(cd "$dir/packages" && packages download -q "$package" && dpkg-deb -x "$package"_*.deb "../sites/$package.part" && rm "$package"_*.deb)
	mv "$dir/sites/$package.part" "$dir/sites/$package"
done
cd "$lab/../.."
go run ./.ci/lab/walls "$dir/sites"
