// verify.mjs PORT DIRECTORY: a host that lets in only crawlers whose requests are signed by a key of a directory, and logs each request as
// "STATUS PATH WHY". The directory is asked for over plain HTTP, at the address that its own name stands for here; its answer must be signed
// by its key too (RFC 9421 with @authority;req), and the name of the key must be its thumbprint.
import { createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";
import { httpbis } from "http-message-signatures";
import { helpers, jwkToKeyID } from "web-bot-auth";

const [port, directory] = process.argv.slice(2);
const agent = "https://bot.example.org";
const path = "/.well-known/http-message-signatures-directory";

const verifier = (jwk) => ({
  id: jwk.kid,
  algs: ["ed25519"],
  verify: async (data, signature) => verify(null, data, createPublicKey({ key: jwk, format: "jwk" }), signature),
});

async function keys() {
  const answer = await fetch(directory + path);
  const type = answer.headers.get("content-type");
  if (type !== "application/http-message-signatures-directory+json") throw new Error(`the directory is ${type}`);
  const found = (await answer.json()).keys;
  for (const jwk of found) {
    const id = await jwkToKeyID(jwk, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
    if (id !== jwk.kid) throw new Error(`key ${jwk.kid} has the thumbprint ${id}`);
  }
  const request = { method: "GET", url: directory + path, headers: {} };
  const response = { status: answer.status, headers: Object.fromEntries(answer.headers) };
  const held = await httpbis.verifyMessage({
    keyLookup: async ({ keyid, tag }) => tag === "http-message-signatures-directory" && found.filter((k) => k.kid === keyid).map(verifier)[0],
    requiredParams: ["created", "expires", "keyid", "tag"], requiredFields: ["@authority"],
  }, response, request);
  if (!held) throw new Error("the directory is not signed by its key");
  return found;
}

const known = await keys();
const nonces = new Set();
async function judge(request) {
  if (request.headers["signature-agent"] !== `sig1="${agent}"`) return `agent ${request.headers["signature-agent"]}`;
  let seen;
  const held = await httpbis.verifyMessage({
    keyLookup: async (parameters) => {
      seen = parameters;
      return parameters.tag === "web-bot-auth" && known.filter((k) => k.kid === parameters.keyid).map(verifier)[0];
    },
    requiredParams: ["created", "expires", "keyid", "nonce", "tag"], requiredFields: ["@authority", "signature-agent"],
  }, { method: request.method, url: `http://${request.headers.host}${request.url}`, headers: request.headers });
  if (!held) return "no signature that holds";
  if (nonces.has(seen.nonce)) return "a nonce came twice";
  nonces.add(seen.nonce);
  return "";
}

createServer(async (request, response) => {
  let why;
  try { why = await judge(request); } catch (error) { why = error.message; }
  const status = why ? 401 : request.url === "/robots.txt" ? 404 : 200;
  console.log(status, request.url, why);
  response.writeHead(status, { "Content-Type": "text/html" });
  response.end(status === 200 ? [1, 2, 3, 4].map((n) => `<a href="/${n}.html">${n}</a>`).join(" ") : "");
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));
