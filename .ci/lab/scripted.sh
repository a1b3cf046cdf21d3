#!/usr/bin/env bash
# Which pages henro holds to be made by scripts: at most one of 1,000 of documentation, and every page of sites that are: VitePress, Swagger UI,
# Redoc, docsify, and one with a router of its own.
#
#   scripted.sh [DIR]
#
# LARGE=1 looks at 51,000 more pages of documentation (docs.sh).
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir/made"/{swagger,redoc,docsify,spa} "$dir/vitepress/guide"
dir=$(cd "$dir" && pwd)
finish() {
	"$lab/docs.sh" down "$dir/docs" || true
	[ -n "${1:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
. "$lab/programs.sh"
install npm npm
build "$dir/bin" ./.ci/lab/scripted
PORT=${PORT:-8080} bash "$lab/docs.sh" up "$dir/docs"
"$dir/bin/scripted" -list "$dir"/docs/sites/*

cd "$dir/vitepress"
npm install --no-audit --no-fund --ignore-scripts --silent vitepress@1.6.4 swagger-ui-dist@5.35.0
cp node_modules/swagger-ui-dist/index.html "$dir/made/swagger/"
printf '# Home\n\nWords, and [a guide](./guide/one.md).\n' >index.md
printf '# A guide\n\nBack to [home](../index.md).\n' >guide/one.md
cat >data.md <<'PAGE'
<script setup>
import { ref, onMounted } from 'vue'
const said = ref('')
onMounted(async () => { said.value = await (await fetch('/data.json')).text() })
</script>
# Data

It says: {{ said }}
PAGE
node node_modules/vitepress/bin/vitepress.js build .
cat >"$dir/made/redoc/index.html" <<'PAGE'
<!DOCTYPE html><html><head><title>Redoc</title><meta charset="utf-8"/><style>body { margin: 0; padding: 0; }</style></head>
<body><redoc spec-url='openapi.json'></redoc><script src="redoc.standalone.js"> </script></body></html>
PAGE
cat >"$dir/made/docsify/index.html" <<'PAGE'
<!DOCTYPE html><html><head><meta charset="UTF-8"><link rel="stylesheet" href="core.min.css"></head>
<body><div id="app">Loading ...</div><script>window.$docsify = {loadSidebar: true}</script><script src="docsify.min.js"></script></body></html>
PAGE
cat >"$dir/made/spa/index.html" <<'PAGE'
<!doctype html><html><head><meta charset="utf-8"><title>Spa</title><base href="/"></head>
<body><div id="root"></div><noscript>You need JavaScript.</noscript><script type="module" src="/app.js"></script></body></html>
PAGE
"$dir/bin/scripted" -list -all "$dir/made" "$dir/vitepress/.vitepress/dist"
