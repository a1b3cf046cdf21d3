#!/usr/bin/env python3
"""Compares the exports of a crawl, and answers of henro sql, with the ground truth of groundtruth.py.

    compare.py HENRO CRAWL TRUTH WORK TOOLS

HENRO is the program, CRAWL the directory of a crawl of all that TRUTH has, WORK a folder for exports, TOOLS that of parquet.mjs. Every number is computed here
from TRUTH's own files: the links of every format edge for edge, the 20 pages with most in-links, the links between hosts, and the pages
without in-links; and in the exported SQLite database once more, by Python's sqlite3.
"""
import collections, csv, io, json, os, sqlite3, subprocess, sys, time

csv.field_size_limit(1 << 30)
NAVIGATES = ("a", "area", "frame", "iframe", "link", "refresh", "redirect", "header")
FOLLOWS = "kind IN (%s)" % ",".join("'%s'" % kind for kind in NAVIGATES)
failed = False


def say(ok, text):
    global failed
    failed |= not ok
    print(("ok    " if ok else "FAIL  ") + text, flush=True)


def tsv(path):
    with open(path, newline="", encoding="utf-8") as f:
        yield from csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)


def host(url):
    return "/".join(url.split("/")[:3])


def main():
    henro, crawl, truth, work, tools = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    edges = {(row["from"], row["to"]) for row in tsv(os.path.join(truth, "links.tsv"))}
    urls = {row["url"] for row in tsv(os.path.join(truth, "pages.tsv"))}

    def export(name, *flags):
        path, start = os.path.join(work, name), time.time()
        subprocess.run([henro, "export", "--dir", crawl, *flags, path], check=True)
        print("      %s in %.1f s, %.1f MB" % (name, time.time() - start, os.path.getsize(path) / 1e6))
        return path

    def ask(question):
        start = time.time()
        answer = subprocess.run([henro, "sql", crawl, question, "--format", "csv"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        rows = [tuple(row) for row in csv.reader(io.StringIO(answer))][1:]
        print("      %d rows in %.2f s: %s" % (len(rows), time.time() - start, question))
        return rows

    # The same edges in every format.
    with open(export("links.csv", "--what", "links"), newline="", encoding="utf-8") as f:
        found = {(row["from"], row["to"]) for row in csv.DictReader(f) if row["kind"] in NAVIGATES}
    say(found == edges, "csv: %d edges, truth %d" % (len(found), len(edges)))
    with open(export("links.jsonl", "--what", "links"), encoding="utf-8") as f:
        found = {(row["from"], row["to"]) for row in map(json.loads, f) if row["kind"] in NAVIGATES}
    say(found == edges, "jsonl: %d edges, truth %d" % (len(found), len(edges)))
    parquet = export("links.parquet", "--what", "links")
    text = subprocess.run(["node", os.path.join(tools, "parquet.mjs"), parquet, "from", "to", "kind"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    found = {(a, b) for a, b, kind in (line.split("\t") for line in text.split("\n")[1:-1]) if kind in NAVIGATES}
    say(found == edges, "parquet, read by hyparquet: %d edges, truth %d" % (len(found), len(edges)))
    database = sqlite3.connect("file:%s?mode=ro" % export("crawl.sqlite"), uri=True)
    say(database.execute("PRAGMA integrity_check").fetchone() == ("ok",), "sqlite: whole")
    found = set(database.execute('SELECT "from", "to" FROM links WHERE ' + FOLLOWS))
    say(found == edges, "sqlite: %d edges, truth %d" % (len(found), len(edges)))
    with open(os.path.join(work, "edges.tsv"), "w", encoding="utf-8") as f:
        f.writelines("%s\t%s\n" % edge for edge in sorted(found))
    found = set(database.execute("SELECT p.url, l.url FROM parsed_urls p JOIN collected_links l USING (no)"))
    say(edges <= found, "sqlite, by the thesis' tables: %d of %d edges" % (len(found & edges), len(edges)))

    # The same answers, by henro sql and in the database.
    degree = collections.Counter(to for _, to in edges)
    between = collections.Counter((host(a), host(b)) for a, b in edges if host(a) != host(b))
    questions = {
        "in-degree, top 20":
            ("SELECT target, count(DISTINCT source) AS n FROM edges WHERE %s GROUP BY target ORDER BY n DESC, target LIMIT 20" % FOLLOWS,
             [(url, str(n)) for url, n in sorted(degree.items(), key=lambda d: (-d[1], d[0]))[:20]]),
        "links between hosts":
            ("SELECT source_host, target_host, count(*) AS n FROM (SELECT DISTINCT source, target, source_host, target_host FROM edges WHERE %s) "
             "WHERE source_host <> target_host GROUP BY 1, 2 ORDER BY 1, 2" % FOLLOWS,
             [(a, b, str(n)) for (a, b), n in sorted(between.items())]),
        "pages without in-links":
            ("SELECT url FROM pages WHERE url NOT IN (SELECT target FROM edges WHERE %s) ORDER BY url" % FOLLOWS,
             [(url,) for url in sorted(urls - set(degree))]),
        "a join of pages and links":
            ("SELECT p.url, count(DISTINCT e.source) FROM pages p JOIN edges e ON e.target = p.url WHERE e.%s GROUP BY 1 ORDER BY 1" % FOLLOWS,
             [(url, str(degree[url])) for url in sorted(urls & set(degree))]),
        "pages": ("SELECT url FROM pages WHERE status > 0 ORDER BY url", [(url,) for url in sorted(urls)]),
    }
    for name, (question, want) in questions.items():
        answer = ask(question)
        say(answer == want, "%s: %d rows, truth %d" % (name, len(answer), len(want)))
        answer = [tuple(map(str, row)) for row in database.execute(question)]
        say(answer == want, "%s, in the exported database: %d rows" % (name, len(answer)))

    counted = json.loads(subprocess.run([henro, "stats", crawl, "--json"], check=True, stdout=subprocess.PIPE).stdout)
    links, = database.execute("SELECT count(*) FROM links").fetchone()
    say(counted["parsed"] == len(urls) and counted["links"] == links, "stats: %d pages parsed, %d links, %.2f a page (sd %.2f), correlation over hosts %.2f" %
        (counted["parsed"], counted["links"], counted["links_per_page"]["mean"], counted["links_per_page"]["sd"], counted["correlation"]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
