#!/usr/bin/env bash
# Runs crawls of a whole cluster in network namespaces, does to each what happens in a lab of PCs, and measures that nothing is lost by
# it: see cluster/main.go, which does all of it. Needs root and Linux; installs iproute2 with apt-get if it is missing.
#
#   cluster.sh               the short form for every commit, some four minutes: eleven scenarios, three clusters at a time
#   cluster.sh -case all     every scenario but the longest, some nine minutes; -case list lists them
#   cluster.sh -case night   the master away for ten minutes
#   cluster.sh scale         pages a minute of 2, 5 and 10 slaves, on hosts that take their time
#   cluster.sh soak -for 30m a slave dies every 20 s; memory and goroutines of the others, as CSV
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
cd "$(dirname "$0")/../.."
if [ "$(id -u)" -ne 0 ]; then
	echo 'cluster.sh: network namespaces need root: run it as root, or with sudo' >&2
	exit 1
fi
. .ci/lab/programs.sh
install ip iproute2
exec go run ./.ci/lab/cluster "$@"
