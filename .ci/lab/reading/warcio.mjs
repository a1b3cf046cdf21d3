// Prints of each WARC file the target URIs of the responses that warcio lists, in one line.
import { createReadStream } from "node:fs";
import { WARCParser } from "warcio";

for (const file of process.argv.slice(2)) {
  const listed = [];
  try {
    for await (const record of new WARCParser(createReadStream(file), { parseHttp: false })) {
      for await (const _ of record); // to the end of its block
      if (record.warcType === "response") listed.push(record.warcTargetURI);
    }
  } catch {
    // What it listed before counts.
  }
  console.log(listed.join(" "));
}
