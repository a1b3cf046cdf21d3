// Reads pages as JSON strings, one a line, and writes of each what parse5 finds: its links, frames and base.
import { createInterface } from "node:readline";
import { parse, html } from "parse5";

const attribute = (node, name) => node.attrs.find((a) => (a.prefix ? a.prefix + ":" : "") + a.name === name)?.value;
for await (const line of createInterface({ input: process.stdin })) {
  const found = { a: [], frame: [], base: null };
  const note = (list, value) => { if (value !== undefined) list.push(value); };
  // Scripts are on. What stands in noscript is read for its links alone, by itself. No recursion: trees may be deep.
  const todo = [[parse(JSON.parse(line)), false]];
  while (todo.length) {
    const [node, silent] = todo.pop();
    const name = node.tagName, isHTML = node.namespaceURI === html.NS.HTML;
    if (isHTML && (name === "a" || name === "area")) note(found.a, attribute(node, "href"));
    if (node.namespaceURI === html.NS.SVG && name === "a") note(found.a, attribute(node, "href") ?? attribute(node, "xlink:href"));
    if (isHTML && (name === "frame" || name === "iframe") && !silent) note(found.frame, attribute(node, "src"));
    if (isHTML && name === "base" && !silent) found.base ??= attribute(node, "href") ?? null;
    if (isHTML && name === "iframe" && attribute(node, "srcdoc")) todo.push([parse(attribute(node, "srcdoc")), silent]);
    if (isHTML && name === "noscript" && !silent) todo.push([parse(node.childNodes.map((text) => text.value ?? "").join(""), { scriptingEnabled: false }), true]);
    else for (const child of (node.childNodes ?? []).toReversed()) todo.push([child, silent]);
  }
  process.stdout.write(JSON.stringify(found) + "\n");
}
