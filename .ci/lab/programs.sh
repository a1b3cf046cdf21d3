# Sourced by the labs: the programs that they need, of this tree and of Debian's packages.

export HENRO_BROWSER=${HENRO_BROWSER:-off} # those that are about a browser say so

# build DIR PACKAGE...: programs of this tree, in DIR. Where BIN names a folder, as in .ci/run, DIR is a link to it, and a program that
# is there already is not linked again.
build() {
	mkdir -p "${BIN:-$1}"
	[ -z "${BIN:-}" ] || { rm -rf "$1" && ln -s "$(realpath "$BIN")" "$1"; }
	(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && flock -o "$1" go build -o "$1/" "${@:2}")
}

# packages asks apt-get for something, and once more behind fresh lists of packages if it has none, or old ones.
packages() { alone "$@" >/dev/null 2>&1 || { alone update -qq && alone "$@" >/dev/null; }; }

# alone is apt-get, one at a time: labs run side by side, and it does not wait for another.
alone() { flock -o "${TMPDIR:-/tmp}/henro-lab-apt" apt-get "$@"; }

# install COMMAND PACKAGE...: the packages, unless there is such a command.
install() {
	command -v "$1" >/dev/null && return
	echo "$1 is missing: installing ${*:2}."
	packages install -y -qq --no-install-recommends "${@:2}"
}

failed=0
# holds TEXT COMMAND...: the verdict of a check, by what the command returns; failed is 1 once one has failed.
holds() {
	local text=$1
	shift
	if "$@"; then
		echo "ok    $text"
	else
		echo "FAIL  $text"
		failed=1
	fi
}
