#!/usr/bin/env python3
"""Compares what a crawl says of pages with the same text with the truth of the fakeweb that it crawled.

    twins.py HENRO CRAWL WEB     WEB is the --folder of .ci/lab/fakeweb, which has twins.txt

A page is a duplicate when a page with its text was stored before: of n pages with a text, n - 1 are. Exits with 1 when a page is the same as one with
another text, or a duplicate was not found.
"""
import collections
import sys

import answers

henro, crawl, web = sys.argv[1:]
truth = {}
for line in open(f"{web}/twins.txt"):
    kind, words, text, near, url = line.rstrip("\n").split("\t")
    truth[url] = kind, text, near or text, int(words)


def rows_of(condition, columns):
    return answers.rows(henro, crawl, f"select {columns} from pages where {condition}")


rows = rows_of("status = 200 and role = 'page'", "url, same_as, near")
same = {row["url"]: row["same_as"] for row in rows}
missing, unknown = truth.keys() - same.keys(), same.keys() - truth.keys()
pages = {url: first for url, first in same.items() if url in truth}
texts = collections.Counter(truth[url][1] for url in pages)
duplicates = len(pages) - len(texts)
marked = {url: first for url, first in pages.items() if first}
wrong = [url for url, first in marked.items() if truth.get(first, ("", ""))[1] != truth[url][1]]
kinds = collections.Counter(truth[url][0] for url in pages)
right = len(marked) - len(wrong)
print(f"{len(pages)} pages, {len(texts)} texts ({', '.join(f'{n} {kind}' for kind, n in kinds.most_common())})")
print(f"{len(missing)} of the truth were not crawled, {len(unknown)} are not of the truth")
print(f"{duplicates} duplicates, {len(marked)} marked, {len(wrong)} of them wrongly: precision {right / max(1, len(marked)):.4f}, "
      f"recall {right / max(1, duplicates):.4f}")
near = {row["url"]: row["near"] for row in rows if row["near"] and row["url"] in truth}
strange = [(url, first) for url, first in near.items() if truth.get(first, ("",) * 4)[2] != truth[url][2]]
# Of a text and a copy of it, in which words differ, the one that was stored later is near, if they are near enough.
families = collections.defaultdict(lambda: collections.defaultdict(list))
for url in pages:
    if not marked.get(url):
        families[truth[url][2]][truth[url][3]].append(url)
found = collections.Counter()
for texts_of in families.values():
    for words, urls in texts_of.items():
        if words and 0 in texts_of:
            found[words, bool(near.get(urls[0]) or near.get(texts_of[0][0]))] += 1
print(f"{len(near)} near another, {len(strange)} of them are of another text; found of the copies with so many other words: "
      + ", ".join(f"{w}: {found[w, True]} of {found[w, True] + found[w, False]}" for w in (1, 2, 4, 8, 16, 32)))
for url, first in strange[:5]:
    print(f"  {url} is not near {first}")
for url in wrong[:5]:
    print(f"  {url} is not the same as {marked[url]}")
sys.exit(bool(missing or unknown or wrong or right < duplicates))
