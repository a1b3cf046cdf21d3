"""Ten thousand changes at once reach every receiver in a few messages, whatever these do: henro feed --follow, an SMTP server and webhooks
as processes of their own, with faults.

  gather.py HENRO DIR PORT [CHANGES]

The SMTP server, Debian's python3-aiosmtpd, hangs; one webhook answers 500, one is not there; one has no fault. Then henro is killed, all
are well, and henro is started again. Prints ok or FAIL lines; exit code 1 if one failed.
"""
import atexit, base64, gzip, hashlib, json, mailbox, os, random, re, signal, subprocess, sys, time
from email.header import decode_header, make_header

henro, folder, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
count = int((sys.argv[4:] or [10_000])[0])
here = os.path.dirname(os.path.abspath(__file__))
crawl, mails = os.path.join(folder, 'news'), os.path.join(folder, 'mails')
failed = 0


def holds(text, condition):
    global failed
    print(('ok    ' if condition else 'FAIL  ') + text, flush=True)
    failed |= not condition


def archive(version):
    """Writes the captures of all pages in one version."""
    with open(os.path.join(crawl, 'warc', f'{version}.warc.gz'), 'wb') as out:
        for n in range(count):
            word = random.Random(n)
            own = ' '.join(''.join(word.choices('aeioulmnrst', k=6)) for _ in range(30))
            body = f'<title>Page {n}</title><main><p>The news of page {n} is version {version}.<p>{own}'.encode()
            answer = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n' % len(body) + body
            digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
            head = f'WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://news.example/page/{n}\r\n' \
                   f'WARC-Date: 2026-03-{version:02d}T12:00:00Z\r\nWARC-Payload-Digest: sha1:{digest}\r\n' \
                   f'WARC-Record-ID: <urn:uuid:{version:08d}-0000-4000-8000-{n:012d}>\r\n' \
                   f'Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n'
            out.write(gzip.compress(head.encode() + answer + b'\r\n\r\n', 1))


hooks = {'calm': port + 1, 'broken': port + 2, 'gone': port + 3}
commands = {name: [sys.executable, os.path.join(here, 'receiver.py'), str(at), os.path.join(folder, name)] for name, at in hooks.items()}
commands['mail'] = ['/usr/bin/python3', '-m', 'aiosmtpd', '-n', '-l', f'127.0.0.1:{port}', '-c', 'aiosmtpd.handlers.Mailbox', mails]
commands['feed'] = [henro, 'feed', crawl, '--follow']
running = {}
atexit.register(lambda: [process.kill() for process in running.values()])


def start(name):
    running[name] = subprocess.Popen(commands[name], cwd=folder, stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, name + '.said'), 'a'))


def arrived(name):
    """Titles and texts of all messages."""
    if name != 'mail':
        try:
            return [(m['title'], m['message']) for m in map(json.loads, open(os.path.join(folder, name)))]
        except FileNotFoundError:
            return []
    if not os.path.exists(mails):
        return []
    parts = lambda m: [p for p in m.walk() if p.get_content_type() == 'text/plain'] or [m]
    return [(str(make_header(decode_header(m['Subject']))), (parts(m)[0].get_payload(decode=True) or b'').decode()) for m in mailbox.Maildir(mails)]


def counted(name):
    return sum(int((re.match(r'(\d+) pages have changed', title) or ['', 1])[1]) for title, _ in arrived(name))


def causes(name):
    try:
        with open(os.path.join(crawl, 'feed', 'sends.jsonl')) as f:
            return sorted({re.sub(r'\d{4,}', 'N', s['error'])[-70:] for s in map(json.loads, f) if s['to'] == name and 'error' in s})
    except FileNotFoundError:
        return []


def wait(seconds, condition):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.2)
    return condition()


os.makedirs(os.path.join(crawl, 'warc'))
with open(os.path.join(crawl, 'watch.yaml'), 'w') as f:
    f.write('- pages: "*"\n  learn: false\n')
with open(os.path.join(crawl, 'tell.yaml'), 'w') as f:
    f.write(f"- {{name: mail, private: true, to: 'smtp://127.0.0.1:{port}/?from=henro@a.example&to=you@b.example&encryption=None&usestarttls=no'}}\n")
    f.writelines(f"- {{name: {n}, private: true, to: 'generic://127.0.0.1:{at}/hook?disabletls=yes&template=JSON'}}\n" for n, at in hooks.items())
archive(1)
subprocess.run(commands['feed'][:3], check=True, stdout=subprocess.DEVNULL)
archive(2)
for name in ('mail', 'calm', 'broken'):
    start(name)
with open(os.path.join(folder, 'broken.fault'), 'w') as f:
    f.write('500')
time.sleep(1)
running['mail'].send_signal(signal.SIGSTOP)
began = time.time()
start('feed')
holds(f'calm: {count} changes are told while others fail', wait(60, lambda: counted('calm') == count))
print(f'after {time.time() - began:.1f} s')
for name in ('broken', 'gone', 'mail'):
    wait(60, lambda: causes(name))
running['feed'].kill()
running['feed'].wait()
running['mail'].send_signal(signal.SIGCONT)
os.remove(os.path.join(folder, 'broken.fault'))
start('gone')
time.sleep(1)
start('feed')
for name in ('calm', 'broken', 'gone', 'mail'):
    wait(20, lambda: counted(name) >= count)
    messages = arrived(name)
    listed = [line for _, text in messages for line in text.splitlines() if '/page/' in line]
    holds(f'{name}: {counted(name)} changes came in {len(messages)} messages, none listed twice; failed before: {causes(name)}',
          counted(name) == count and len(messages) <= 20 and len(listed) == len(set(listed)) and (causes(name) != []) == (name != 'calm'))
print(f'{time.time() - began:.0f} s')
if failed:
    print(open(os.path.join(folder, 'feed.said')).read()[-2000:])
sys.exit(failed)
