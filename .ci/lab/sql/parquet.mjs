// Reads a Parquet file by hyparquet, which knows nothing of henro, and writes the columns named as tab-separated values.
//
//   node parquet.mjs FILE COLUMN…
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";

const [path, ...columns] = process.argv.slice(2);
const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), columns, compressors });
process.stdout.write(columns.join("\t") + "\n");
for (let i = 0; i < rows.length; i += 10000) {
  process.stdout.write(rows.slice(i, i + 10000).map((row) => columns.map((name) => row[name] ?? "").join("\t") + "\n").join(""));
}
