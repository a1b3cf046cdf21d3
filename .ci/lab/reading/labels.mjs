// Prints the labels of the Encoding Standard and the names that they mean, as whatwg-encoding has them.
import { createRequire } from "node:module";

console.log(JSON.stringify(createRequire(import.meta.url)("whatwg-encoding/lib/labels-to-names.json")));
