"""Opens pages in headless Chromium, as windows and frames of a page of the live web, and fails if one asks that web for anything. The live
web is a server here: live.py PORT URL..."""
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import time

came = []


class Live(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        came.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        if self.path == "/alive":
            self.wfile.write(("""<script>
onmessage = (e) => fetch("/message?" + encodeURIComponent(JSON.stringify(e.data)));
for (const url of %s) {
  window.open(url);
  document.write("<iframe src='" + url + "'></iframe>");
  fetch(url).then((a) => a.text()).then((t) => fetch("/read?" + encodeURIComponent(t)), () => {});
}
setTimeout(() => fetch("/opened"), 4000);
</script>""" % json.dumps(sys.argv[2:])).encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Live)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    browser = subprocess.Popen(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--user-data-dir=" + profile, "--remote-debugging-port=0",
         "--disable-popup-blocking", "http://127.0.0.1:%s/alive" % sys.argv[1]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        if "/opened" in came:
            break
        time.sleep(0.1)
    browser.kill()
    browser.wait()
if "/opened" not in came:
    sys.exit("      the browser never came")
came = [path for path in came if path not in ("/alive", "/opened", "/favicon.ico")]
if came:
    print("      it asked for", [path[:100] for path in came[:3]])
sys.exit(bool(came))
