#!/usr/bin/env bash
# Cuts the power of a crawl and looks at what is left on disk: see power/main.go, which does all of it.
#
#   power.sh            a short form: 40 cuts of each case, 2 of them crawled on
#   power.sh FLAGS…     whatever power/main.go takes, for example -cuts 0 -resumes 20
set -euo pipefail
. "$(dirname "$0")/programs.sh"
install strace strace
cd "$(dirname "$0")/../.."
exec go run ./.ci/lab/power "$@"
