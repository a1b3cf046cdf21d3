"""Writes a WARC record of a page that no crawl asked for, as one member of gzip, to standard output."""
import gzip
import sys

block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>foreign"
head = (
    "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
    "WARC-Target-URI: http://foreign.test/\r\nWARC-Date: 2026-03-14T12:00:00Z\r\n"
    f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
).encode()
sys.stdout.buffer.write(gzip.compress(head + block + b"\r\n\r\n"))
