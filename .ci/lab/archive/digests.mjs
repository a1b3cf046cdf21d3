// Reads WARC files with warcio.js, computes the digest of every block and payload anew, and looks every record up by the offset and length
// that an index of ours gives. warcio has no check command, but its parser is not ours.
//
//   node digests.mjs INDEX.cdxj FILE.warc.gz…
import { createReadStream } from "node:fs";
import { readFile, open } from "node:fs/promises";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import path from "node:path";
import { WARCParser } from "warcio";

const [index, ...files] = process.argv.slice(2);
const base32 = (bytes) => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let out = "", bits = 0, value = 0;
  for (const b of bytes) {
    value = (value << 8) | b;
    for (bits += 8; bits >= 5; bits -= 5) out += letters[(value >>> (bits - 5)) & 31];
    value &= 31;
  }
  return out;
};
const sha1 = (parts) => {
  const sum = createHash("sha1");
  for (const part of parts) sum.update(part);
  return "sha1:" + base32(sum.digest());
};
const wrong = [];
const note = (text) => { if (wrong.length < 20) wrong.push(text); };

const types = {}, at = new Map();
const captures = new Map(), concurrent = []; // record ID to URL and moment
const originals = new Map(), referring = []; // URL and moment of a response to its payload digest; revisits with digests
let blocks = 0, payloads = 0;
for (const file of files) {
  const name = path.basename(file);
  const parser = new WARCParser(createReadStream(file), { keepHeadersCase: true, parseHttp: false });
  for await (const record of parser) {
    const field = (name) => record.warcHeaders.headers.get(name);
    const parts = [];
    for await (const part of record) parts.push(part);
    const block = Buffer.concat(parts);
    const type = field("WARC-Type"), where = `${name} at ${parser.offset}: ${type} of ${field("WARC-Target-URI")}`;
    types[type] = (types[type] ?? 0) + 1;
    at.set(name + " " + parser.offset, field("WARC-Target-URI"));
    if (record.warcHeaders.statusline !== "WARC/1.1") note(where + ": " + record.warcHeaders.statusline);
    if (block.length !== Number(field("Content-Length"))) note(where + ": length");
    if (field("WARC-Block-Digest")) {
      blocks++;
      if (field("WARC-Block-Digest") !== sha1([block])) note(where + ": block digest");
    } else note(where + ": no block digest");
    if (type === "response" || type === "resource") {
      payloads++;
      const head = type === "response" ? block.indexOf("\r\n\r\n") + 4 : 0;
      if ((field("WARC-Payload-Digest") ?? field("WARC-Block-Digest")) !== sha1([block.subarray(head)])) note(where + ": payload digest");
    }
    if (type === "revisit" && !(field("WARC-Refers-To-Target-URI") && field("WARC-Refers-To-Date") && field("WARC-Profile"))) note(where + ": refers to nothing");
    if (type === "response") originals.set(field("WARC-Target-URI") + " " + field("WARC-Date"), field("WARC-Payload-Digest"));
    if (type === "revisit" && field("WARC-Payload-Digest")) referring.push({ where, to: field("WARC-Refers-To-Target-URI") + " " + field("WARC-Refers-To-Date"), of: field("WARC-Target-URI"), digest: field("WARC-Payload-Digest") });
    if (type === "request" && !field("WARC-Concurrent-To")) note(where + ": of which answer?");
    const of = field("WARC-Target-URI") + " " + field("WARC-Date");
    captures.set(field("WARC-Record-ID"), of);
    if (field("WARC-Concurrent-To")) concurrent.push({ where, of, to: field("WARC-Concurrent-To") });
  }
}

// Records of one exchange name each other; a requisite names the capture that led to it by its URL.
for (const c of concurrent) if (captures.get(c.to) !== c.of) note(`${c.where}: it is concurrent to ${captures.get(c.to)}`);
const captured = new Set([...captures.values()].map((of) => of.split(" ")[0]));

let others = 0;
for (const r of referring) {
  if (originals.get(r.to) !== r.digest) note(`${r.where}: it refers to ${r.to}, which has ${originals.get(r.to)}`);
  if (!r.to.startsWith(r.of + " ")) others++;
}

let lines = 0, before = "";
for (const line of (await readFile(index, "utf8")).split("\n").slice(0, -1)) {
  lines++;
  if (Buffer.compare(Buffer.from(before), Buffer.from(line)) > 0) note("index is not sorted at " + line);
  before = line;
  const entry = JSON.parse(line.slice(line.indexOf(" {")));
  if (at.get(entry.filename + " " + entry.offset) !== entry.url) note("index: no record of it at " + line);
  if (lines % 97 === 1) { // its bytes alone are a whole record
    const file = await open(files.find((f) => path.basename(f) === entry.filename));
    const { buffer } = await file.read(Buffer.alloc(Number(entry.length)), 0, Number(entry.length), Number(entry.offset));
    await file.close();
    if (!gunzipSync(buffer).includes("WARC-Target-URI: " + entry.url + "\r\n")) note("index: wrong length in " + line);
  }
}
console.log(`${wrong.length ? "FAIL" : "ok  "}  warcio reads ${JSON.stringify(types)}: ${blocks} block and ${payloads} payload digests, ${referring.length} revisits that name their original, ${others} of another URL, ${concurrent.length} of one exchange, ${lines} lines of the index`);
for (const text of wrong) console.log("        " + text);
if (!types.response) note("there is no response to judge");
process.exit(wrong.length ? 1 : 0);
