#!/usr/bin/env python3
"""Compares the mirrors that henro finds in a crawl with those that a count of all pairs of folders finds in the truth.

    mirrors.py HENRO CRAWL TEXTS     TEXTS has a line for each page: its text, a tab, its URL

Every pair of folders with at least 10 pages that are the same under the same rest of the path, 0.8 of the pages of one of them, must be listed, lie within a
pair that is, or follow from some that are. Every pair that is listed must have the pages that were counted; a page of a crowd, whose text and name more than 17 URLs
have, is compared with some of them only, and may be left out. Exits with 1 when not.
"""
import collections
import itertools
import json
import subprocess
import sys

henro, crawl, texts = sys.argv[1:]
LEAST, COVERAGE, WINDOW = 10, 0.8, 16


def folders_of(url):
    """The folders that hold a page, from the root down."""
    path = url.split("?")[0]
    at = path.index("/", path.index("://") + 3)
    while at >= 0:
        yield url[:at + 1]
        at = path.find("/", at + 1)


pages, by_text, crowds = collections.Counter(), collections.defaultdict(list), collections.Counter()
for line in open(texts):
    text, url = line.rstrip("\n").split("\t")
    folders = list(folders_of(url))
    pages.update(folders)
    crowds[text, url[len(folders[-1]):]] += 1
    for folder in folders:
        by_text[text, url[len(folder):]].append(folder)
same, unsure = collections.Counter(), collections.Counter()
for (text, rest), folders in by_text.items():
    crowd = crowds[text, rest.split("?")[0].rpartition("/")[2] + rest[len(rest.split("?")[0]):]] > WINDOW + 1
    for a, b in itertools.combinations(sorted(folders), 2):
        if not (b.startswith(a) and (a + rest).startswith(b)):  # the page of a lies within b itself
            same[a, b] += 1
            unsure[a, b] += crowd


def sides(a, b):
    """How many pages both folders have, where each counts that are not those of the other."""
    return pages[a] - (pages[b] if b.startswith(a) else 0), pages[b]


def is_mirror(a, b):
    n = same[a, b] - unsure[a, b]
    return n >= LEAST and n >= COVERAGE * min(sides(a, b))


answer = subprocess.run([henro, "mirrors", crawl, "--json"], capture_output=True, text=True, check=True).stdout
listed = [json.loads(line) for line in answer.splitlines()]
wrong = []
of = {}


def find(folder):
    while of.get(folder, folder) != folder:
        folder = of[folder]
    return folder


partners = collections.defaultdict(list)
for m in listed:
    a, b = sorted((m["folder"], m["mirror"]))
    counted = sides(a, b)
    reported = (m["pages"], m["mirror_pages"]) if a == m["folder"] else (m["mirror_pages"], m["pages"])
    most = same[a, b]
    if not most - unsure[a, b] <= m["same"] <= most or reported != counted or most < COVERAGE * min(counted):
        wrong.append(f"{a} {b}: listed {m['same']} of {reported}, counted {same[a, b]} of {counted}")
    partners[a].append(b)
    partners[b].append(a)
for folder in list(pages):
    for above in folders_of(folder):
        for other in partners[above]:
            of[find(folder)] = find(other + folder[len(above):])
true = [pair for pair in same if is_mirror(*pair)]
missed = [f"{a} {b}: {same[a, b]} of {sides(a, b)}" for a, b in true if find(a) != find(b) and not unsure[a, b]]
crowded = sum(find(a) != find(b) for a, b in true) - len(missed)
both = sum(m["coverage"] >= 0.999 and m["mirror_coverage"] >= 0.999 for m in listed)
print(f"{len(pages)} folders, {len(true)} pairs of them are mirrors: {len(missed)} are not found, and {crowded} that have a page of a crowd; "
      f"{len(listed)} listed, {both} of them whole on both sides, {len(wrong)} wrongly")
for line in (missed + wrong)[:10]:
    print(f"  {line}")
sys.exit(bool(missed or wrong))
