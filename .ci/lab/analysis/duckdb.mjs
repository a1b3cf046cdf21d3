// Answers SQL by DuckDB, which knows nothing of henro, as tab-separated values without a heading: each FILE of SQL in
// FOLDER/NAME.tsv, over the Parquet files of the present folder.
//
//   node duckdb.mjs TABLES.sql FOLDER FILE…
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

const [tables, folder, ...files] = process.argv.slice(2);
const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
await duckdb.run("SET TimeZone = 'UTC'");
await duckdb.run(readFileSync(tables, "utf8"));
for (const file of files) {
  const rows = (await duckdb.runAndReadAll(readFileSync(file, "utf8"))).getRowsJson();
  writeFileSync(join(folder, basename(file, ".sql") + ".tsv"), rows.map((row) => row.map((v) => v ?? "").join("\t") + "\n").join(""));
}
