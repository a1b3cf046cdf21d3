// Makes the sites of the lab: node make.mjs MODULES OUT PORT BIG SITE…
//
// MODULES is a folder with node_modules, OUT gets a folder for each site and sites.json, which says what each is. Every page has
// words of its own, drawn by its number, so that words can be compared. BIG is how many pages the site "big" gets.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { deflateSync } from 'node:zlib'

const [modules, out, port, big, ...wanted] = process.argv.slice(2)
const sites = []
const names = new Set()

// ---- content ----

function random(seed) {
	let state = (seed * 2654435761) >>> 0
	return (n) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0
		return (state >>> 8) % n
	}
}

const syllables = 'ka mo ri shi ten no ba lu per von dra so mi que tal ver hin ost ar el ny pol gri sun'.split(' ')
const word = (draw) => Array.from({ length: 2 + draw(3) }, () => syllables[draw(syllables.length)]).join('')
const sentence = (draw) => Array.from({ length: 6 + draw(9) }, () => word(draw)).join(' ') + '.'
const seedOf = (site, n) => [...site].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7) % 100003 + n * 7919
const paragraphs = (site, n, many = 4) => {
	const draw = random(seedOf(site, n))
	return Array.from({ length: many }, () => Array.from({ length: 3 }, () => sentence(draw)).join(' '))
}
const title = (site, n) => `${site} ${n} ` + word(random(seedOf(site, n) + 1))

const table = Array.from({ length: 256 }, (_, n) => {
	for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1
	return n >>> 0
})
const crc32 = (data) => {
	let c = 0xffffffff
	for (const b of data) c = table[(c ^ b) & 255] ^ (c >>> 8)
	return (c ^ 0xffffffff) >>> 0
}

/** A PNG of 160 × 90 pixels in two colours. */
function picture(seed) {
	const draw = random(seed), colours = [0, 1].map(() => [draw(256), draw(256), draw(256)])
	const rows = Buffer.alloc(90 * (1 + 160 * 3))
	for (let y = 0; y < 90; y++)
		for (let x = 0; x < 160; x++)
			rows.set(colours[((x >> 4) + (y >> 4)) & 1], y * 481 + 1 + x * 3)
	const chunk = (type, data) => {
		const body = Buffer.concat([Buffer.from(type), data]), b = Buffer.alloc(body.length + 8)
		b.writeUInt32BE(data.length, 0)
		body.copy(b, 4)
		b.writeUInt32BE(crc32(body), body.length + 4)
		return b
	}
	const head = Buffer.alloc(13)
	head.writeUInt32BE(160, 0)
	head.writeUInt32BE(90, 4)
	head.set([8, 2, 0, 0, 0], 8)
	return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)),
		chunk('IEND', Buffer.alloc(0))])
}

// ---- files ----

function put(file, text) {
	fs.mkdirSync(path.dirname(file), { recursive: true })
	fs.writeFileSync(file, text)
}

/** Folders of the site that robots.txt, --exclude and the guard of addresses keep a crawler from. */
const shut = '<a href="/private/page.html">private</a> <a href="/excluded/page.html">excluded</a>'
const shutScript = `for (const url of ['/private/data.json', '/excluded/data.json', 'http://trap.living.test:${port}/data.json'])
	fetch(url).catch(() => {})`

/** The robots.txt of a site, pictures of its pages, and its entry in sites.json. */
function site(name, pages, more = {}) {
	const root = path.join(out, name)
	put(path.join(root, 'robots.txt'), 'User-agent: *\nDisallow: /private/\n')
	sites.push({ name, host: more.host ?? `${name}.living.test`, pages, ...more })
}

const pictures = (root, name, many) => {
	for (let n = 0; n < many; n++) put(path.join(root, 'pictures', `${n}.png`), picture(seedOf(name, n)))
}
const count = (n) => Array.from({ length: n }, (_, i) => i)
const html = (head, body) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
${head}</head>
<body>${body}</body></html>
`
const style = 'body { font: 16px/1.5 serif; max-width: 50rem; margin: 2rem auto } img { width: 160px; height: 90px }'
const run = (file, args, cwd) => execFileSync(process.execPath, [file, ...args],
	{ cwd, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' } })

/** A folder to build in, that finds the modules. */
function workshop(name) {
	const dir = path.join(out, '.made', name)
	fs.rmSync(dir, { recursive: true, force: true })
	fs.mkdirSync(dir, { recursive: true })
	fs.symlinkSync(path.join(modules, 'node_modules'), path.join(dir, 'node_modules'))
	return dir
}

function bundle(root, source, extension, options = []) {
	const dir = workshop(path.basename(root))
	put(path.join(dir, `app.${extension}`), source)
	execFileSync(path.join(modules, 'node_modules/esbuild/bin/esbuild'), [`app.${extension}`, '--bundle', '--minify', '--splitting', '--format=esm',
		`--outdir=${path.join(root, 'assets')}`, '--entry-names=[name]-[hash]', '--chunk-names=[name]-[hash]', '--jsx=automatic',
		'--define:process.env.NODE_ENV="production"', '--define:__VUE_OPTIONS_API__=true', '--define:__VUE_PROD_DEVTOOLS__=false',
		'--define:__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=false', '--log-level=error', ...options], { cwd: dir, stdio: 'inherit' })
	return fs.readdirSync(path.join(root, 'assets')).find((file) => file.startsWith('app-') && file.endsWith('.js'))
}

// ---- sites ----

const make = {
	vitepress: () => vitepress('vitepress', 24),
	big: () => vitepress('big', Number(big)),

	starlight() {
		const name = 'starlight', dir = workshop(name), root = path.join(out, name), many = 16
		put(path.join(dir, 'package.json'), '{"type":"module"}')
		put(path.join(dir, 'astro.config.mjs'), `import { defineConfig, passthroughImageService } from 'astro/config'
import starlight from '@astrojs/starlight'
export default defineConfig({ outDir: ${JSON.stringify(root)}, image: { service: passthroughImageService() }, integrations: [
	starlight({ title: 'Starlight', pagefind: false, sidebar: [{ label: 'Guides', autogenerate: { directory: 'guides' } }] })] })`)
		put(path.join(dir, 'src/content.config.ts'), `import { defineCollection } from 'astro:content'
import { docsLoader } from '@astrojs/starlight/loaders'
import { docsSchema } from '@astrojs/starlight/schema'
export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) }`)
		const text = (n) => `---\ntitle: ${title(name, n)}\n---\n\n${paragraphs(name, n).join('\n\n')}\n\n` +
			`![picture](/pictures/${n}.png)\n\n[next](/guides/${(n + 1) % many}/) ${shut}\n`
		put(path.join(dir, 'src/content/docs/index.md'), text(0))
		for (const n of count(many)) put(path.join(dir, `src/content/docs/guides/${n}.md`), text(n))
		pictures(path.join(dir, 'public'), name, many)
		run(path.join(modules, 'node_modules/astro/astro.js'), ['build', '--silent'], dir)
		site(name, ['/', ...count(many).map((n) => `/guides/${n}/`)])
	},

	docsify: () => docsify('docsify', 'history'),
	hash: () => docsify('hash', 'hash'),

	swagger() {
		const name = 'swagger', root = path.join(out, name), dist = path.join(modules, 'node_modules/swagger-ui-dist')
		for (const file of ['swagger-ui.css', 'index.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'favicon-32x32.png',
			'favicon-16x16.png', 'index.html', 'swagger-initializer.js']) {
			for (const n of count(3)) {
				let text = fs.readFileSync(path.join(dist, file))
				if (file === 'swagger-initializer.js') text = String(text).replace(/url: ".*?"/, `url: "/specs/${n}.json", validatorUrl: null`) // a host outside of the lab
				if (file === 'index.html') text = String(text).replace('</body>', `<nav><a href="../${(n + 1) % 3}/">next</a></nav></body>`)
				put(path.join(root, String(n), file), text)
			}
		}
		for (const n of count(3)) put(path.join(root, `specs/${n}.json`), openapi(name, n))
		put(path.join(root, 'index.html'), html('<title>APIs</title>', count(3).map((n) => `<a href="/${n}/">${title(name, n)}</a>`).join(' ')))
		site(name, ['/', '/0/', '/1/', '/2/'])
	},

	redoc() {
		const name = 'redoc', root = path.join(out, name)
		put(path.join(root, 'redoc.standalone.js'), fs.readFileSync(path.join(modules, 'node_modules/redoc/bundles/redoc.standalone.js')))
		for (const n of count(3)) {
			put(path.join(root, `${n}/openapi.json`), openapi(name, n))
			put(path.join(root, `${n}/index.html`), html('<title>Redoc</title>', `<redoc spec-url="openapi.json"></redoc>
<script src="/redoc.standalone.js"></script>`))
		}
		put(path.join(root, 'index.html'), html('<title>APIs</title>', count(3).map((n) => `<a href="/${n}/">${title(name, n)}</a>`).join(' ')))
		site(name, ['/', '/0/', '/1/', '/2/'])
	},

	react() {
		const name = 'react', root = path.join(out, name), many = 16
		const file = bundle(root, `import { Suspense, lazy } from 'react'
import { createRoot } from 'react-dom/client'
import { createBrowserRouter, Link, RouterProvider, useLoaderData } from 'react-router'
const load = async (url) => { const r = await fetch(url); if (!r.ok) throw new Error(url); return r.json() }
function List() {
	const items = useLoaderData()
	return <main><h1>Items</h1><ul>{items.map((i) => <li key={i.id}><Link to={'/items/' + i.id}>{i.title}</Link></li>)}</ul></main>
}
function Item() {
	const item = useLoaderData()
	return <main><h1>{item.title}</h1>{item.text.map((t, i) => <p key={i}>{t}</p>)}<img src={item.picture} alt="" />
		<Link to="/">all</Link> <Link to={'/items/' + item.next}>next</Link></main>
}
${shutScript}
const router = createBrowserRouter([
	{ path: '/', loader: () => load('/api/items.json'), element: <List />, HydrateFallback: () => null },
	{ path: '/items/:id', loader: ({ params }) => load('/api/items/' + params.id + '.json'), element: <Item />, HydrateFallback: () => null },
	{ path: '*', element: <h1>404: no such route</h1> }])
createRoot(document.getElementById('root')).render(<RouterProvider router={router} />)`, 'jsx')
		put(path.join(root, 'index.html'), html(`<title>React</title><style>${style}</style>`,
			`<div id="root"></div><noscript>You need JavaScript.</noscript><script type="module" src="/assets/${file}"></script>`))
		items(root, name, many)
		site(name, ['/', ...count(many).map((n) => `/items/${n}`)], { fallback: true })
	},

	vue() {
		const name = 'vue', root = path.join(out, name), many = 16
		const file = bundle(root, `import { createApp, h, ref } from 'vue'
import { createRouter, createWebHistory, RouterLink, RouterView } from 'vue-router'
const load = async (url) => { const r = await fetch(url); if (!r.ok) throw new Error(url); return r.json() }
const Item = { props: ['id'], setup(props) {
	const item = ref(null)
	load('/api/items/' + props.id + '.json').then((found) => { item.value = found })
	return () => item.value && h('main', [h('h1', item.value.title), item.value.text.map((t) => h('p', t)), h('img', { src: item.value.picture }),
		h(RouterLink, { to: '/' }, () => 'all'), ' ', h(RouterLink, { to: '/items/' + item.value.next }, () => 'next')])
} }
const Home = { setup() {
	const items = ref([])
	load('/api/items.json').then((found) => { items.value = found })
	return () => h('main', [h('h1', 'Items'), h('ul', items.value.map((i) => h('li', h(RouterLink, { to: '/items/' + i.id }, () => i.title))))])
} }
const router = createRouter({ history: createWebHistory(), routes: [{ path: '/', component: Home }, { path: '/items/:id', component: Item, props: true },
	{ path: '/:rest(.*)*', component: { render: () => h('h1', '404: no such route') } }] })
createApp({ render: () => h(RouterView) }).use(router).mount('#app')`, 'js')
		put(path.join(root, 'index.html'), html(`<title>Vue</title><style>${style}</style>`,
			`<div id="app"></div><script type="module" src="/assets/${file}"></script>`))
		items(root, name, many)
		site(name, ['/', ...count(many).map((n) => `/items/${n}`)], { fallback: true })
	},

	scroll() { // items beyond the first are in the document only once someone has scrolled
		const name = 'scroll', root = path.join(out, name), many = 30, size = 5
		for (const n of count(many)) {
			put(path.join(root, `items/${n}.html`), html(`<title>${title(name, n)}</title><style>${style}</style>`,
				`<h1>${title(name, n)}</h1>${paragraphs(name, n).map((p) => `<p>${p}</p>`).join('')}<img src="/pictures/${n}.png" alt="">`))
		}
		for (const page of count(many / size)) {
			put(path.join(root, `feed/${page}.json`), JSON.stringify(count(size).map((i) => page * size + i).map((n) =>
				({ id: n, title: title(name, n), text: paragraphs(name, n, 1)[0], picture: `/pictures/${n}.png` }))))
		}
		put(path.join(root, 'index.html'), html(`<title>Scroll</title><style>${style} article { min-height: 18rem }</style>`,
			`<main></main><div id="end">…</div><script type="module">
let page = 0, busy = false
const main = document.querySelector('main'), end = document.querySelector('#end')
async function more() {
	if (busy || page === ${many / size}) return
	busy = true
	const items = await (await fetch('/feed/' + page + '.json?t=' + Math.floor(Date.now() / 1000))).json()
	page++
	for (const item of items) {
		const article = document.createElement('article')
		article.innerHTML = '<h2><a href="/items/' + item.id + '.html">' + item.title + '</a></h2><p>' + item.text + '</p><img loading="lazy" src="' +
			item.picture + '" alt="">'
		main.append(article)
	}
	busy = false
	if (page === ${many / size}) end.textContent = 'the end'
}
new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) more() }).observe(end)
</script>`))
		pictures(root, name, many)
		site(name, ['/', ...count(many).map((n) => `/items/${n}.html`)])
	},

	shadow() {
		const name = 'shadow', root = path.join(out, name), many = 12
		put(path.join(root, 'card.js'), `class Card extends HTMLElement {
	async connectedCallback() {
		const root = this.attachShadow({ mode: 'open' })
		const item = await (await fetch(new URL('./cards/' + this.getAttribute('no') + '.json', import.meta.url))).json()
		root.innerHTML = '<style>section { border: 2px solid; padding: 1rem; margin: 1rem }</style><section><h2>' + item.title + '</h2><img src="' +
			item.picture + '"><slot></slot><a href="/page/' + item.next + '.html">next</a></section>'
		for (const text of item.text) this.append(Object.assign(document.createElement('p'), { textContent: text }))
	}
}
customElements.define('x-card', Card)`)
		for (const n of count(many)) {
			put(path.join(root, `cards/${n}.json`), JSON.stringify({ title: title(name, n), text: paragraphs(name, n, 2), picture: `/pictures/${n}.png`,
				next: (n + 1) % many }))
			const text = html(`<title>${title(name, n)}</title><style>${style}</style><script type="module" src="/card.js"></script>`,
				`<h1>${title(name, n)}</h1><x-card no="${n}"></x-card>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		pictures(root, name, many)
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
	},

	cors() { // the server answers at api.living.test, also what is asked by POST
		const name = 'cors', root = path.join(out, name), many = 8
		for (const n of count(many)) {
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<h1>${title(name, n)}</h1><main></main>
<a href="/page/${(n + 1) % many}.html">next</a> ${shut}<script type="module">
const api = 'http://api.living.test:${port}', json = JSON.stringify({ n: ${n} }), form = () => new URLSearchParams({ n: ${n}, kind: 'form' })
const asks = {
	get: () => fetch(api + '/get?n=${n}'),
	head: () => fetch(api + '/get?n=${n}', { headers: { 'X-Asks': 'a preflight' }, credentials: 'include' }),
	json: () => fetch(api + '/query', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: json }),
	mine: () => fetch(api + '/mine', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Asks': 'a preflight' }, body: json,
		credentials: 'include' }),
	text: () => fetch(api + '/text', { method: 'POST', body: json }),
	said: () => fetch(new Request(api + '/said', { method: 'POST', body: 'it is ${n}: said', headers: { 'Content-Type': 'text/plain' } })),
	form: () => fetch(api + '/form', { method: 'POST', body: form() }),
	own: () => fetch('/own', { method: 'POST', body: form() }),
	bytes: () => fetch(api + '/bytes', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: new TextEncoder().encode(json) }),
	chain: () => fetch(api + '/get?n=a${n}').then((r) => r.json()).then((found) => fetch(api + '/get?n=' + found.text.length)),
	moved: () => fetch(api + '/moved?n=${n}'), // here, from there: the origin is null then
	place: () => fetch(api + '/place', { method: 'POST', headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify({ at: location.href, of: location.hostname, n: ${n} }) }),
	where: () => fetch(api + '/get?n=${n}&at=' + encodeURIComponent(location.href)),
	worker: () => new Promise((done, fail) => {
		const text = 'fetch("' + api + '/work", { method: "POST", body: "worker ${n}" }).then((r) => r.text()).then(postMessage, (e) => postMessage(String(e)))'
		const w = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })))
		w.onmessage = (e) => done(new Response(e.data))
		w.onerror = (e) => fail(e.message)
	}),
	none: () => fetch(api + '/none?n=${n}', { method: 'POST' }),
	xhr: () => new Promise((done, fail) => {
		const x = new XMLHttpRequest()
		x.open('POST', api + '/xhr')
		x.withCredentials = true
		x.setRequestHeader('Content-Type', 'application/json')
		x.onload = () => done(new Response(x.responseText, { status: x.status }))
		x.onerror = fail
		x.send(json)
	}),
}
for (const [id, ask] of Object.entries(asks)) {
	const p = document.createElement('p')
	document.querySelector('main').append(p)
	ask().then((r) => r.json()).then((found) => { p.textContent = id + ' ' + found.text }).catch((e) => { p.textContent = id + ' ' + e })
}
${shutScript}
</script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)], { and: ['api.living.test'] })
		theAPI(name)
	},

	total() { // how long a list is, and where it goes on, is said by fields of the answers alone
		const name = 'total', root = path.join(out, name), many = 6
		for (const n of count(many)) {
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<h1>${title(name, n)}</h1><main></main>
<a href="/page/${(n + 1) % many}.html">next</a> ${shut}<script type="module">
const api = 'http://api.living.test:${port}', names = ['X-Total-Count', 'Content-Range', 'ETag', 'X-Unshared', 'Set-Cookie']
const show = (text) => document.querySelector('main').append(Object.assign(document.createElement('p'), { textContent: text }))
const said = (get) => names.map((name) => name + ' ' + get(name)).join(', ')
const counted = async (root) => { // a pager: as many pages as the count asks for
	const first = await fetch(root + '/list?n=c${n}&page=0')
	const pages = Math.ceil(Number(first.headers.get('X-Total-Count')) / 5)
	const rest = await Promise.all(Array.from({ length: pages - 1 }, (_, i) => fetch(root + '/list?n=c${n}&page=' + (i + 1))))
	return [first, ...rest].map((r) => [r, said((name) => r.headers.get(name))])
}
const linked = async (root) => { // as far as the field Link leads; at another host each page costs a wait
	const all = []
	for (let url = root + '/list?n=l${n}&page=0'; url; ) {
		const r = await fetch(url)
		const link = r.headers.get('Link')
		all.push([r, link])
		url = /<([^>]*)>; rel="next"/.exec(link)?.[1]
	}
	return all
}
const asked = (root) => new Promise((done, fail) => {
	const x = new XMLHttpRequest()
	x.open('GET', root + '/list?n=x${n}&page=4')
	x.onload = () => done([[new Response(x.responseText), said((name) => x.getResponseHeader(name)) +
		(x.getAllResponseHeaders().includes('x-total-count') ? ' among all' : ' not among all')]])
	x.onerror = fail
	x.send()
})
const asks = [counted, linked, asked].flatMap((ask) => ['', api].map((root) => ask(root).catch((e) => [[null, ask.name + ' of ' + root + ': ' + e]])))
for (const found of asks)
	for (const [r, fields] of await found) show(fields + ': ' + (r && (await r.json()).text))
${shutScript}
</script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
		theAPI(name)
	},

	fragments() { // pages with words of their own, in which a script far away fetches more by an attribute
		const name = 'fragments', root = path.join(out, name), many = 12
		put(path.join(root, 'get.js'), `for (const e of document.querySelectorAll('[data-get]'))
	fetch(e.dataset.get + '?_rsc=' + location.pathname.length).then((r) => r.text()).then((text) => { e.innerHTML = text })`)
		for (const n of count(many)) {
			put(path.join(root, `part/${n}.html`), `<p>${paragraphs(name + 'part', n).join('</p><p>')}</p><img src="/pictures/${n}.png" alt="">`)
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<h1>${title(name, n)}</h1><p>${paragraphs(name, n, 1)}</p>
<div data-get="/part/${n}.html"></div><a href="/page/${(n + 1) % many}.html">next</a> ${shut}<script src="/get.js"></script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		pictures(root, name, many)
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
	},

	tried() { // what no archive can answer
		const name = 'tried', root = path.join(out, name)
		put(path.join(root, 'index.html'), html(`<title>${title(name, 0)}</title><style>${style}</style>`, `<h1>${title(name, 0)}</h1><main></main>
<script type="module">
document.querySelector('main').innerHTML = '<p>${paragraphs(name, 0).join('</p><p>')}</p><p>' + ['quin', 'ces'].join('') + '</p>'
const file = new FormData()
file.append('file', new Blob(['x']), 'x.txt')
new WebSocket('ws://tried.living.test:${port}/socket').onerror = () => new WebSocket('ws://tried.living.test:${port}/socket')
new EventSource('/events').onerror = (e) => e.target.close()
navigator.sendBeacon('/beacon', 'x')
fetch('/upload', { method: 'POST', body: file }).catch(() => {})
fetch('/large', { method: 'POST', body: 'x'.repeat(5000) }).catch(() => {})
</script>`))
		site(name, ['/'])
	},

	worker() { // a service worker needs a secure context: localhost is one
		const name = 'worker', root = path.join(out, name), many = 6
		put(path.join(root, 'sw.js'), `const kept = 'kept-1'
self.addEventListener('install', (e) => { self.skipWaiting(); e.waitUntil(caches.open(kept).then((c) => c.addAll(['/style.css', '/offline.html']))) })
self.addEventListener('activate', (e) => e.waitUntil(clients.claim()))
self.addEventListener('fetch', (e) => { e.respondWith(caches.match(e.request).then((hit) => hit || fetch(e.request))) })`)
		put(path.join(root, 'style.css'), style)
		put(path.join(root, 'offline.html'), html('<title>Offline</title>', '<h1>No network</h1>'))
		for (const n of count(many)) {
			put(path.join(root, `parts/${n}.json`), JSON.stringify({ text: paragraphs(name, n) }))
			const text = html(`<title>${title(name, n)}</title><link rel="stylesheet" href="/style.css">`, `<h1>${title(name, n)}</h1><main></main>
<img src="/pictures/${n}.png" alt=""><a href="/page/${(n + 1) % many}.html">next</a><script type="module">
await navigator.serviceWorker?.register('/sw.js').then(() => navigator.serviceWorker.ready).catch(() => {})
const { text } = await (await fetch('/parts/${n}.json')).json()
document.querySelector('main').innerHTML = text.map((t) => '<p>' + t + '</p>').join('')
</script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		pictures(root, name, many)
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)], { host: 'worker.localhost' })
	},

	lot() { // what is asked for is named by lot, kept in the browser and counted in a cookie
		const name = 'lot', root = path.join(out, name), many = 6
		put(path.join(root, 'list'), JSON.stringify(count(many).map((n) => ({ id: n, title: title(name, n) }))))
		put(path.join(root, 'list.js'), `const open = new Promise((done, fail) => {
	const r = indexedDB.open('kept', 1)
	r.onupgradeneeded = () => r.result.createObjectStore('lists')
	r.onsuccess = () => done(r.result)
	r.onerror = () => fail(r.error)
})
const ask = async (mode, f) => {
	const r = f((await open).transaction('lists', mode).objectStore('lists'))
	return new Promise((done, fail) => { r.onsuccess = () => done(r.result); r.onerror = () => fail(r.error) })
}
const lot = () => Math.random().toString(36).slice(2) + Array.from(crypto.getRandomValues(new Uint8Array(6)), (b) => b.toString(16)).join('')
export async function list() {
	const session = lot()
	const all = await (await fetch('/list?session=' + session)).json()
	await ask('readwrite', (s) => s.put(all, session))
	return ask('readonly', (s) => s.get(session))
}`)
		for (const n of count(many)) {
			put(path.join(root, `item/${n}.json`), JSON.stringify({ text: paragraphs(name, n) }))
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<main></main><ul></ul><p id="seen"></p>
<script type="module">
import { list } from '/list.js'
document.cookie = 'seen=${n}; path=/'
document.querySelector('#seen').textContent = document.cookie
document.querySelector('ul').innerHTML = (await list()).map((i) => '<li><a href="/page/' + i.id + '.html">' + i.title + '</a></li>').join('')
document.querySelector('main').innerHTML = (await (await fetch('/item/${n}.json')).json()).text.map((t) => '<p>' + t + '</p>').join('')
</script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
	},

	parts() { // a file is read part by part
		const name = 'parts', root = path.join(out, name), many = 4
		for (const n of count(many)) {
			put(path.join(root, `bits/${n}.txt`), paragraphs(name, n).join('\n'))
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<h1>${title(name, n)}</h1><main></main>
<a href="/page/${(n + 1) % many}.html">next</a><script type="module">
for (const range of ['bytes=0-49', 'bytes=50-199', 'bytes=200-', 'bytes=-30']) {
	const r = await fetch('/bits/${n}.txt', { headers: { Range: range } })
	document.querySelector('main').append(r.status + ' ' + r.headers.get('Content-Range') + ' ' + await r.text())
}
</script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
	},

	frames() { // a page, a frame of another origin and one of its own speak by messages, and hear nobody else
		const name = 'frames', many = 6
		for (const n of count(many)) {
			const inner = html('<title>frame</title>', `<p>waits</p><script>
addEventListener('message', (e) => {
	if (e.origin !== 'http://frames.living.test:${port}') return
	document.querySelector('p').textContent = 'for ' + document.referrer
	e.source.postMessage(e.data + ' ${sentence(random(seedOf(name, n)))}', e.origin)
})
parent.postMessage('ready', '*')
</script>`)
			put(path.join(out, `api/frame/${n}.html`), inner)
			put(path.join(out, `${name}/frame/${n}.html`), html('<title>own</title>', `<p>waits</p><script>
addEventListener('message', (e) => {
	if (e.source === parent && e.origin === location.origin) document.querySelector('p').textContent = e.data
})
parent.postMessage('own', new URL(document.referrer).origin)
</script>`))
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<h1>${title(name, n)}</h1><iframe></iframe><p></p>
<a href="/page/${(n + 1) % many}.html">next</a><iframe id="own"></iframe><script>
const own = document.querySelector('#own')
addEventListener('message', (e) => {
	if (e.source !== own.contentWindow || e.data !== 'own') return
	e.source.postMessage('${sentence(random(seedOf(name, n) + 3))}', e.origin)
	document.querySelector('h1').append(' ${word(random(seedOf(name, n) + 2))}')
})
own.src = '/frame/${n}.html'
const api = 'http://api.living.test:${port}', frame = document.querySelector('iframe')
addEventListener('message', (e) => {
	if (e.origin !== api || e.source !== frame.contentWindow) return
	if (e.data === 'ready') frame.contentWindow.postMessage('${title(name + 'said', n)}', api)
	else document.querySelector('p').textContent = e.data
})
frame.src = api + '/frame/${n}.html'
</script>`)
			put(path.join(out, name, `page/${n}.html`), text)
			if (n === 0) put(path.join(out, name, 'index.html'), text)
		}
		site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
		theAPI(name)
	},

	closed() { // links that are there only while their group of a menu is open
		const name = 'closed', root = path.join(out, name), many = 6
		put(path.join(root, 'menu.js'), `const nav = document.querySelector('nav')
const group = (label, open) => {
	const button = Object.assign(document.createElement('button'), { textContent: label, ariaExpanded: 'false' })
	const list = document.createElement('div')
	button.onclick = () => {
		button.ariaExpanded = String(button.ariaExpanded === 'false')
		list.replaceChildren(...(button.ariaExpanded === 'true' ? open() : []))
	}
	return [button, list]
}
const link = (n) => Object.assign(document.createElement('a'), { href: '/page/' + n + '.html', textContent: n })
const said = Object.assign(document.createElement('p'), { ariaLive: 'polite', textContent: 'a menu with ' + Math.random() })
said.style = 'position: absolute; width: 1px; height: 1px; overflow: hidden' // to screen readers alone
nav.append(said, ...group('first', () => [link(1), link(2)]), ...group('second', () => [link(3), ...group('inner', () => [link(4), link(5)])]))`)
		for (const n of count(many)) {
			const text = html(`<title>${title(name, n)}</title><style>${style}</style>`, `<nav></nav><h1>${title(name, n)}</h1>
<p>${paragraphs(name, n).join('</p><p>')}</p><script src="/menu.js"></script>`)
			put(path.join(root, `page/${n}.html`), text)
			if (n === 0) put(path.join(root, 'index.html'), text)
		}
		site(name, ['/', ...count(many).slice(1).map((n) => `/page/${n}.html`)])
	},

	sight() { // parts are asked for one by one while their place is in sight, as Next.js asks for what links lead to
		const name = 'sight', root = path.join(out, name), many = 40
		put(path.join(root, 'sight.js'), `const wanted = new Set()
for (const place of document.querySelectorAll('li')) new IntersectionObserver(([seen]) => {
	if (place.textContent) return
	if (seen.isIntersecting) wanted.add(place)
	else wanted.delete(place)
}).observe(place)
for (;;) {
	const [place] = wanted
	wanted.delete(place)
	if (place) place.textContent = (await fetch(place.id).then((r) => r.json()).catch(() => ({}))).text ?? ''
	await new Promise((done) => setTimeout(done, 50))
}`)
		for (const n of count(many)) put(path.join(root, `parts/${n}.json`), JSON.stringify({ text: word(random(seedOf(name, n))) }))
		put(path.join(root, 'index.html'), html(`<title>${title(name, 0)}</title><style>${style} li { height: 1.5rem }</style>`,
			`<ul>${count(many).map((n) => `<li id="/parts/${n}.json"></li>`).join('')}</ul><script type="module" src="/sight.js"></script>`))
		site(name, ['/'])
	},

	manual: () => plain('manual', 24, ''),
	blog: () => plain('blog', 20, '<video preload="none" poster="/pictures/0.png"></video>'),
	menu: () => plain('menu', 16, `<details open><summary>menu</summary><p>dishes</p></details><script>
document.querySelector('summary').addEventListener('click', () => {})</script>`),
}

/** The server that pages of another site ask. */
function theAPI(of) {
	if (sites.some((s) => s.name === 'api')) return
	sites.push({ name: 'api', host: 'api.living.test', pages: [], of })
	put(path.join(out, 'api/robots.txt'), 'User-agent: *\nDisallow: /private/\n')
}

function vitepress(name, many) {
	const dir = workshop(name), root = path.join(out, name)
	put(path.join(dir, 'package.json'), '{"type":"module"}')
	put(path.join(dir, '.vitepress/config.mjs'), `export default { title: 'VitePress', outDir: ${JSON.stringify(root)}, ignoreDeadLinks: true,
	head: [['link', { rel: 'icon', href: 'data:,' }]], themeConfig: { sidebar: ${JSON.stringify(count(Math.min(many, 20)).map((n) =>
		({ text: title(name, n), link: `/guide/${n}` })))} } }`)
	// The name of the data is put together by the script: it stands nowhere.
	const text = (n) => `<script setup>
import { ref, onMounted } from 'vue'
const said = ref('')
onMounted(async () => { said.value = (await (await fetch('/data/' + 'part-' + ${n} + '.json')).json()).text })
</script>

# ${title(name, n)}

${paragraphs(name, n).join('\n\n')}

It says: {{ said }}

<img src="/pictures/${n % 40}.png" alt="">

[next](/guide/${(n + 1) % many}) [further](/guide/${(n + 37) % many}) [other](/guide/${(n * 3 + 1) % many})

${shut}
`
	put(path.join(dir, 'index.md'), text(0))
	for (const n of count(many)) {
		put(path.join(dir, `guide/${n}.md`), text(n))
		put(path.join(dir, `public/data/part-${n}.json`), JSON.stringify({ text: paragraphs(name + 'data', n, 1)[0] }))
	}
	pictures(path.join(dir, 'public'), name, 40)
	run(path.join(modules, 'node_modules/vitepress/bin/vitepress.js'), ['build', '.'], dir)
	site(name, ['/', ...count(many).map((n) => `/guide/${n}.html`)])
}

function docsify(name, mode) {
	const root = path.join(out, name), many = 12, dist = path.join(modules, 'node_modules/docsify/dist')
	put(path.join(root, 'docsify.min.js'), fs.readFileSync(path.join(dist, 'docsify.min.js')))
	put(path.join(root, 'core.min.css'), fs.readFileSync(path.join(dist, 'themes/core.min.css')))
	put(path.join(root, 'index.html'), html('<title>docsify</title><link rel="stylesheet" href="/core.min.css">', `<div id="app">Loading ...</div>
<script>window.$docsify = { name: 'docsify', loadSidebar: true, routerMode: '${mode}', alias: { '/guide/_sidebar.md': '/_sidebar.md' } }</script>
<script src="/docsify.min.js"></script>`))
	const text = (n) => `# ${title(name, n)}\n\n${paragraphs(name, n).join('\n\n')}\n\n![picture](/pictures/${n}.png)\n\n` +
		`[next](/guide/page-${(n + 1) % many})\n`
	put(path.join(root, 'README.md'), text(0))
	put(path.join(root, '_sidebar.md'), count(many).map((n) => `- [${title(name, n)}](/guide/page-${n})`).join('\n') + '\n')
	for (const n of count(many)) put(path.join(root, `guide/page-${n}.md`), text(n))
	pictures(root, name, many)
	const pages = mode === 'history' ? ['/', ...count(many).map((n) => `/guide/page-${n}`)] : ['/']
	site(name, pages, { fallback: true })
}

function items(root, name, many) {
	put(path.join(root, 'api/items.json'), JSON.stringify(count(many).map((n) => ({ id: n, title: title(name, n) }))))
	for (const n of count(many)) {
		put(path.join(root, `api/items/${n}.json`), JSON.stringify({ id: n, title: title(name, n), text: paragraphs(name, n),
			picture: `/pictures/${n}.png`, next: (n + 1) % many }))
	}
	pictures(root, name, many)
}

function openapi(name, n) {
	const draw = random(seedOf(name, n) + 5), paths = {}
	for (const i of count(8)) {
		paths[`/${word(draw)}-${i}`] = { get: { tags: [`part ${i % 3}`], summary: sentence(draw), description: sentence(draw),
			parameters: [{ name: word(draw), in: 'query', schema: { type: 'string' } }], responses: { 200: { description: sentence(draw) } } } }
	}
	return JSON.stringify({ openapi: '3.0.3', info: { title: title(name, n), version: '1.0', description: paragraphs(name, n, 1)[0] }, paths })
}

function plain(name, many, more) {
	const root = path.join(out, name)
	put(path.join(root, 'style.css'), style)
	for (const n of count(many)) {
		const text = html(`<title>${title(name, n)}</title><link rel="stylesheet" href="/style.css">`, `<h1>${title(name, n)}</h1>
${paragraphs(name, n).map((p) => `<p>${p}</p>`).join('\n')}<img src="/pictures/${n}.png" alt="">${more}
<a href="/page/${(n + 1) % many}.html">next</a> <a href="/page/${(n * 2) % many}.html">other</a> ${shut}`)
		put(path.join(root, `page/${n}.html`), text)
		if (n === 0) put(path.join(root, 'index.html'), text)
	}
	pictures(root, name, many)
	site(name, ['/', ...count(many).map((n) => `/page/${n}.html`)])
}

for (const name of wanted) names.add(name)
for (const name of names) {
	if (!make[name]) throw new Error(`no site ${name}: there are ${Object.keys(make).join(', ')}`)
	fs.rmSync(path.join(out, name), { recursive: true, force: true })
	const since = Date.now()
	make[name]()
	console.log(`${name}: made in ${((Date.now() - since) / 1000).toFixed(1)} s`)
}
fs.rmSync(path.join(out, '.made'), { recursive: true, force: true })
put(path.join(out, 'sites.json'), JSON.stringify(sites, null, '\t'))
