-- The tables of a crawl in DuckDB, in the folder that this has written, while the crawl runs or later:
--   henro export --dir crawl --to cc-index tables
--   cd tables && duckdb -init …/docs/examples/analysis/tables.sql
-- Read the other files of this folder then (.read …/hubs.sql). Those of edges and pages are for henro sql as well:
--   henro sql crawl <hubs.sql
CREATE VIEW captures AS SELECT * FROM 'captures.parquet';
CREATE VIEW edges AS SELECT * FROM 'edges.parquet';
CREATE VIEW pages AS SELECT * FROM 'pages.parquet';
