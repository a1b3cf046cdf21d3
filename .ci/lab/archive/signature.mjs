// Verifies the anonymous signature of a signed WACZ with Web Crypto, as ReplayWeb.page does.
//
//   node signature.mjs FILE.wacz
import { execFileSync } from "node:child_process";
import { createHash, webcrypto } from "node:crypto";

const read = (name) => execFileSync("python3", ["-c", "import sys,zipfile;sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))", process.argv[2], name]);
const { hash, signedData } = JSON.parse(read("datapackage-digest.json"));
const right = "sha256:" + createHash("sha256").update(read("datapackage.json")).digest("hex");
const key = await webcrypto.subtle.importKey("spki", Buffer.from(signedData.publicKey, "base64"), { name: "ECDSA", namedCurve: "P-384" }, true, ["verify"]);
const verify = (text) => webcrypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, Buffer.from(signedData.signature, "base64"), Buffer.from(text));
const ok = hash === right && signedData.hash === right && (await verify(right)) && !(await verify(right + "0"));
console.log(`${ok ? "ok  " : "FAIL"}  signature by ${signedData.publicKey.slice(0, 24)}… of ${signedData.created}`);
process.exitCode = ok ? 0 : 1;
