// Answers the questions of tables.go by Polars, which knows nothing of henro and reads the tables through S3 itself, by
// ranges: as tab-separated values in FOLDER/NAME.tsv.
//
//   node polars.mjs ENDPOINT S3-FOLDER FOLDER
import { writeFileSync } from "node:fs";
import pl from "nodejs-polars";

const [endpoint, tables, folder] = process.argv.slice(2);
const cloudOptions = {
  aws_access_key_id: process.env.AWS_ACCESS_KEY_ID, aws_secret_access_key: process.env.AWS_SECRET_ACCESS_KEY,
  aws_region: process.env.AWS_REGION, aws_endpoint_url: endpoint, aws_allow_http: "true",
};
const place = ["warc_filename", "warc_record_offset"];
const read = async (name, columns) => {
  const rows = pl.scanParquet(`${tables}/${name}/*/*.parquet`, { cloudOptions, hivePartitioning: true });
  return (await rows.collect()).unique().select(...columns);
};
const text = (v) => (v === null ? "" : v instanceof Date ? v.toISOString().replace(".000Z", "Z") : String(v));
const write = (name, frame) =>
  writeFileSync(`${folder}/${name}.tsv`,
    frame.sort(place).rows().map((row) => row.map(text).join("\t") + "\n").join(""));

write("captures", await read("captures", [...place, "warc_record_length", "url", "fetch_time", "fetch_status",
  "content_digest", "crawl"]));
write("pages", await read("pages", [...place, "url", "fetch_time", "fetch_status", "crawl"]));
write("edges", (await read("edges", [...place, "number"])).groupBy(place).agg(pl.col("number").count().alias("n")));
const links = await read("pages", [...place, "links"]);
write("links", links.filter(pl.col("links").gt(0)));
