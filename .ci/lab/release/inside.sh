#!/bin/bash
# What release.sh does on a machine with nothing but Debian and systemd, which it boots in a container: installs the
# package, runs a master and a slave as services, kills them, upgrades, removes. /test holds the packages and the answer.
set -euxo pipefail
exec >/test/log 2>&1
finish() {
	code=$?
	set +e
	[ "$code" -eq 0 ] || journalctl -b --no-pager | grep henro | tail -50
	echo "$code" >/test/code
	systemctl --force poweroff
}
trap finish EXIT
listing() { find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /test -o -path /var/log \
	-o -path /var/cache -o -path /var/lib/dpkg -o -path /var/lib/systemd \) -prune -o -print | sort; }
until_ready() { # COMMAND…: two minutes for it to succeed
	for _ in $(seq 240); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.5
	done
	"$@"
}
at_least() { # PAGES; the version before found the crawl by its address alone
	{ henro status --json --dir /var/lib/henro/crawl || henro status --json; } | grep -oE '"pages": ?[0-9]+' | grep -oE '[0-9]+' | head -1 | xargs -I{} test {} -ge "$1"
}

listing >/test/before
dpkg -i /test/old.deb
henro version | grep -F "$(cat /test/version-before)"
systemd-analyze verify --man=no /usr/lib/systemd/system/henro*.service
systemd-analyze security --no-pager henro-master.service henro-slave.service henro.service | grep -E 'Overall|henro' | tee /test/security

/test/fakeweb --hosts 4 --pareto 0 --pages 100 --redirects 0 --crawl-delays 0 --folder /test/web >/test/web.out &
until_ready grep -q ^ready /test/web.out
# Without someone who answers for the crawl a service does not start, and is not tried again for ever.
systemctl start henro-master
sleep 2
systemctl is-failed henro-master
cp /test/web/seeds.txt /etc/henro/seeds.txt
{
	echo 'contact: you@example.org'
	echo 'allow-private: true'
	echo 'delay: 50ms'
	echo 'join: 127.0.0.1:7781'
	echo 'log-level: info'
	sed 's/.*/"&"/; s/^/  - /' /test/web/resolve.txt | sed '1i resolve:'
} >>/etc/henro/henro.yaml
systemctl reset-failed
systemctl start henro-master henro-slave
until_ready at_least 100
systemctl is-active henro-master henro-slave

# A crash of either is mended by systemd.
for unit in henro-master henro-slave; do
	before=$(systemctl show -P MainPID "$unit")
	kill -9 "$before"
	until_ready sh -c "systemctl is-active $unit && [ \"\$(systemctl show -P MainPID $unit)\" != $before ]"
done
until_ready at_least 200

# An upgrade restarts them with the new programs; the settings stay, and so does the crawl.
dpkg --force-confold -i /test/new.deb </dev/null
until_ready at_least 200
grep -q 'contact: you@example.org' /etc/henro/henro.yaml
henro version | grep -F "$(cat /test/version)"
systemctl is-active henro-master henro-slave
until_ready at_least 330
man -w henro-crawl >/dev/null 2>&1 || test -s /usr/share/man/man1/henro-crawl.1* || test ! -e /usr/share/man # minimal roots drop man pages
systemctl stop henro-slave henro-master
[ "$(systemctl show -P Result henro-master)" = success ]
ls -ld /var/lib/henro /var/lib/henro/*
henro check /var/lib/henro/crawl
grep -oE '^ *"(pages|links|hosts)": *[0-9]+' /var/lib/henro/crawl/summary.json | tr -d '" ' | paste -s -d ' ' >/test/summary

# One machine alone: the same settings, the same crawl.
systemctl start henro
until_ready at_least 330
systemctl stop henro

dpkg --purge henro
systemctl daemon-reload
listing >/test/after
echo 'left behind:'
comm -13 /test/before /test/after | { grep -v '^/var/lib/henro' || true; } | tee /test/left
[ ! -s /test/left ]
