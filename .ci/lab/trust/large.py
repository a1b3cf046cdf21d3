"""An ordinary host of large pages: 127.0.2.1 at a port has 17 pages of 1.6 MB of words each. Every page asked for is a line of LOG."""
import http.server
import random
import socketserver
import sys

words = random.Random(1).choices("the quick brown fox jumps over lazy dogs while seven wizards boxed quietly beyond lakes".split(), k=5000)


class Large(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        links = "".join(f'<a href="/{i}">page {i}</a>\n' for i in range(1, 17)) if self.path == "/" else ""
        line = " ".join(words)
        body = (links + "".join(f"<p>{self.path} {i} {line}</p>\n" for i in range(1600000 // len(line)))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with open(sys.argv[2], "a", encoding="ascii") as log:
            print(self.path, file=log)

    def log_message(self, *arguments):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


Server(("127.0.2.1", int(sys.argv[1])), Large).serve_forever()
