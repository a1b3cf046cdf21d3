"""Readers that no server should take all of: readers.py PORT PATH N fails if N of them are answered, or nobody after them."""
import http.client
import select
import socket
import sys
import time

port, path, most = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def ask():
    s = socket.socket()
    s.settimeout(5)
    s.connect(("127.0.0.1", port))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
    return s


readers = []
for _ in range(most):
    try:
        readers.append(ask())
    except OSError:
        break
time.sleep(2)
taken = 0
for s in select.select(readers, [], [], 0)[0]:
    try:
        taken += b" 200 " in s.recv(64)
    except ConnectionResetError:
        pass  # closed for a later one
print("     ", taken, "of", len(readers), "are answered")
for s in readers:
    s.close()
time.sleep(1)
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
connection.request("GET", "/healthz")
sys.exit(taken > 64 or connection.getresponse().status != 204)
