// Has the loader of indexes of wabac.js read answers of a CDX server: every line of them is to be a resource.
//
//   node wabac.mjs ADDRESS QUERY
import { CDXLoader } from "./loader.mjs";

const [address, query] = process.argv.slice(2);
const lines = (await (await fetch(`${address}/web/cdx?${query}`)).text()).split(/(?<=\n)/);
const resources = [];
const loader = new CDXLoader({ async *iterLines() { yield* lines; } }, null, "x", {});
Object.assign(loader, { addResource: (r) => resources.push(r), addPage() {}, async finishIndexing() {} });
await loader.load({});
const whole = resources.every((r) => r.url && r.ts > 0 && r.source.path && r.source.length > 0);
console.log(`${whole && resources.length === lines.length ? "ok   " : "FAIL "} wabac.js reads ${resources.length} resources of ${lines.length} lines`);
process.exit(whole && resources.length === lines.length ? 0 : 1);
