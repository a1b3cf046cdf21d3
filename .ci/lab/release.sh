#!/usr/bin/env bash
# What users get: two builds of one commit in two folders are equal bit for bit, the bill of materials lists every module, the
# installer takes a release from a folder and over HTTP, the Debian package lives on a clean machine (installed, started by systemd,
# killed, upgraded from the version before, removed), and the image runs as the user nobody on a root that cannot be written to.
#
#   release.sh [DIST]          DIST: a release that was made already (go run -C .ci/release . DIST)
#   COLD=1 release.sh [DIST]   compiles everything a second time for the comparison: minutes instead of seconds
#
# Needs root for the machine and the image: debootstrap and systemd-nspawn, which it installs.
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
dir=$(mktemp -d)
finish() {
	code=$?
	[ "$code" -eq 0 ] || tail -60 "$dir/machine/test/log" 2>/dev/null || true
	[ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
	umount -q "$dir/image" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
# shellcheck source=programs.sh
. "$lab/programs.sh"
install debootstrap debootstrap
install systemd-nspawn systemd-container
install curl curl
said() { printf '%-12s %s\n' "$1" "$2"; }

dist=${1:-$dir/dist}
[ -n "${1:-}" ] || go run -C "$root/.ci/release" . -only linux-amd64 "$dist"
deb=$(ls "$dist"/henro_*_amd64.deb)

# The same again from a copy elsewhere, whose version is that of its tag.
version=$(cat "$dist/VERSION")
release() { # TAG COMMIT OUT
	rm -rf "$3"
	git -C "$dir/copy" tag --points-at "$2" | xargs -r git -C "$dir/copy" tag -d >/dev/null
	git -C "$dir/copy" checkout -q "$2" && git -C "$dir/copy" -c user.name=lab -c user.email=lab@localhost tag -f -a -m "$1" "$1" "$2" >/dev/null &&
		go run -C "$dir/copy/.ci/release" . -only linux-amd64 "$3" >"$3.log" && [ "$(cat "$3/VERSION")" = "$1" ]
}
git clone -q "$root" "$dir/copy"
(
	[ -z "${COLD:-}" ] || export GOCACHE="$dir/cache"
	release "$version" "$(git -C "$root" rev-parse HEAD)" "$dir/again"
)
same=0
for f in "$dir/again"/*; do
	case ${f##*/} in *image* | SHA256SUMS) continue ;; esac # of two architectures there
	cmp "$f" "$dist/${f##*/}"
	same=$((same + 1))
done
said reproduced "$same files, built in two folders${COLD:+ with a compiler cache each}, are equal bit for bit"
chmod -R u+w "$dir/cache" 2>/dev/null && rm -rf "$dir/cache"

mkdir "$dir/tar"
tar xzf "$dist"/henro-*-linux-amd64.tar.gz -C "$dir/tar" --strip-components 1
for program in henro henro-master henro-slave; do
	go version -m "$dir/tar/$program" | awk '$1 == "dep" {print $2 "@" $3}'
done | sort -u >"$dir/modules"
python3 - "$dist"/henro-*-linux-amd64.cdx.json "$dir/modules" <<'PY'
import json, sys
bom = {c["name"] + "@" + c["version"] for c in json.load(open(sys.argv[1]))["components"]}
missing = set(open(sys.argv[2]).read().split()) - bom
if missing:
    sys.exit(f"not in the bill of materials: {missing}")
PY
said materials "all $(wc -l <"$dir/modules") modules of go version -m are in the bill of materials"
for program in henro henro-master henro-slave; do
	said size "$program $(($(stat -c %s "$dir/tar/$program") / 1000000)) MB"
done

# The installer, from a folder and then by HTTP over what is there; an archive that was changed is refused before anything is touched.
home=$dir/home
PATH=$home/.local/bin:$PATH HOME=$home sh "$root/docs/install.sh" "$dist" >"$dir/install.log"
grep -qF "$version" "$dir/install.log"
python3 -u -m http.server --bind 127.0.0.1 --directory "$dist" 0 >"$dir/served" 2>/dev/null &
server=$!
until grep -q port "$dir/served"; do sleep 0.1; done
sh "$root/docs/install.sh" "$(grep -o 'http://[^/]*' "$dir/served")" "$home/.local" | grep -qF "$home/.local/bin is not in PATH"
"$home/.local/bin/henro" demo --dir "$dir/installed" >"$dir/installed.log" 2>/dev/null
mkdir "$dir/changed"
cp "$dist"/SHA256SUMS "$dist"/henro-*-linux-amd64.tar.gz "$dir/changed"
printf x >>"$(ls "$dir"/changed/*.tar.gz)"
if sh "$root/docs/install.sh" "$dir/changed" "$dir/never" 2>"$dir/refused" || [ -e "$dir/never" ]; then
	echo "the installer took an archive that was changed"
	exit 1
fi
mkdir "$dir/empty"
for nothing in "$dir/empty" "$dir/gone" "$(grep -o 'http://[^/]*' "$dir/served")/gone"; do
	if sh "$root/docs/install.sh" "$nothing" "$dir/never" 2>"$dir/lacks" || [ -e "$dir/never" ] ||
		! grep -qF "install.sh: RELEASE is the folder, or the URL, in which the files of a release lie; $nothing has no SHA256SUMS" "$dir/lacks"; then
		echo "the installer does not say what $nothing lacks: $(cat "$dir/lacks")"
		exit 1
	fi
done
said installer "$(find "$home" -type f | wc -l) files from a folder and by HTTP; $(head -1 "$dir/installed.log"); refused: $(cat "$dir/refused")"

# A clean machine.
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(awk '/^URIs:/ {print $2; exit} $1 == "deb" {print $2; exit}' /etc/apt/sources.list.d/* /etc/apt/sources.list 2>/dev/null || true)
debootstrap --variant=minbase --include=systemd,systemd-sysv "$codename" "$dir/machine" "${mirror:-http://deb.debian.org/debian}" >"$dir/debootstrap.log"
mkdir "$dir/machine/test"
cp "$deb" "$dir/machine/test/new.deb"
cp "$dist/VERSION" "$dir/machine/test/version"
# The version before: that of the last tag, or of twenty commits ago. What no tag names was never released, and its state need not be
# read: of another format, the same commit is built again under another version.
format() { git -C "$root" show "$1:store/partition.go" | grep '^const Schema = '; }
head=$(git -C "$root" rev-parse HEAD)
before=$(git -C "$dir/copy" describe --tags --abbrev=0 "$head^" 2>/dev/null || true)
if [ -z "$before" ]; then
	before=v0.0.0-0
	for back in 20 25 30 0; do # of the commits without a tag, not every one was ever built as a whole
		commit=$(git -C "$root" rev-parse "$head~$back")
		[ "$(format "$commit")" = "$(format "$head")" ] || continue
		release $before "$commit" "$dir/before" && break
	done
else
	commit=$(git -C "$root" rev-parse "$before^{commit}")
	release "$before" "$commit" "$dir/before"
fi
cp "$dir"/before/henro_*_amd64.deb "$dir/machine/test/old.deb"
cp "$dir/before/VERSION" "$dir/machine/test/version-before"
command install -m 755 "$lab/release/inside.sh" "$dir/machine/test/inside.sh"
CGO_ENABLED=0 go build -C "$root" -o "$dir/machine/test/fakeweb" ./.ci/lab/fakeweb
cat >"$dir/machine/etc/systemd/system/test.service" <<'U'
[Unit]
After=multi-user.target
[Service]
ExecStart=/test/inside.sh
[Install]
WantedBy=multi-user.target
U
mkdir -p "$dir/machine/etc/systemd/system/multi-user.target.wants"
ln -s ../test.service "$dir/machine/etc/systemd/system/multi-user.target.wants/test.service"
if systemd-nspawn -q -D "$dir/machine" --register=no --keep-unit --private-network /bin/true >/dev/null 2>&1 </dev/null; then
	timeout 600 systemd-nspawn -q -D "$dir/machine" --boot --register=no --keep-unit --private-network >"$dir/boot.log" 2>&1 </dev/null || true
	[ "$(cat "$dir/machine/test/code")" = 0 ]
	said installed "master and slave of $before ($(git -C "$dir/copy" log -1 --format='%h of %cs' "$commit")) ran as services, were killed, upgraded to $version, stopped in order and removed; nothing but the crawl is left"
	said crawled "$(cat "$dir/machine/test/summary")"
	sed 's/^/             /' "$dir/machine/test/security"
else
	said installed "NOT CHECKED: a container of systemd cannot be started here"
fi

# The image, without a daemon: its one layer as the root of a process of the user nobody, which cannot write to it.
mkdir "$dir/layout" "$dir/rootfs" "$dir/image" "$dir/data"
tar xf "$dist"/henro-*-image.tar -C "$dir/layout"
python3 - "$dir/layout" >"$dir/layer" <<'PY'
import json, sys
def blob(d): return json.load(open(f"{sys.argv[1]}/blobs/" + d.replace(":", "/")))
index = json.load(open(sys.argv[1] + "/index.json"))
manifest = blob(next(m for m in index["manifests"] if m["platform"]["architecture"] == "amd64")["digest"])
config = blob(manifest["config"]["digest"])["config"]
assert config["User"] == "65532:65532" and config["Healthcheck"]["Test"], config
print(f"{sys.argv[1]}/blobs/" + manifest["layers"][0]["digest"].replace(":", "/"))
PY
tar xf "$(cat "$dir/layer")" -C "$dir/rootfs"
mkdir "$dir/rootfs/data" "$dir/rootfs/dev" "$dir/rootfs/proc" "$dir/rootfs/tmp"
chown 65532:65532 "$dir/data"
chmod 755 "$dir"
cat >"$dir/run.sh" <<R
mount --bind "$dir/rootfs" "$dir/image"
mount -o remount,bind,ro "$dir/image"
mount --bind "$dir/data" "$dir/image/data"
mount -t tmpfs tmpfs "$dir/image/dev"
mknod -m 666 "$dir/image/dev/null" c 1 3
mknod -m 666 "$dir/image/dev/urandom" c 1 9
ip link set lo up
cd /
exec chroot --userspec=65532:65532 "$dir/image" /usr/bin/henro demo --dir /data/demo
R
unshare --mount --net bash -e "$dir/run.sh" >"$dir/demo.log" 2>&1 || {
	cat "$dir/demo.log"
	exit 1
}
test -s "$dir/data/demo/summary.json"
said image "a crawl ran from it as user 65532 on a root that is read only: $(grep finished "$dir/demo.log")"
