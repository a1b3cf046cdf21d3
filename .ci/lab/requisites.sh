#!/usr/bin/env bash
# Shows the site of slave/links/linkstest in headless Chromium and compares what it asks for with the list that the tests of the slave compare
# with. Chromium is installed if it is missing.
#
#   requisites.sh                                            some 10 s
#   requisites.sh -update slave/links/linkstest/chromium.txt   writes the list
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
install chromium chromium
cd "$lab/../.."
go run -modfile=.ci/tools.mod ./.ci/lab/requisites "$@"
