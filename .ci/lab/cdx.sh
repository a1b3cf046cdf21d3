#!/usr/bin/env bash
# Readers of others on the CDX server of henro replay, and on the blocks of an index as a bucket has them: pywb's own code, which gives the
# same answers to 3,000 queries at random over the archive of its tests, cdx_toolkit and wabac.js.
#
#   cdx.sh SOURCES   a folder with the sources of pywb, warcio, surt and cdx_toolkit: git clone https://github.com/webrecorder/pywb and so on
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$lab/../.." && pwd)
sources=$(cd "$1" && pwd)
dir=$(mktemp -d)
replay=
finish() {
	[ -z "$replay" ] || kill "$replay" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
. "$lab/programs.sh"
install npm nodejs npm
/usr/bin/python3 -c 'import six, requests, yaml, tldextract, werkzeug, redis' 2>/dev/null ||
	packages install -y -qq --no-install-recommends python3-six python3-requests python3-yaml python3-tldextract python3-werkzeug python3-redis
cp "$lab"/cdx/*.mjs "$lab"/cdx/package.json "$dir"
(cd "$dir" && npm install --silent --no-fund --no-audit --ignore-scripts --no-package-lock && cp -r node_modules/@webrecorder/wabac/src wabac &&
	npx esbuild wabac/cdxloader.ts --bundle --platform=node --format=esm --log-level=error --outfile=loader.mjs)
cd "$root"
build "$dir/bin" ./cmd/henro ./.ci/lab/cdx
mkdir "$dir/archive"
cp "$sources"/pywb/sample_archive/warcs/{iana,dupes,post-test,example}.warc.gz "$dir/archive"
"$dir/bin/henro" replay "$dir/archive" --listen 127.0.0.1:0 >"$dir/replay.log" 2>&1 &
replay=$!
until grep -q http "$dir/replay.log"; do kill -0 "$replay" && sleep 0.1; done
address=$(grep -o 'http://[0-9.:]*' "$dir/replay.log" | head -n 1)
python3 - "$dir/lines" <<'END'
import sys
with open(sys.argv[1], "w") as f:
    for i in range(20_000):
        f.write('test,site%03d)/p%05d 20260314120000 {"url":"http://site%03d.test/p%05d","status":"200","offset":"%d","filename":"a.warc.gz"}\n'
                % (i // 200, i, i // 200, i, i))
END
LC_ALL=C sort -m "$dir/lines" "$dir/archive/index.cdxj" >"$dir/large.cdxj"
"$dir/bin/cdx" "$dir/large.cdxj" "$dir/index-00001"
PYTHONPATH=$sources/pywb:$sources/warcio:$sources/surt:$sources/cdx_toolkit /usr/bin/python3 "$lab/cdx/compare.py" "$dir/archive/index.cdxj" "$address" \
	"$dir/large.cdxj" "$dir/index-00001.idx"
(cd "$dir" && node wabac.mjs "$address" 'url=iana.org/*' && node wabac.mjs "$address" 'url=*.example.com')
