// Opens archives in headless Chromium: a WACZ in the library of ReplayWeb.page, with its own service worker; and henro replay, where every
// request the browser makes is looked at.
//
//   node browser.mjs CHROMIUM FILE.wacz HENRO DIR PAGE [SCREENSHOTS]
//
// PAGE was captured at least twice, the last time as a revisit.
import http from "node:http";
import net from "node:net";
import { createReadStream, statSync } from "node:fs";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

const [chromium, wacz, henro, dir, page, screenshots] = process.argv.slice(2);
let failed = false;
const say = (ok, text, more = "") => {
  failed ||= !ok;
  console.log(`${ok ? "ok  " : "FAIL"}  ${text}${ok ? "" : ": " + more}`);
};
const rest = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (find, ms = 20000) => {
  for (const end = Date.now() + ms; Date.now() < end; await rest(100)) {
    const found = await Promise.resolve().then(find).catch(() => null);
    if (found) return found;
  }
  return null;
};
// text is what a frame shows, once its page has arrived: before, it shows the beginning.
const text = (frame) => frame.evaluate(() => document.readyState !== "loading" && document.body.innerText.trim());

// A web server for files, with byte ranges.
const files = (list, root) => new Promise((ready) => {
  const server = http.createServer((request, answer) => {
    const { pathname, searchParams } = new URL(request.url, "http://x");
    if (pathname === "/") {
      answer.setHeader("Content-Type", "text/html");
      return answer.end(root(searchParams));
    }
    if (!list[pathname]) return answer.writeHead(404).end();
    const size = statSync(list[pathname]).size, range = /bytes=(\d*)-(\d*)/.exec(request.headers.range ?? "");
    let from = 0, to = size - 1;
    if (range) {
      from = range[1] === "" ? Math.max(0, size - Number(range[2])) : Number(range[1]);
      if (range[1] !== "" && range[2] !== "") to = Math.min(to, Number(range[2]));
      answer.writeHead(206, { "Content-Range": `bytes ${from}-${to}/${size}`, "Content-Length": to - from + 1, "Accept-Ranges": "bytes" });
    } else {
      answer.writeHead(200, { "Content-Length": size, "Accept-Ranges": "bytes", "Content-Type": pathname.endsWith(".js") ? "text/javascript" : "application/octet-stream" });
    }
    if (request.method === "HEAD") answer.end();
    else createReadStream(list[pathname], { start: from, end: to }).pipe(answer);
  }).listen(0, "127.0.0.1", () => ready(server));
});

// The live web is a server that counts who comes: every name and address but our own leads there.
const came = [];
const live = net.createServer((socket) => {
  let begin = Buffer.alloc(0);
  socket.on("error", () => {}).on("data", (more) => {
    begin = Buffer.concat([begin, more]);
    const tls = begin[0] === 0x16;
    if (tls && (begin.length < 5 || begin.length < 5 + begin.readUInt16BE(3))) return; // the first message is not whole
    // The name is in the clear, in HTTP as in TLS. The browser's own errands are its maker's business.
    const name = (tls ? serverName(begin) : /\r\nHost: ([^:\r]+)/.exec(begin.toString("latin1"))?.[1]) ?? "?";
    if (!/\.(google|googleapis|gstatic|gvt1)\.com$/.test(name)) came.push(name);
    socket.destroy();
  });
});

// serverName is the name that a ClientHello asks for (RFC 8446 section 4.1.2, RFC 6066 section 3). The rest of it is random bytes, in which anything may stand.
function serverName(hello) {
  try {
    let at = 5 + 4 + 2 + 32; // record, handshake, version, random
    at += 1 + hello.readUInt8(at); // session
    at += 2 + hello.readUInt16BE(at); // ciphers
    at += 1 + hello.readUInt8(at); // compression
    const end = at + 2 + hello.readUInt16BE(at);
    for (at += 2; at < end; at += 4 + hello.readUInt16BE(at + 2)) {
      if (hello.readUInt16BE(at) === 0) return hello.toString("latin1", at + 9, at + 9 + hello.readUInt16BE(at + 7));
    }
  } catch {} // cut off: no name
}
await new Promise((ready) => live.listen(0, "127.0.0.1", ready));
const browser = await puppeteer.launch({
  executablePath: chromium,
  args: [
    "--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--no-pings",
    `--host-resolver-rules=MAP * 127.0.0.1:${live.address().port}, EXCLUDE 127.0.0.1, EXCLUDE *.localhost`,
  ],
  protocolTimeout: 60000,
});

// captures asks henro for the mementos of the page.
const replay = spawn(henro, ["replay", "--listen", "127.0.0.1:0", dir], { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await new Promise((done) => createInterface(replay.stdout).once("line", (l) => done([l])));
const base = /http:\/\/[^/]+/.exec(line)[0];
try {
  const timemap = await (await fetch(`${base}/timemap/link/${page}`)).text();
  const mementos = [...timemap.matchAll(/<([^>]+)>; rel="[a-z ]*memento"; datetime="([^"]+)"/g)].map((m) => ({ url: m[1], at: new Date(m[2]) }));
  const stamp = (at) => at.toISOString().replace(/\D/g, "").slice(0, 14);
  say(mementos.length >= 2, `timemap of ${page}: ${mementos.length} mementos`, timemap);
  const first = mementos[0], last = mementos.at(-1);

  // ReplayWeb.page.
  const library = new URL("node_modules/replaywebpage/", import.meta.url).pathname;
  const server = await files(
    { "/ui.js": library + "ui.js", "/replay/ui.js": library + "ui.js", "/replay/sw.js": library + "sw.js", "/a.wacz": wacz },
    (q) => `<!doctype html><script src="/ui.js"></script><replay-web-page style="height:95vh" source="/a.wacz" url="${q.get("url")}" ts="${q.get("ts")}"></replay-web-page>`);
  const their = await browser.newPage();
  await their.setViewport({ width: 1200, height: 800 });
  for (const [what, memento] of [["a captured page", first], ["a revisited one", last]]) {
    const want = await (await fetch(memento.url.replace("mp_/", "id_/"))).text();
    const title = /<title>\s*([^<]*?)\s*<\/title>/i.exec(want)[1];
    let shown = null;
    for (let tries = 3; !shown && tries > 0; tries--) { // it sometimes waits for ever for its service worker
      await their.goto("about:blank");
      await their.goto(`http://127.0.0.1:${server.address().port}/?url=${encodeURIComponent(page)}&ts=${stamp(memento.at)}`);
      const frame = await until(() => their.frames().find((f) => f.url().includes(`${stamp(memento.at)}mp_/${page}`)));
      shown = frame && await until(async () => (await text(frame)) && { title: await frame.title(), text: await text(frame) });
    }
    say(shown && shown.title === title && shown.text.length > 100, `ReplayWeb.page shows ${what}: "${shown?.title}" of ${stamp(memento.at)}`,
      `want "${title}" in one of ${their.frames().map((f) => f.url())}`);
    if (screenshots && memento === last) await their.screenshot({ path: screenshots + "/replaywebpage.png" });
  }
  await their.close();
  server.close();

  // henro replay.
  const ours = await browser.newPage();
  await ours.setViewport({ width: 1200, height: 800 });
  await ours.goto("http://live.docs.test:8280/").catch(() => {});
  say(came.includes("live.docs.test"), "henro replay: a request to the live web would be seen");
  await ours.goto("about:blank");
  came.length = 0;

  const inside = (memento) => until(() => ours.frames().find((f) => f.url().startsWith(`http://${stamp(memento.at)}-`)));
  await ours.goto(base + "/");
  say(await until(async () => (await text(ours.mainFrame())).includes(new URL(page).host)), "henro replay: start page lists the site");
  if (screenshots) await ours.screenshot({ path: screenshots + "/replay-sites.png" });
  await ours.type("input[name=q]", new URL(page).host);
  await Promise.all([ours.waitForNavigation(), ours.keyboard.press("Enter")]);
  say((await ours.$$("ul.rows li")).length > 10, "henro replay: search lists pages of the site");
  await ours.goto(`${base}/web/*/${page}`);
  const days = await ours.$$eval("details a", (links) => links.map((a) => a.getAttribute("href")));
  say(mementos.every((m) => days.includes(`/web/${stamp(m.at)}/${page}`)), `henro replay: the calendar has all ${mementos.length} captures`, days);
  if (screenshots) {
    await ours.$eval("details", (d) => { d.open = true; });
    await ours.screenshot({ path: screenshots + "/replay-calendar.png" });
  }
  await ours.goto(`${base}/web/${stamp(first.at)}/${page}`);
  let frame = await inside(first);
  const words = frame && await until(() => text(frame));
  say(words?.length > 100, "henro replay: a captured page is shown");
  if (screenshots) { await rest(500); await ours.screenshot({ path: screenshots + "/replay-page.png" }); }
  await Promise.all([ours.waitForNavigation(), ours.click("#next")]);
  say(ours.url().startsWith(base + "/web/") && !ours.url().includes(stamp(first.at)), "henro replay: a step forward in time", ours.url());
  await ours.goto(`${base}/web/${stamp(last.at)}/${page}`);
  frame = await inside(last);
  const again = frame && await until(() => text(frame));
  say(again === words, "henro replay: the revisit shows what it refers to", again);
  say(await ours.$eval("#unchanged", (e) => !e.hidden), "henro replay: the banner says since when it is unchanged");

  // A link within, and the banner follows.
  const to = await frame.evaluate(() => {
    const a = [...document.links].find((a) => a.host === location.host && a.pathname !== location.pathname && /\.html?$/.test(a.pathname));
    a.click();
    return a.href;
  });
  const followed = await until(() => ours.url() !== `${base}/web/${stamp(last.at)}/${page}` && ours.url());
  say(followed && to.endsWith(followed.split("/").slice(5).join("/").split("#")[0].split("/").slice(-1)[0]), `henro replay: a link is followed in the archive, and the banner with it`, `${to} and ${followed}`);

  // What a hostile page would try. Every one of these must come to nothing.
  say(came.length === 0, "henro replay: nothing was asked of the live web", came);
  frame = await until(() => ours.frames().find((f) => f.url().includes(".archive.localhost:")));
  const hostile = "http://live.docs.test:8280";
  const free = await frame.evaluate(async (live, port) => {
    const add = (tag, fields) => document.body.append(Object.assign(document.createElement(tag), fields));
    add("img", { src: live + "/img" });
    add("script", { src: live + "/script" });
    add("iframe", { src: live + "/iframe" });
    add("link", { rel: "stylesheet", href: live + "/style" });
    add("link", { rel: "prefetch", href: "https://prefetch.docs.test/x" });
    add("object", { data: live + "/object" });
    add("video", { src: live + "/video" });
    document.body.style.background = `url(${live}/background)`;
    await fetch(live + "/fetch").catch(() => {});
    navigator.sendBeacon(live + "/beacon");
    try { new WebSocket("ws://live.docs.test:8280/socket"); } catch {}
    try { new RTCPeerConnection({ iceServers: [{ urls: "stun:live.docs.test:8280" }] }); } catch {}
    try { new EventSource(live + "/events"); } catch {}
    // WebRTC, from a window within; TURN by TCP goes to where all names lead.
    const call = (w) => {
      const c = new w.RTCPeerConnection({ iceServers: [{ urls: `turn:127.0.0.1:${port}?transport=tcp`, username: "a", credential: "b" }] });
      c.createDataChannel("x");
      c.createOffer().then((o) => c.setLocalDescription(o));
    };
    self.call = call;
    // A frame is in the page as soon as it is put there, in whatever way: its window is free of WebRTC at once.
    const frame = () => Object.assign(document.createElement("iframe"), { srcdoc: "<script>parent.call(self)</script>" });
    const html = frame().outerHTML, box = () => document.body.appendChild(document.createElement("div"));
    const range = () => { const r = document.createRange(); r.selectNode(box()); return r; };
    const inner = () => document.body.appendChild(document.createElement("iframe")).contentWindow;
    self.free = [];
    for (const make of [() => add("iframe", {}), () => document.body.append(frame()), () => document.body.insertBefore(frame(), null),
      () => add("iframe", { src: URL.createObjectURL(new Blob(["<script>parent.call(self)</script>"], { type: "text/html" })) }),
      () => box().before(frame()), () => box().replaceWith(frame()), () => box().replaceChildren(frame()), () => document.body.replaceChild(frame(), box()),
      () => box().insertAdjacentElement("afterend", frame()), () => box().insertAdjacentHTML("afterend", html), () => { box().innerHTML = html; },
      () => { box().outerHTML = html; }, () => range().insertNode(frame()), () => range().surroundContents(frame()),
      () => { const w = inner(); w.Node.prototype.appendChild.call(document.body, frame()); },
      () => { const w = inner(); Node.prototype.appendChild.call(w.document.body, w.document.createElement("iframe")); },
      () => { const w = inner(); w.document.write(html); },
      () => document.body.append(document.createElement("div").attachShadow({ mode: "closed" }).appendChild(document.createElement("iframe")).getRootNode().host)]) {
      make();
      const all = (w) => { for (let i = 0; i < w.length; i++) { try { call(w[i]); self.free.push(String(make)); } catch {} all(w[i]); } };
      all(self);
    }
    try { call(self); } catch {}
    try { window.open(live + "/window"); } catch {}
    try { top.location = live + "/top"; } catch {}
    try { parent.document.querySelector("iframe").removeAttribute("sandbox"); } catch {}
    try { navigator.serviceWorker.register("sw.js").catch(() => {}); } catch {}
    const form = Object.assign(document.createElement("form"), { action: live + "/form" });
    document.body.append(form);
    setTimeout(() => form.submit());
    return self.free;
  }, hostile, live.address().port);
  say(free.length === 0, "henro replay: no frame that a page makes has WebRTC", free);
  await rest(1000);
  await ours.goto(`${base}/web/${stamp(last.at)}/${page}`); // for the form may have led to our page of what is missing
  frame = await inside(last);
  await until(() => text(frame));
  await frame.evaluate((live) => { location = live + "/location"; }, hostile).catch(() => {});
  await rest(1500);
  say(came.length === 0, "henro replay: nor by a page that tries by pictures, scripts, frames, forms, sockets, windows and by going there", came);
  say(ours.url().startsWith(base) && (await browser.pages()).length <= 3, "henro replay: the page stayed, and no window was opened", ours.url());
  process.exitCode = failed ? 1 : 0;

  if (screenshots) {
    await ours.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    await ours.setExtraHTTPHeaders({ "Accept-Language": "ja" });
    await ours.setViewport({ width: 390, height: 780, deviceScaleFactor: 2, isMobile: true });
    await ours.goto(`${base}/web/*/${page}`);
    await ours.screenshot({ path: screenshots + "/replay-phone.png" });
  }
} finally {
  replay.kill("SIGTERM");
  await browser.close();
  live.close();
}
