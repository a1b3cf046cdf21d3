// A blog and, at the next port, the hub of WebSub that its feed names. The feed changes every six seconds, and the hub reports that, signed.
// What the subscriber does is written to standard output, a line for each thing.
//
//   node hub.mjs PORT
import { createServer } from 'node:http'
import { createHmac, randomBytes } from 'node:crypto'

const port = Number(process.argv[2])
const topic = `http://127.0.0.1:${port}/feed`
const hub = `http://127.0.0.1:${port + 1}/hub`
const started = Date.now()
const subscribers = new Map()
const say = line => console.log(line)

const feed = () => {
  const changes = Math.floor((Date.now() - started) / 6000)
  const entries = Array.from({ length: changes + 1 }, (_, n) => `<entry><link href="http://127.0.0.1:${port}/p/${n}"/></entry>`)
  return `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="${hub}"/><link rel="self" href="${topic}"/>${entries.join('')}</feed>`
}

createServer((q, a) => {
  const answer = (type, body) => a.writeHead(200, { 'content-type': type }).end(body)
  if (q.url === '/') return answer('text/html', '<link rel=alternate type=application/atom+xml href=/feed>')
  if (q.url.startsWith('/p/')) return answer('text/html', `<title>${q.url}</title>`)
  if (q.url !== '/feed') return a.writeHead(404).end()
  say('feed')
  answer('application/atom+xml', feed())
}).listen(port, '127.0.0.1')

const send = async (to, signature, body) => (await fetch(to, { method: 'POST', headers: { 'x-hub-signature': signature }, body })).status

const confirm = async (callback, secret) => {
  const challenge = randomBytes(16).toString('hex')
  const ask = topic => fetch(`${callback}?${new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.topic': topic, 'hub.challenge': challenge,
    'hub.lease_seconds': '864000' })}`)
  say(`another topic ${(await ask(topic + '2')).status}`)
  const answer = await ask(topic)
  say(`challenge ${answer.status} ${await answer.text() === challenge}`)
  say(`forged ${await send(callback, 'sha256=' + createHmac('sha256', 'guessed').update('news').digest('hex'), 'news')}`)
  subscribers.set(callback, secret)
}

createServer((q, a) => {
  if (q.method !== 'POST') return a.writeHead(404).end()
  let body = ''
  q.on('data', part => { body += part }).on('end', () => {
    const form = new URLSearchParams(body)
    say(`${form.get('hub.mode')} ${form.get('hub.topic') === topic}`)
    a.writeHead(202).end()
    setTimeout(() => confirm(form.get('hub.callback'), form.get('hub.secret')).catch(err => say(err)), 200)
  })
}).listen(port + 1, '127.0.0.1')

let last = feed()
setInterval(async () => {
  const now = feed()
  if (now === last) return
  last = now
  for (const [callback, secret] of subscribers) {
    const status = await send(callback, 'sha256=' + createHmac('sha256', secret).update(now).digest('hex'), now).catch(() => 'gone')
    say(`sent ${status}`)
  }
}, 1000)
