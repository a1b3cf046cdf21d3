#!/usr/bin/env python3
"""Judges a WACZ file by the specification (1.1.1), with nothing but Python's own library.

    wacz.py FILE.wacz

The data package names every part with its length and SHA-256; WARC files and the blocks of the index are stored, not packed
again; the index is sorted, its blocks lie where the index above says, and every line leads to a record of that page; every page listed
is in the index.
"""
import gzip, hashlib, json, sys, zipfile, zlib

wrong = []


def need(ok, text):
    if not ok and len(wrong) < 20:
        wrong.append(text)


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


z = zipfile.ZipFile(sys.argv[1])
need(z.testzip() is None, "a check sum of the ZIP is wrong")
names = set(z.namelist())
text = z.read("datapackage.json")
package, above = json.loads(text), json.loads(z.read("datapackage-digest.json"))
above.pop("signedData", None)  # signature.mjs judges it
need(above == {"path": "datapackage.json", "hash": sha256(text)}, "datapackage-digest.json: %s" % above)
need(package["profile"] == "data-package" and package["wacz_version"] == "1.1.1", "datapackage.json: profile or version")
listed = {r["path"] for r in package["resources"]}
need(listed == names - {"datapackage.json", "datapackage-digest.json"}, "resources and files differ: %s" % (listed ^ names))
for r in package["resources"]:
    with z.open(r["path"]) as f:
        sum, size = hashlib.sha256(), 0
        while data := f.read(1 << 20):
            sum.update(data)
            size += len(data)
    need(r["hash"] == "sha256:" + sum.hexdigest() and r["bytes"] == size and r["name"] == r["path"].split("/")[-1], "resource %s" % r)
warcs = [n for n in names if n.startswith("archive/")]
need(warcs and all(n.endswith((".warc.gz", ".warc")) for n in warcs), "archive: %s" % warcs)
for n in warcs + ["indexes/index.cdx.gz"]:
    need(z.getinfo(n).compress_type == zipfile.ZIP_STORED, n + " is packed twice")

head, *blocks = z.read("indexes/index.idx").decode().splitlines()
need(head.startswith("!meta 0 ") and json.loads(head[8:])["format"] == "cdxj-gzip-1.0", "index.idx begins with " + head)
packed, end, lines = z.read("indexes/index.cdx.gz"), 0, []
for block in blocks:
    key, stamp, rest = block.split(" ", 2)
    b = json.loads(rest)
    data = packed[b["offset"]:b["offset"] + b["length"]]
    need(b["offset"] == end and b["digest"] == sha256(data) and b["filename"] == "index.cdx.gz", "block %s" % block)
    end += b["length"]
    part = gzip.decompress(data).decode().splitlines()
    need(part[0].startswith(key + " " + stamp + " "), "block %s begins with %s" % (block, part[0]))
    lines += part
need(end == len(packed), "blocks do not cover the index")
need(lines == sorted(lines, key=str.encode), "the index is not sorted")

files = {n.split("/")[-1]: z.open(n) for n in warcs}
captures = set()
for i, line in enumerate(lines):
    key, stamp, rest = line.split(" ", 2)
    e = json.loads(rest)
    captures.add((e["url"], stamp))
    need(e["digest"].startswith("sha1:") if "digest" in e else True, "digest in " + line)
    if i % 101 == 0:
        f = files[e["filename"]]
        f.seek(int(e["offset"]))
        record = zlib.decompress(f.read(int(e["length"])), 31)
        need(("\r\nWARC-Target-URI: %s\r\n" % e["url"]).encode() in record, "no record of it at " + line)

pages = 0
for name in sorted(n for n in names if n.startswith("pages/")):
    first, *rest = z.read(name).decode().splitlines()
    need(json.loads(first)["format"] == "json-pages-1.0" and json.loads(first)["id"], name + " begins with " + first)
    ids = set()
    for line in rest:
        p = json.loads(line)
        ids.add(p["id"])
        pages += 1
        need((p["url"], "".join(c for c in p["ts"] if c.isdigit())) in captures, "page without capture: " + line)
    need(len(ids) == len(rest), name + ": ids are not unique")
need("pages/pages.jsonl" in names and pages > 0, "no pages")
print("%s  WACZ: %d parts, %d lines of the index in %d blocks, %d pages" % ("FAIL" if wrong else "ok  ", len(names), len(lines), len(blocks), pages))
for text in wrong:
    print("        " + text)
sys.exit(bool(wrong))
