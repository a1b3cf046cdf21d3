#!/usr/bin/env python3
"""Compares a finished crawl with the ground truth.

    compare.py TRUTHDIR --pages PAGES.tsv [--links LINKS.tsv] [--logs DIR] [--warc DIR] [--repeats N] [--exact] [--requisites]

PAGES.tsv and LINKS.tsv come from `henro export --what pages|links --to tsv`: columns are found by their names (url, status,
number; from, to, kind), and from and to may be URLs or page numbers. Checked, one line each, exit code 1 if any fails:

- the pages fetched with status 200 are exactly those of the truth, and so are the others with their status; with --requisites
  so are what the pages are made of, and without there is none;
- links per page are within 1 % of the truth, on average and in total; with --exact every single link is the same;
- no URL was asked for twice, by the web server's access logs, and none is archived twice, by the WARC files themselves, which are
  read here record by record with every digest computed again. --repeats N allows so many in all, for crawls that were killed.
"""
import argparse, base64, collections, csv, glob, hashlib, os, sys, zlib

NAVIGATES = {"a", "area", "frame", "iframe", "link", "refresh", "redirect", "header"}
csv.field_size_limit(1 << 30)
failed = False


def say(ok, text, examples=()):
    global failed
    failed |= not ok
    print(("ok    " if ok else "FAIL  ") + text)
    for example in list(examples)[:5]:
        print("        " + str(example))


def table(path):
    with open(path, newline="", encoding="utf-8") as f:
        yield from csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)


def members(path):
    """Yields the text of every gzip member, which must be one record each."""
    with open(path, "rb") as f:
        data = f.read(1 << 20)
        unzip, parts = zlib.decompressobj(31), []
        while data:
            parts.append(unzip.decompress(data))
            data = unzip.unused_data
            if unzip.eof:
                yield b"".join(parts)
                unzip, parts = zlib.decompressobj(31), []
            data = data or f.read(1 << 20)
        if parts:
            raise ValueError("torn at its end")


def digest(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def archived(folder):
    """Returns how often each URL has a response or the same payload as another one, and what is wrong with the files."""
    count, wrong, records = collections.Counter(), [], 0
    held, referred = set(), []  # captures that hold their payload, and those to which revisits refer
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.warc.gz*"), recursive=True)):
        if path.endswith(".open"):
            wrong.append(path + ": was not finished")
        try:
            for text in members(path):
                records += 1
                head, _, rest = text.partition(b"\r\n\r\n")
                lines = head.decode().split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines[1:])
                block = rest[:int(fields["Content-Length"])]
                where = "%s: %s of %s" % (os.path.basename(path), fields["WARC-Type"], fields.get("WARC-Target-URI"))
                if lines[0] != "WARC/1.1" or rest[len(block):] != b"\r\n\r\n":
                    wrong.append(where + ": version or end")
                if fields["WARC-Block-Digest"] != digest(block):
                    wrong.append(where + ": block digest")
                if fields["WARC-Type"] == "response":
                    count[fields["WARC-Target-URI"]] += 1
                    if fields["WARC-Payload-Digest"] != digest(block.partition(b"\r\n\r\n")[2]):
                        wrong.append(where + ": payload digest")
                    held.add((fields["WARC-Target-URI"], fields["WARC-Date"], fields["WARC-Payload-Digest"]))
                elif fields["WARC-Type"] == "revisit":
                    to = fields["WARC-Refers-To-Target-URI"], fields["WARC-Refers-To-Date"], fields["WARC-Payload-Digest"]
                    referred.append((where, to))
                    if to[0] != fields["WARC-Target-URI"]:
                        count[fields["WARC-Target-URI"]] += 1
        except (ValueError, KeyError, zlib.error) as e:
            wrong.append("%s: %s" % (path, e))
    wrong += ["%s: refers to what is not there" % where for where, to in referred if to not in held]
    return count, wrong, records


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("truth")
    arguments.add_argument("--pages", required=True)
    arguments.add_argument("--links")
    arguments.add_argument("--logs")
    arguments.add_argument("--warc")
    arguments.add_argument("--agent", default="henro", help="part of the user agent whose requests count; default henro")
    arguments.add_argument("--repeats", type=int, default=0)
    arguments.add_argument("--exact", action="store_true")
    arguments.add_argument("--requisites", action="store_true")
    o = arguments.parse_args()

    truth = {row["url"]: row for row in table(os.path.join(o.truth, "pages.tsv"))}
    hosts = {"/".join(url.split("/")[:3]) for url in truth}
    pages, numbers, twice, requisites = {}, {}, [], {}
    for row in table(o.pages):
        if row["url"].endswith("/robots.txt") and row["url"] not in truth:
            continue
        if row["url"] in pages or row["url"] in requisites:
            twice.append(row["url"])
        (requisites if row["role"] == "requisite" else pages)[row["url"]] = row["status"]
        numbers[row.get("number", "")] = row["url"]
    say(not twice, "%d URLs in the page table, %d of them twice" % (len(pages), len(twice)), twice)
    for name, wanted in (("fetched", lambda status: status == "200"), ("other", lambda status: status != "200")):
        want = {(url, row["status"]) for url, row in truth.items() if wanted(row["status"])}
        got = {(url, status) for url, status in pages.items() if wanted(status) and status not in ("", "0")}
        say(want == got, "%s URLs: %d of %d found, %d too many" % (name, len(want & got), len(want), len(got - want)),
            ["missing " + " ".join(x) for x in sorted(want - got)[:3]] + ["too many " + " ".join(x) for x in sorted(got - want)[:3]])

    want = {(row["url"], row["status"]) for row in table(os.path.join(o.truth, "requisites.tsv"))} if o.requisites else set()
    got = {(url, status) for url, status in requisites.items() if "/".join(url.split("/")[:3]) in hosts}
    say(want == got, "requisites: %d of %d found, %d too many" % (len(want & got), len(want), len(got - want)),
        ["missing " + " ".join(x) for x in sorted(want - got)[:3]] + ["too many " + " ".join(x) for x in sorted(got - want)[:3]])

    if o.links:
        def url_of(value):
            return numbers.get(value, value)
        edges = set()
        for row in table(o.links):
            if row.get("kind", "a") in NAVIGATES:
                edges.add((url_of(row["from"]), url_of(row["to"])))
        want = {(row["from"], row["to"]) for row in table(os.path.join(o.truth, "links.tsv"))}
        html = sum(1 for row in truth.values() if row["status"] == "200" and row["type"] == "text/html") or 1
        ratio = len(edges) / max(len(want), 1)
        say(0.99 <= ratio <= 1.01, "links per page: %.3f, truth %.3f, ratio %.5f" % (len(edges) / html, len(want) / html, ratio))
        differ = len(want ^ edges)
        say(not (o.exact and differ), "links: %d of %d found, %d too many" % (len(want & edges), len(want), len(edges - want)),
            ["missing " + " -> ".join(x) for x in sorted(want - edges)[:3]] + ["too many " + " -> ".join(x) for x in sorted(edges - want)[:3]])

    if o.logs:
        asked = collections.Counter()
        for path in glob.glob(os.path.join(o.logs, "*.docs.test.log")):
            with open(path, encoding="utf-8", errors="replace") as f:
                for line in f:
                    columns = line.rstrip("\n").split("\t")
                    if o.agent in columns[7] and columns[5] != "/robots.txt":
                        asked[columns[4] + columns[5]] += 1
        repeats = sum(n - 1 for n in asked.values())
        say(repeats <= o.repeats, "%d URLs asked for, %d repeats" % (len(asked), repeats), [url for url, n in asked.items() if n > 1])
        # What nginx cannot parse it answers with 400, and logs without host and URI.
        missed = {url for url, row in truth.items() if row["status"] != "400"} - set(asked)
        say(not missed, "%d URLs of the truth were never asked for" % len(missed), missed)

    if o.warc:
        count, wrong, records = archived(o.warc)
        say(not wrong, "%d WARC records, %d with faults" % (records, len(wrong)), wrong)
        here = {url: n for url, n in count.items() if not url.endswith("/robots.txt")}
        repeats = sum(n - 1 for n in here.values())
        say(repeats <= o.repeats, "%d URLs archived, %d repeats" % (len(here), repeats), [url for url, n in here.items() if n > 1])
        want = {url for url, row in truth.items() if row["status"] == "200"}
        say(want <= set(here), "%d fetched pages are not archived" % len(want - set(here)), want - set(here))
    say(len(hosts) >= 5, "%d hosts" % len(hosts))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
