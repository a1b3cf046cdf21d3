#!/usr/bin/env bash
# Ends the processes of crawls at random moments and measures that nothing is lost by it: see kill/main.go, which does all of it.
#
#   kill.sh            a short form, some two minutes: one round of each case and a second of the first three
#   kill.sh FLAGS…     whatever kill/main.go takes, for example -rounds 10
set -euo pipefail
export HENRO_BROWSER=off # what is killed here is henro; living.sh kills Chromium
cd "$(dirname "$0")/../.."
if [ $# -gt 0 ]; then
	exec go run ./.ci/lab/kill "$@"
fi
go run ./.ci/lab/kill -rounds 2 -case crawl,slave,master
go run ./.ci/lab/kill -rounds 1 -case freeze,term,impatient,panic,leader,frozen
