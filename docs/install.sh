#!/bin/sh
# Installs henro, henro-master and henro-slave from a release, for this user: takes the archive of this system, compares its
# checksum with SHA256SUMS, and puts the programs into PREFIX/bin, man pages and completions below PREFIX/share.
#
#   install.sh RELEASE [PREFIX]      RELEASE: a folder, or a URL below which the files of a release lie; PREFIX: default ~/.local
set -eu
release=${1:?usage: install.sh RELEASE [PREFIX]}
prefix=${2:-$HOME/.local}
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) echo "install.sh: no release for $(uname -s); on Windows unpack the .zip" >&2 && exit 1 ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "install.sh: no release for $(uname -m)" >&2 && exit 1 ;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
get() { # NAME
	case $release in
	*://*) curl -fsSL -o "$dir/$1" "$release/$1" ;;
	*) cp "$release/$1" "$dir/$1" ;;
	esac || { echo "install.sh: RELEASE is the folder, or the URL, in which the files of a release lie; $release has no $1" >&2 && exit 1; }
}
get SHA256SUMS
name=$(sed -n "s/^[0-9a-f]*  \(henro-.*-$os-$arch\.tar\.gz\)$/\1/p" "$dir/SHA256SUMS")
[ -n "$name" ] || { echo "install.sh: $release has no archive for $os-$arch" >&2 && exit 1; }
get "$name"
sum=$(command -v sha256sum || echo shasum -a 256)
(cd "$dir" && grep "  $name\$" SHA256SUMS | $sum -c - >/dev/null 2>&1) || { echo "install.sh: the checksum of $name is wrong" >&2 && exit 1; }
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/henro"
tar xzf "$dir/$name" -C "$dir"
from=$dir/${name%.tar.gz}
for program in henro henro-master henro-slave; do
	cp "$from/$program" "$prefix/bin/$program.new"
	mv "$prefix/bin/$program.new" "$prefix/bin/$program"
done
cp "$from"/man/man1/*.1 "$prefix/share/man/man1/"
cp -R "$from/completions" "$from/LICENSES.txt" "$prefix/share/henro/"
"$prefix/bin/henro" version
case :$PATH: in *":$prefix/bin:"*) ;; *) echo "$prefix/bin is not in PATH" ;; esac
