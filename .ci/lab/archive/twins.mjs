// Opens a crawl of twins, two pages of one content of which the second is a revisit record that names the first, in ReplayWeb.page and in henro
// replay, and searches ReplayWeb.page for a word and a title.
//
//   node twins.mjs CHROMIUM FILE.wacz HENRO DIR ORIGIN
import http from "node:http";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

const [chromium, wacz, henro, dir, origin] = process.argv.slice(2);
const say = (ok, text, more = "") => {
  if (!ok) process.exitCode = 1;
  console.log(`${ok ? "ok  " : "FAIL"}  ${text}${ok ? "" : ": " + more}`);
};
const until = async (find, ms = 20000) => {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
    const found = await Promise.resolve().then(find).catch(() => null);
    if (found) return found;
  }
  return null;
};

const entries = readFileSync(dir + "/warc/index.cdxj", "utf8").trim().split("\n").map((line) => ({ at: line.split(" ")[1], ...JSON.parse(line.slice(line.indexOf(" {"))) }));
const twin = entries.find((e) => e.mime === "warc/revisit" && entries.some((o) => o.digest === e.digest && o.url !== e.url && o.mime === "text/html"));
say(twin && !entries.some((e) => e.url === twin.url && e.mime !== "warc/revisit"), `${twin?.url} is a revisit of another URL alone`, JSON.stringify(entries));

const library = new URL("node_modules/replaywebpage/", import.meta.url).pathname;
const list = { "/ui.js": library + "ui.js", "/replay/ui.js": library + "ui.js", "/replay/sw.js": library + "sw.js", "/a.wacz": wacz };
const server = http.createServer((request, answer) => {
  const { pathname, searchParams } = new URL(request.url, "http://x");
  if (pathname === "/") {
    answer.setHeader("Content-Type", "text/html");
    return answer.end(`<!doctype html><script src="/ui.js"></script><replay-web-page embed="full" style="height:95vh" source="/a.wacz" url="${searchParams.get("url")}" ts="${searchParams.get("ts")}"></replay-web-page>`);
  }
  if (!list[pathname]) return answer.writeHead(404).end();
  const size = statSync(list[pathname]).size, range = /bytes=(\d*)-(\d*)/.exec(request.headers.range ?? "");
  const from = !range ? 0 : range[1] === "" ? Math.max(0, size - Number(range[2])) : Number(range[1]);
  const to = range && range[1] !== "" && range[2] !== "" ? Math.min(Number(range[2]), size - 1) : size - 1;
  answer.writeHead(range ? 206 : 200, { "Content-Length": to - from + 1, "Accept-Ranges": "bytes", "Content-Range": `bytes ${from}-${to}/${size}`,
    "Content-Type": pathname.endsWith(".js") ? "text/javascript" : "application/octet-stream" });
  request.method === "HEAD" ? answer.end() : createReadStream(list[pathname], { start: from, end: to }).pipe(answer);
}).listen(0, "127.0.0.1");
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update"], protocolTimeout: 60000 });
const replay = spawn(henro, ["replay", "--listen", "127.0.0.1:0", dir], { stdio: ["ignore", "pipe", "inherit"] });
const [line] = await new Promise((done) => createInterface(replay.stdout).once("line", (l) => done([l])));
const base = /http:\/\/[^/]+/.exec(line)[0];
try {
  const page = await browser.newPage();
  // the frame that shows a URL: of ReplayWeb.page, or of henro, which gives each origin one of its own
  const showing = (where) => {
    const u = new URL(where), ours = `-${u.protocol.slice(0, -1)}${u.port && `-${u.port}`}.${u.hostname}.archive.localhost:`;
    return page.frames().find((f) => f.url().includes(`mp_/${where}`) || f.url().includes(ours) && f.url().endsWith(u.pathname + u.search));
  };
  const shows = (where, whole) => until(async () => {
    const frame = showing(where);
    const text = frame && await frame.evaluate(() => document.title + "\n" + document.body.innerText);
    return text && whole(text) && text;
  });
  for (const [name, address] of [["henro replay", `${base}/web/${twin.at}/${twin.url}`],
    ["ReplayWeb.page", `http://127.0.0.1:${server.address().port}/?url=${encodeURIComponent(twin.url)}&ts=${twin.at}`]]) {
    const whole = (text) => text.startsWith("Twins of henro\n") && text.split("The same words").length === 61;
    // ReplayWeb.page sometimes waits for ever for its service worker, and comes when it is loaded again. Ours has one try.
    let shown = null;
    for (let tries = name === "henro replay" ? 1 : 3; !shown && tries > 0; tries--) {
      await page.goto("about:blank");
      await page.goto(address);
      shown = await shows(twin.url, whole);
    }
    say(shown, `${name} shows a revisit that names another URL`, page.frames().map((f) => f.url()));
  }
  // The pages of the package, found by their words and titles.
  const app = await until(() => page.frames().find((f) => f.url().includes("/replay/?")));
  for (const [query, want] of [["zyzzyva", "Rare"], ["Twins of henro", "Twins of henro"]]) {
    await app.evaluate((q) => { location.hash = "view=pages&query=" + encodeURIComponent(q); }, query);
    let seen = "";
    const found = await until(async () => {
      seen = await app.evaluate(() => {
        const all = [];
        const look = (root) => { for (const e of root.querySelectorAll("*")) { if (e.localName === "wr-page-entry") all.push(e.shadowRoot?.textContent.replace(/\s+/g, " ").trim()); if (e.shadowRoot) look(e.shadowRoot); } };
        look(document);
        return all;
      });
      return seen.length && seen.length < 3 && seen.every((t) => t.includes(want));
    });
    say(found, `ReplayWeb.page finds "${query}" by its search`, JSON.stringify(seen));
  }
  // A page that is not there says why, and leads on, also from a link within a capture.
  await page.goto(`${base}/web/${twin.at}/${origin}/`);
  const frame = await until(() => showing(`${origin}/`));
  await until(() => frame.evaluate(() => document.links.length));
  await frame.evaluate(() => { document.links[0].href = document.links[0].href.replace("one.html", "never.html"); document.links[0].click(); });
  const led = await until(() => page.url().endsWith("/never.html") && page.evaluate(() => document.readyState !== "loading" && document.body.innerText));
  say(led && /Not in this archive/.test(led) && /does not know this address/.test(led) && /one\.html/.test(led), "henro replay: a link to what is missing leads to why, and on", `${page.url()} ${led}`);
  const back = await page.$eval("a[rel=prev]", (a) => { a.click(); return a.href; });
  say(await shows(origin, (text) => text.includes("123")) && page.url() === back, "henro replay: and back", `${page.url()}, not ${back}`);
} finally {
  replay.kill("SIGTERM");
  await browser.close();
  server.close();
}
