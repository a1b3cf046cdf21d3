"""A webhook that writes down what it gets: receiver.py PORT FILE. FILE.fault says what it does instead: 500 or drop."""
import http.server, json, os, sys, time


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers['Content-Length'])).decode()
        try:
            fault = open(sys.argv[2] + '.fault').read()
        except FileNotFoundError:
            fault = ''
        if fault == 'drop':
            self.close_connection = True
            return
        if not fault:
            with open(sys.argv[2], 'a') as f:
                f.write(json.dumps({'at': time.time(), **json.loads(text)}) + '\n')
        self.send_response(500 if fault else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Hook).serve_forever()
