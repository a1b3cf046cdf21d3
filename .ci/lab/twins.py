#!/usr/bin/env python3
"""Compares what a crawl says of pages with the same text with the truth of the fakeweb that it crawled.

    twins.py HENRO CRAWL WEB     WEB is the --folder of henro fakeweb, which has twins.txt

A page is a duplicate when a page with its text was stored before: of n pages with a text, n - 1 are. Exits with 1 when a page is the same as one with
another text, or a duplicate was not found.
"""
import collections
import csv
import subprocess
import sys

henro, crawl, web = sys.argv[1:]
truth = {}
for line in open(f"{web}/twins.txt"):
    kind, _, text, _, url = line.rstrip("\n").split("\t")
    truth[url] = kind, text
question = "select url, same_as from pages where status = 200 and role = 'page'"
answer = subprocess.run([henro, "sql", crawl, question, "--format", "tsv"], capture_output=True, text=True, check=True).stdout
same = {row["url"]: row["same_as"] for row in csv.DictReader(answer.splitlines(), delimiter="\t")}
missing, unknown = truth.keys() - same.keys(), same.keys() - truth.keys()
pages = {url: first for url, first in same.items() if url in truth}
texts = collections.Counter(truth[url][1] for url in pages)
duplicates = len(pages) - len(texts)
marked = {url: first for url, first in pages.items() if first}
wrong = [url for url, first in marked.items() if truth.get(first, ("", ""))[1] != truth[url][1]]
kinds = collections.Counter(kind for kind, _ in (truth[url] for url in pages))
right = len(marked) - len(wrong)
print(f"{len(pages)} pages, {len(texts)} texts ({', '.join(f'{n} {kind}' for kind, n in kinds.most_common())})")
print(f"{len(missing)} of the truth were not crawled, {len(unknown)} are not of the truth")
print(f"{duplicates} duplicates, {len(marked)} marked, {len(wrong)} of them wrongly: precision {right / max(1, len(marked)):.4f}, "
      f"recall {right / max(1, duplicates):.4f}")
for url in wrong[:5]:
    print(f"  {url} is not the same as {marked[url]}")
sys.exit(bool(missing or unknown or wrong or right < duplicates))
