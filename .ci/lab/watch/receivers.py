"""Every change reaches its receivers, whatever these do: henro watch, an SMTP server, a push server and a webhook as processes of their
own, with faults.

  receivers.py HENRO DIR PORT GOTIFY [SECONDS]

The SMTP server is Debian's python3-aiosmtpd: it hangs, then it refuses, then it is back. The push server is Gotify's, hangs, is killed
and comes back. The webhook is receiver.py: it answers 500, then it
drops connections. Another one has no fault. Prints ok or FAIL lines; exit code 1 if one failed.
"""
import atexit, base64, http.server, json, mailbox, os, random, re, signal, subprocess, sys, threading, time, urllib.request
from email.header import decode_header, make_header

henro, folder, port, gotify = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
seconds = int((sys.argv[5:] or [200])[0])
here = os.path.dirname(os.path.abspath(__file__))
pages = 200  # of which three or so are visited a second
version = [0] * pages
failed = 0


def holds(text, condition):
    global failed
    print(('ok    ' if condition else 'FAIL  ') + text, flush=True)
    failed |= not condition


def own(n):
    """Words of a page's own: pages that say much the same are held for a wall, and their host is left alone for a while."""
    word = random.Random(n)
    return ' '.join(''.join(word.choices('aeioulmnrst', k=6)) for _ in range(120))


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int((re.search(r'\d+', self.path) or ['0'])[0])
        self.send_response(200)
        self.send_header('Content-Type', 'text/html' if self.path.startswith('/page/') else 'text/plain')
        self.end_headers()
        self.wfile.write(f'<title>Page {n}</title><main><p>The news of page {n} is version {version[n]}.<p>{own(n)}'.encode()
                         if self.path.startswith('/page/') else b'User-agent: *\nAllow: /\n')

    def log_message(self, *_):
        pass


web = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
threading.Thread(target=web.serve_forever, daemon=True).start()
crawl = os.path.join(folder, 'news')
os.makedirs(crawl)
with open(os.path.join(folder, 'list.txt'), 'w') as f:
    f.writelines(f'http://127.0.0.1:{web.server_port}/page/{n} every 1m watch main\n' for n in range(pages))
with open(os.path.join(crawl, 'tell.yaml'), 'w') as f:
    f.write(f"""- {{name: mail, private: true, most: 3600, to: 'smtp://127.0.0.1:{port}/?from=henro@a.example&to=you@b.example&encryption=None&usestarttls=no'}}
- {{name: hook, private: true, most: 3600, to: 'generic://127.0.0.1:{port + 1}/hook?disabletls=yes&template=JSON'}}
- {{name: push, private: true, most: 3600, to_file: push.secret}}
- {{name: calm, private: true, most: 3600, to: 'generic://127.0.0.1:{port + 2}/hook?disabletls=yes&template=JSON'}}
""")
mails = os.path.join(folder, 'mails')
commands = {
    'mail': ['/usr/bin/python3', '-m', 'aiosmtpd', '-n', '-l', f'127.0.0.1:{port}', '-c', 'aiosmtpd.handlers.Mailbox', mails],
    'hook': [sys.executable, os.path.join(here, 'receiver.py'), str(port + 1), os.path.join(folder, 'hook')],
    'calm': [sys.executable, os.path.join(here, 'receiver.py'), str(port + 2), os.path.join(folder, 'calm')],
    'push': [gotify],
}
push = f'http://127.0.0.1:{port + 3}'
os.environ.update(GOTIFY_SERVER_PORT=str(port + 3), GOTIFY_SERVER_LISTENADDR='127.0.0.1', GOTIFY_DATABASE_DIALECT='sqlite3',
                  GOTIFY_DATABASE_CONNECTION=os.path.join(folder, 'push.db'), GOTIFY_UPLOADEDIMAGESDIR=os.path.join(folder, 'images'),
                  GOTIFY_PLUGINSDIR='', GOTIFY_PASSSTRENGTH='4')
running = {}
atexit.register(lambda: [process.kill() for process in running.values()])


def ask(path, data=None):
    """Asks the push server as its first user."""
    headers = {'Authorization': 'Basic ' + base64.b64encode(b'admin:admin').decode(), 'Content-Type': 'application/json'}
    return json.load(urllib.request.urlopen(urllib.request.Request(push + path, data and json.dumps(data).encode(), headers), timeout=2))


def start(name):
    running[name] = subprocess.Popen(commands[name], cwd=folder, stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, name + '.said'), 'a'))


def fault(name, text):
    """What the webhook does from now on."""
    with open(os.path.join(folder, name + '.fault'), 'w') as f:
        f.write(text)


def up():
    try:
        return ask('/health')['health'] == 'green'
    except OSError:
        return False


def arrived(name):
    """Titles and texts of all messages."""
    if name == 'mail':
        if not os.path.exists(mails):
            return []
        def text(m):
            parts = [p for p in m.walk() if p.get_content_type() == 'text/plain'] or [m]
            return (parts[0].get_payload(decode=True) or b'').decode()
        return [(str(make_header(decode_header(m['Subject']))), text(m)) for m in mailbox.Maildir(mails)]
    if name == 'push':
        found, since = [], ''
        try:
            while True:
                part = ask('/message?limit=200' + since)
                found += [(m['title'], m['message']) for m in part['messages']]
                if not part['paging'].get('next'):
                    return found
                since = f"&since={part['paging']['since']}"
        except OSError:
            return []
    try:
        return [(m['title'], m['message']) for m in map(json.loads, open(os.path.join(folder, name)))]
    except FileNotFoundError:
        return []


def told():
    try:
        with open(os.path.join(crawl, 'feed', 'changes.jsonl')) as f:
            return [json.loads(line) for line in f if line.endswith('\n')]
    except FileNotFoundError:
        return []


def counted(messages):
    return sum(int((re.match(r'(\d+) pages have changed', title) or ['', 1])[1]) for title, _ in messages)


def wait(seconds, condition):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.2)
    return condition()


random.seed(1)
for name in commands:
    start(name)
holds('the push server is there', wait(20, lambda: running['push'].poll() is None and up()))
with open(os.path.join(crawl, 'push.secret'), 'w') as f:
    f.write(f"gotify://127.0.0.1:{port + 3}/{ask('/application', {'name': 'henro'})['token']}?disabletls=yes")
os.chmod(os.path.join(crawl, 'push.secret'), 0o600)
watch = subprocess.Popen([henro, 'watch', crawl, '--allow-private', '--progress', 'off', '--delay', '1ms', '--listen-http', '127.0.0.1:0',
                          os.path.join(folder, 'list.txt')], stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, 'said'), 'w'))
try:
    holds('all are sent messages', wait(150, lambda: version.__setitem__(0, version[0] + 1) or time.sleep(5) or
                                        min(len(arrived(n)) for n in commands) > 0))
    # From the mail server nothing comes for 30 s, a minute later it refuses; two minutes later it takes all. The webhook answers 500, a
    # minute later it drops the connection, two minutes later it takes all.
    script = [(60, lambda: (running['mail'].send_signal(signal.SIGSTOP), fault('hook', '500'))), (110, lambda: fault('hook', 'drop')),
              (120, lambda: running['push'].send_signal(signal.SIGSTOP)), (125, lambda: running['mail'].kill()),
              (160, lambda: running['push'].kill()), (175, lambda: start('push')), (190, lambda: (start('mail'), fault('hook', '')))]
    began = time.time()
    while time.time() < began + seconds:
        version[random.randrange(pages)] += 1
        time.sleep(0.3)
        while script and time.time() > began + script[0][0]:
            script.pop(0)[1]()
    while script:
        script.pop(0)[1]()
    time.sleep(75)  # the last versions are visited
    # all at one moment: under load a last change may come while one is waited for
    wait(600, lambda: all(counted(arrived(name)) >= len(told()) for name in commands))
    total = len(told())
    for name in commands:
        messages = arrived(name)
        listed = [l for _, text in messages for l in text.splitlines() if '/page/' in l]
        longest = max((int((re.match(r'(\d+) pages', t) or ['', 1])[1]) for t, _ in messages), default=0)
        holds(f'{name}: {total} changes came in {len(messages)} messages, the largest of {longest}: {counted(messages)}, none listed twice',
              counted(messages) == total and len(listed) == len(set(listed)))
    sends = [json.loads(line) for line in open(os.path.join(crawl, 'feed', 'sends.jsonl'))]
    for name in ('mail', 'push', 'hook'):
        causes = sorted({re.sub(r'\d{4,}', 'N', s['error'])[-90:] for s in sends if s['to'] == name and 'error' in s})
        holds(f'{name}: the log has {len(causes)} causes: {causes}', len(causes) > (name != 'push'))
    holds('calm: nothing failed', not [s for s in sends if s['to'] == 'calm' and 'error' in s])
    stamp = lambda text: time.mktime(time.strptime(text[:19], '%Y-%m-%dT%H:%M:%S')) - time.timezone
    late = max(m['at'] - stamp(l) for m in map(json.loads, open(os.path.join(folder, 'calm'))) for l in m['message'].splitlines() if '/page/' in l)
    holds(f'calm: {late:.1f} s at most from a capture to its message, while others hang', late < 15)
finally:
    watch.send_signal(signal.SIGINT)
    watch.wait(60)
sys.exit(failed)
