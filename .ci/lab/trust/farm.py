"""Link farms: hosts 127.0.1.1 to 127.0.1.N at a port, whose every page of 1.6 MB leads to 45,000 others, 16 MB of links."""
import http.server
import socketserver
import sys
import threading

FOLDER = "x" * 320


class Farm(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        name = self.path.rsplit("/", 1)[-1] or "0"
        body = (f'<base href="/{FOLDER}/">' + "".join(f"<a href={name}.{i:05}>some words</a>\n" for i in range(45000))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128


port, hosts = int(sys.argv[1]), int(sys.argv[2])
for i in range(1, hosts + 1):
    threading.Thread(target=Server((f"127.0.1.{i}", port), Farm).serve_forever).start()
