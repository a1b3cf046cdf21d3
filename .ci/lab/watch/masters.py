"""Each change is told once and soon by three masters, whatever is killed: a web that changes by a known script, slaves, kill -9 of any node.

  masters.py BIN DIR [PAGES SECONDS KILLS SLAVES]

A reader keeps the cursor of the last change that it has got, and asks whichever master answers. Judged by the web's own log: what was
served when, against what was told. Prints ok or FAIL lines; exit code 1 if one failed.
"""
import http.client, http.server, json, os, random, re, sys, threading, time, urllib.parse, urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from masters import Crew

bin, folder = sys.argv[1:3]
pages, seconds, kills, slaves = (int(n) for n in (*sys.argv[3:7], *(500, 300, 10, 1)[len(sys.argv) - 3:]))
version = [0] * pages
served = []  # (moment, page, version)
failed = 0


def holds(text, condition):
    global failed
    print(('ok    ' if condition else 'FAIL  ') + text, flush=True)
    failed |= not condition


def own(n):
    """Words of a page's own: pages that say much the same are held for a wall, and their host is left alone for a while."""
    word = random.Random(n)
    return ''.join('<p>' + ' '.join(''.join(word.choices('aeioulmnrst', k=6)) for _ in range(30)) + '.</p>' for _ in range(4))


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        if self.path.startswith('/page/'):
            n = int(self.path[6:])
            body = f'<html><title>Page {n}</title><main><p>What stays on page {n} is this sentence, for ever.</p>' \
                   f'<p>The news of page {n} is version {version[n]}, no other.</p>{own(n)}</main></html>'
            served.append((time.time(), n, int(re.search(r'version (\d+)', body)[1])))
        else:
            body = 'User-agent: *\nAllow: /\n'
        self.send_response(200)
        self.send_header('Content-Type', 'text/html' if self.path.startswith('/page/') else 'text/plain')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512  # with the 5 of the library, connections of 50 hosts at once wait seconds for the kernel to try again


server = Server(('127.0.0.1', 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.makedirs(folder)
# a host of its own for each ten pages, so that several slaves have some
hosts = [f'site{n}.fakeweb.test' for n in range((pages + 9) // 10)]
root = lambda n: f'http://{hosts[n // 10]}:{server.server_port}/page/{n}'
with open(os.path.join(folder, 'seeds.txt'), 'w') as f:
    f.writelines(f'{root(n)}\n' for n in range(pages))
with open(os.path.join(folder, 'henro.yaml'), 'w') as f:
    f.write('resolve:\n' + ''.join(f'  - "{h}:{server.server_port}:127.0.0.1"\n' for h in hosts))

crew = Crew(os.path.join(folder, 'crew'), bin, 3, '--depth', '0', '--continuous', '--delay', '1ms', '--revisit-min', '60s', '--revisit-max', '61s',
            '--revisit-first', '60s', '--requisites', 'off', '--sitemaps', 'off')
got = []  # (moment, change)
moves = []  # (moment, master) from where the reader reads
reading = True


def read():
    """Keeps one cursor, and goes to the next master when one is gone."""
    cursor, turn = 'all', 0
    while reading:
        address = crew.masters[turn % 3].http
        turn += 1
        try:
            connection = http.client.HTTPConnection(address, timeout=30)
            connection.request('GET', '/api/changes?follow=true&since=' + urllib.parse.quote(cursor))
            answer = connection.getresponse()
            if answer.status == 200:
                moves.append((time.time(), address))
                for line in answer:
                    if line.endswith(b'\n') and line.strip():
                        change = json.loads(line)
                        got.append((time.time(), change))
                        cursor = change.get('cursor') or change['id']
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)


def wait(seconds, condition):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.05)
    return condition()


def found():
    return [(c['url'], int(v)) for _, c in list(got) for v in re.findall(r'^\+.*version (\d+)', c['diff'], re.M)]


random.seed(int(os.environ.get('SEED', '1')))
killed = []  # (moment, name, whether it led)
threading.Thread(target=read, daemon=True).start()
try:
    for n in range(1, slaves + 1):
        os.makedirs(f'{crew.dir}/slave{n}')
        with open(f'{crew.dir}/slave{n}/watch.yaml', 'w') as f:
            f.write('- pages: "*"\n  learn: false\n')
    crew.add_slaves(slaves, '--changes')
    holds(f'all {pages} pages are visited', wait(90, lambda: len({n for _, n, _ in served}) == pages))
    time.sleep(3)
    began = time.time()
    kill_at = sorted(random.uniform(5, seconds - 5) for _ in range(kills))
    back = []  # (moment, node)
    while time.time() < began + seconds:
        version[random.randrange(pages)] += 1
        time.sleep(0.05)
        if back and time.time() > back[0][0]:
            back.pop(0)[1].start()
        if kill_at and time.time() > began + kill_at[0] and not back:
            kill_at.pop(0)
            leader = crew.leader()
            node = random.choice([leader or crew.masters[0], *crew.masters, *crew.slaves])
            node.process.kill()
            node.process.wait()
            killed.append((time.time(), node.name, node is leader))
            back.append((time.time() + 1, node))
    for _, node in back:
        node.start()
    newest = lambda: {n: v for _, n, v in served}
    holds('the newest version of each page was served', wait(200, lambda: all(newest()[n] == version[n] for n in range(pages))))
    stale = [n for n in range(pages) if newest()[n] != version[n]]
    if stale:
        asked = {n: max(at for at, m, _ in served if m == n) for n in stale}
        print(f'{len(stale)} pages at {len({n // 10 for n in stale})} hosts were asked last {time.time() - max(asked.values()):.0f} to '
              f'{time.time() - min(asked.values()):.0f} s ago')
    print(f'the newest versions were there {time.time() - began - seconds:.0f} s after the last change')
    last = {(root(n), version[n]) for n in range(pages) if version[n]}
    holds('the newest version of each page was told', wait(30, lambda: last <= set(found())))
    time.sleep(2)
    page = urllib.request.urlopen(f'http://{crew.leader().http}/changes?beside=true', timeout=30).read().decode()
    shown = {(u, int(v)) for u, v in re.findall(r'<section class="card">.*?href="/page[^>]*>([^<]*)<.*?<ins>(?:[^<]* )?(\d+)', page, re.S)}
    holds(f'the dashboard of the master that leads shows {len(shown)} changes of {len({u for u, _ in shown})} pages, all of which were told',
          len(shown) > 0 and shown <= set(found()))
finally:
    reading = False
    crew.stop()
pairs = found()
print('killed:', ', '.join(f'{name}{" (it led)" if led else ""} after {at - began:.0f} s' for at, name, led in killed))
twice = sorted(p for p in set(pairs) if pairs.count(p) > 1)
holds(f'{len(pairs)} changes were read, each once, in {len(got)} lines, over {len(moves)} connections: {twice[:5]}',
      len(pairs) == len(set(pairs)) == len(got) and len(got) > 0)
expected, lost = set(), set()
for n in range(pages):
    was = None
    for at, m, v in served:
        if m == n and v != was:
            if was is not None:
                expected.add((root(n), v))
                # what was served right before a slave is killed may not have been on the disk; then it is served again
                if any(0 <= k - at < 1.5 and name.startswith('slave') for k, name, _ in killed):
                    lost.add((root(n), v))
            was = v
missed = expected - set(pairs) - lost
holds(f'none of {len(expected)} served changes is missing, {len(lost)} within 1.5 s of the kill of a slave aside: {sorted(missed)[:5]}', not missed)
holds('nothing was told that was not served', set(pairs) <= expected)
moment = lambda text: time.mktime(time.strptime(text[:19], '%Y-%m-%dT%H:%M:%S')) - time.timezone + float('0' + (re.search(r'\.\d+', text) or ['.0'])[0])
# the moment of a capture is that at which it was asked for, in whole seconds: so what counts is when its page was served
answers = {}
for at, n, v in served:
    answers.setdefault((root(n), str(v)), []).append(at)
delays, slow = [], {}
for t, c in got:
    versions = re.findall(r'^\+.*version (\d+)', c['diff'], re.M)
    for at in [at for v in versions for at in answers.get((c['url'], v), []) if moment(c['at']) <= at <= t][:1]:
        delays.append(t - at)
        if t - at > 1.5:
            slow.setdefault(max((k for k in killed if k[0] <= t), default=None), []).append((t, t - at))
for kill, late in slow.items():
    if kill:
        at, name, led = kill
        moved = [f'{m - at:.1f}' for m, _ in moves if at <= m <= at + 20]
        print(f'{name}{" (it led)" if led else ""} was killed: {len(late)} changes took over 1.5 s, at most {max(d for _, d in late):.1f} s; they were '
              f'read {late[0][0] - at:.1f} to {late[-1][0] - at:.1f} s after it; the reader moved after {moved} s')
    else:
        print(f'before any kill {len(late)} changes took over 1.5 s')
delays.sort()
holds('of each change it is known when its page was served', len(delays) == len(got))
if delays:
    p95 = delays[int(len(delays) * 0.95)]
    holds(f'a change was read {delays[len(delays) // 2] * 1000:.0f} ms after its page was served, 95 of 100 within {p95 * 1000:.0f} ms, '
          f'at most 2000; the last after {delays[-1] * 1000:.0f}', p95 <= 2)
if failed:
    for node in crew.masters + crew.slaves:
        print(f'{node.name}:', open(node.log.name).read()[-1500:])
sys.exit(failed)
