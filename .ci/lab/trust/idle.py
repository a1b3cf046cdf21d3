"""Connections that ask for nothing: idle.py N PORT... opens N at each port of 127.0.0.1, prints how long the first, which
speaks HTTP, then takes to answer, and holds them all until it is killed."""
import http.client
import resource
import signal
import socket
import sys
import time

count, ports = int(sys.argv[1]), [int(p) for p in sys.argv[2:]]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
for i in range(count):
    for port in ports:
        s = socket.create_connection(("127.0.0.1", port), 5)
        try:
            s.sendall([b"", b"GET / HTTP/1.1\r\nHost: loc", b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"][i % 3])
        except OSError:
            pass  # closed for a later one
        held.append(s)
began = time.time()
connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=20)
try:
    connection.request("GET", "/healthz")
    said = connection.getresponse().status
except OSError as e:
    said = e
print(f"      {len(held)} connections, and then an answer: {said} after {time.time() - began:.3f} s", flush=True)
signal.pause()
