#!/usr/bin/env python3
"""Compares which sites a crawl with --aliases map takes for the same, and which pages it leaves out, with the files of these sites.

    aliases.py HENRO PLAIN MAPPED SITES     PLAIN is a crawl of the same sites without --aliases; SITES is the DIR of docs.sh

Sites are the same when they serve the same folder. A page is left out wrongly when its file is not, byte for byte, that of a page that the crawl has visited, and
a page is lost when the plain crawl has visited it and no page with its bytes was visited. Exits with 1 when a site or a page is wrong.
"""
import hashlib
import sys

import answers

henro, plain, mapped, sites = sys.argv[1:]
sites = answers.Sites(sites)
folders = sites.folders


def digest(url):
    return hashlib.sha256(sites.bytes_of(url)).digest()


def rows_of(crawl, condition):
    return answers.rows(henro, crawl, f"select url, host from pages where {condition}")


had = [row["url"] for row in rows_of(mapped, "status = 200 and dropped = 0")]
bytes_had = set(map(digest, had))
before = [row["url"] for row in rows_of(plain, "status = 200")]
skipped = [row["url"] for row in rows_of(mapped, "dropped = 1 and cause = 'alias of another host'")]
found = answers.aliases(henro, mapped)
pairs = {frozenset((a["host"].split("//")[1], a["of"].split("//")[1])) for a in found if a["mapped"]}
want = {frozenset((a, b)) for a in folders for b in folders if a != b and folders[a] == folders[b]}
wrong = [url for url in skipped if digest(url) not in bytes_had]
lost = [url for url in before if digest(url) not in bytes_had]
requests = [len(rows_of(crawl, "last_visit is not null and last_visit <> ''")) for crawl in (plain, mapped)]
second = sum(1 for url in before if "-again." in url)
print(f"{len(pairs & want)} of {len(want)} second names found, {len(pairs - want)} wrongly; {len(before)} pages, {second} of them under second names")
print(f"{len(skipped)} pages left out, {len(wrong)} wrongly, {len(lost)} lost; {requests[1]} URLs visited instead of {requests[0]}")
for url in (wrong + lost)[:10]:
    print(f"  {url}")
sys.exit(bool(pairs != want or wrong or lost))
