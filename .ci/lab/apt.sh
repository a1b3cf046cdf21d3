# Sourced by the labs: what Debian's packages bring.

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
