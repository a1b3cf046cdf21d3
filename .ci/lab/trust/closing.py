"""closing.py PORT LOG: a host that answers the first request of a connection and closes it when it has read the second.

Each request is a line of LOG: its time in seconds, and its path."""

import socket
import sys
import threading
import time

log = open(sys.argv[2], "w", buffering=1)


def serve(connection):
    reader = connection.makefile("rb")
    for answered in (False, True):
        line = reader.readline()
        if not line:
            break
        path = line.split()[1].decode()
        log.write(f"{time.time():.4f} {path}\n")
        while reader.readline() not in (b"\r\n", b""):
            pass
        if answered:
            break
        page = b"" if path == "/robots.txt" else b"".join(b'<a href="/p%d">p</a>' % i for i in range(12))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))
    reader.close()
    connection.close()


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
