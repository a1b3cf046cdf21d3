#!/bin/sh
# Before a removal (deb: remove, rpm: 0, apk: no argument), not before an upgrade.
set -e
case "${1:-remove}" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now henro.service henro-master.service henro-slave.service || true
	fi
	;;
esac
