#!/bin/sh
# After an installation or an upgrade, of deb, rpm and apk.
set -e
if ! getent group henro >/dev/null 2>&1 || ! getent passwd henro >/dev/null 2>&1; then
	if command -v systemd-sysusers >/dev/null 2>&1; then
		systemd-sysusers /usr/lib/sysusers.d/henro.conf
	elif command -v useradd >/dev/null 2>&1; then
		useradd --system --user-group --home-dir /var/lib/henro --no-create-home --shell /usr/sbin/nologin henro
	else
		addgroup -S henro
		adduser -S -D -H -h /var/lib/henro -s /sbin/nologin -G henro henro
	fi
fi
# The services read their settings and the cluster's key; other users of the machine do not.
chgrp henro /etc/henro /etc/henro/henro.yaml /etc/henro/seeds.txt
chmod 0750 /etc/henro
install -d -o henro -g henro -m 0750 /var/lib/henro
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart henro.service henro-master.service henro-slave.service || true
fi
