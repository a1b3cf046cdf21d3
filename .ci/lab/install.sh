#!/usr/bin/env bash
# The tree as others get it from a module proxy: moved to the path under which it is published (.ci/module) and packed as a
# module. go install PATH/cmd/henro@VERSION gives a henro that crawls, and a program outside of the tree that embeds a crawl is
# built against it. The proxy is a folder, and so is that of the modules which henro needs: nothing is downloaded. Caches begin empty,
# so this is a first build: it says how long it took, and what it left on the disk.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir" && rm -rf "$dir"' EXIT
version=v0.0.1
go mod download
git clone -q . "$dir/tree"
module=$("$dir/tree/.ci/module")
(cd "$dir/tree" && go test ./cmd -run 'Arrows|Pure|Denied|Rules') >/dev/null # the shape of the tree holds there too
python3 - "$dir" "$module" $version <<'PY'
import os, subprocess, sys, zipfile
dir, module, version = sys.argv[1:]
tree, at = dir + "/tree", f"{dir}/proxy/{module}/@v"
os.makedirs(at)
files = subprocess.check_output(["git", "ls-files"], cwd=tree, text=True).split("\n")[:-1]
nested = tuple(os.path.dirname(f) + "/" for f in files if f.endswith("/go.mod"))  # modules of their own
with zipfile.ZipFile(f"{at}/{version}.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for f in files:
        if not f.startswith(nested):
            z.write(f"{tree}/{f}", f"{module}@{version}/{f}")
open(f"{at}/{version}.mod", "w").write(open(tree + "/go.mod").read())
open(f"{at}/list", "w").write(version + "\n")
open(f"{at}/{version}.info", "w").write('{"Version": "%s"}' % version)
PY
modules=$(go env GOMODCACHE)
export CGO_ENABLED=0 GOFLAGS=-trimpath GOSUMDB=off GOMODCACHE=$dir/modules GOPROXY="file://$dir/proxy,file://$modules/cache/download"
export GOCACHE=$dir/cache
SECONDS=0
GOBIN=$dir/bin go install "$module/cmd/henro@$version" 2>"$dir/install.log" || {
	tail -20 "$dir/install.log"
	exit 1
}
took=$SECONDS
megabytes() { du -sm "$1" | cut -f 1; }
downloads=$(find "$dir/modules/cache/download" -name '*.zip' -printf '%s\n' | awk '{n += $1} END {printf "%d", n / 1e6}')
echo "first      $took s; downloads $downloads MB, modules $(megabytes "$dir/modules") MB, compiler cache $(megabytes "$GOCACHE") MB"
"$dir/bin/henro" version | grep -qF "$version"
"$dir/bin/henro" demo --dir "$dir/demo" >"$dir/demo.log" 2>/dev/null
echo "installed  $module/cmd/henro@$version, through a file proxy; it says: $(head -1 "$dir/demo.log")"

mkdir "$dir/embeds"
cp "$dir/tree/docs/examples/linkcheck/main.go" "$dir/embeds"
cd "$dir/embeds"
go mod init example.org/embeds 2>/dev/null
go get "$module@$version" 2>/dev/null
go build -o "$dir/bin/" .
echo "embedded   a program with a module of its own is built against $module@$version"
