"""Noise does not raise the request rate of a page: two crawls of one web, side by side, of which one has --relief news.

  relief.py HENRO DIR [SECONDS]

Of 120 pages a third has a clock and a counter and nothing else that changes, a third gets an item more on its list of news every few minutes, a third has both.
Judged by the web's own log over the second half of the time. Prints ok or FAIL lines; exit code 1 if one failed.
"""
import bisect, http.server, json, os, random, re, signal, subprocess, sys, threading, time

henro, folder = sys.argv[1:3]
seconds = int((sys.argv[3:] or [1200])[0])
count, mean = 40, 240  # pages of a kind, and seconds between two versions of one that has news
kinds = ('noise', 'news', 'both')
reliefs = ('optimal', 'news')
began = time.time()
random.seed(1)
changes = {}  # by page, the moments of its versions: both crawls see the same
for kind in kinds:
    for n in range(count):
        at, moments = began, []
        while kind != 'noise' and at < began + seconds:
            at += random.expovariate(1 / mean)
            moments.append(at)
        changes[f'/{kind}/{n}'] = moments
served = {relief: {} for relief in reliefs}  # by page, moments with the version that was served
failed = 0


def holds(text, condition):
    global failed
    print(('ok    ' if condition else 'FAIL  ') + text, flush=True)
    failed |= not condition


def words(of, count):
    word = random.Random(of)
    return ' '.join(''.join(word.choices('aeioulmnrst', k=6)) for _ in range(count))


def page_for(relief):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = 'User-agent: *\nAllow: /\n'
            if self.path in changes:
                kind, now = self.path.split('/')[1], time.time()
                version = bisect.bisect(changes[self.path], now)
                served[relief].setdefault(self.path, []).append((now, version))
                body = f'<title>Page {self.path}</title><main><p>{words(self.path, 80)}.</p>'
                if kind != 'news':
                    body += f'<p>It is {time.strftime("%H:%M:%S")} now.</p><p>{random.randrange(9999)} readers look at this.</p>'
                if kind != 'noise':
                    body += '<ul>' + ''.join(f'<li>{words(f"{self.path} {v}", 12)}.</li>' for v in range(version, -1, -1)) + '</ul>'
            self.send_response(200)
            self.send_header('Content-Type', 'text/html' if self.path in changes else 'text/plain')
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass
    return Page


running = {}
for relief in reliefs:
    web = http.server.ThreadingHTTPServer(('127.0.0.1', 0), page_for(relief))
    threading.Thread(target=web.serve_forever, daemon=True).start()
    dir = os.path.join(folder, relief)
    os.makedirs(dir)
    with open(os.path.join(dir, 'list.txt'), 'w') as f:
        f.writelines(f'http://127.0.0.1:{web.server_port}{page}\n' for page in changes)
    running[relief] = subprocess.Popen(
        [henro, 'watch', os.path.join(dir, 'crawl'), '--allow-private', '--progress', 'off', '--delay', '10ms', '--relief', relief, '--revisit-min', '1m',
         '--revisit-max', '15m', '--revisit-first', '1m', '--requisites', 'off',
         '--listen-http', '127.0.0.1:0', os.path.join(dir, 'list.txt')],
        stdout=subprocess.DEVNULL, stderr=open(os.path.join(dir, 'said'), 'w'))
try:
    while time.time() < began + seconds and all(p.poll() is None for p in running.values()):
        time.sleep(1)
finally:
    for process in running.values():
        process.send_signal(signal.SIGTERM)
        process.wait(60)
asked, found = {}, {}
for relief in reliefs:
    half = began + seconds / 2
    for kind in kinds:
        asked[relief, kind] = found[relief, kind] = 0
        for page, visits in served[relief].items():
            if page.startswith(f'/{kind}/'):
                late = [v for at, v in visits if at >= half]
                asked[relief, kind] += len(late)
                found[relief, kind] += len(set(late) - {v for at, v in visits if at < half})
    with open(os.path.join(folder, relief, 'crawl', 'feed', 'changes.jsonl')) as f:
        told = [json.loads(line) for line in f]
    at = lambda c: time.mktime(time.strptime(c['at'][:19], '%Y-%m-%dT%H:%M:%S')) - time.timezone
    told = [re.search(r'/(noise|news|both)/', c['url'])[1] for c in told if at(c) >= half]
    print(f'--relief {relief}:', '; '.join(f'{kind} {asked[relief, kind]} requests, {found[relief, kind]} new versions, {told.count(kind)} changes told'
                                          for kind in kinds), flush=True)
holds('pages of noise are asked for at most a third as often', asked['news', 'noise'] * 3 <= asked['optimal', 'noise'])
holds('as many versions of pages with news alone are captured, a tenth less at most', found['news', 'news'] * 10 >= found['optimal', 'news'] * 9)
sys.exit(failed)
