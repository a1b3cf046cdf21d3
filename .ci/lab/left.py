#!/usr/bin/env python3
"""Says which pages a crawl with --near skip-links leaves out, and whether a text is lost with them.

    left.py HENRO LEFT TEXTS     LEFT is that crawl; TEXTS has a line for each page of a crawl without it: its text, a tab, its URL

A text is lost when no page that has it was visited. Exits with 1 when one is.
"""
import sys

import answers

henro, left, texts = sys.argv[1:]
had = {row["url"] for row in answers.rows(henro, left, "select url, host from pages where status = 200")}
pages = dict(reversed(line.rstrip("\n").split("\t")) for line in open(texts))
kept = {pages[url] for url in had if url in pages}
lost = {text: url for url, text in pages.items() if text not in kept}
print(f"{len(pages)} pages with {len(set(pages.values()))} texts; {len(pages.keys() - had)} not visited with --near skip-links, {len(lost)} texts lost")
for url in list(lost.values())[:10]:
    print(f"  {url}")
sys.exit(bool(lost))
