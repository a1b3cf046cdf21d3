#!/usr/bin/env python3
"""Compares which pages of documentation sites a crawl takes for the same with what the files of these sites hold.

    same.py HENRO CRAWL SITES     SITES is the DIR of docs.sh

Pages whose files are equal, byte for byte, must all be the same as one of them. Of every other page that is the same as another, the words of both files are
compared, read by the HTML parser of Python without what stands in nav, header, footer, aside, script, style and head. Exits with 1 when a page is missed or wrong.
"""
import collections
import hashlib
import html.parser
import sys

import answers

henro, crawl, sites = sys.argv[1:]


class Words(html.parser.HTMLParser):
    beside = {"nav", "header", "footer", "aside", "script", "style", "head", "noscript", "template"}

    def __init__(self):
        super().__init__()
        self.words, self.depth = [], 0

    def handle_starttag(self, tag, attrs):
        self.depth += tag in self.beside

    def handle_endtag(self, tag):
        self.depth = max(0, self.depth - (tag in self.beside))

    def handle_data(self, data):
        if not self.depth:
            self.words += data.split()


sites = answers.Sites(sites)


def words_of(url):
    parser = Words()
    parser.feed(sites.bytes_of(url).decode("utf-8", "replace"))
    return parser.words


question = "select url, same_as, simhash from pages where status = 200 and role = 'page' and truncated = 0"
rows = [row for row in answers.rows(henro, crawl, question) if row["simhash"]]
same = {row["url"]: row["same_as"] for row in rows}
groups = collections.defaultdict(list)
for url in same:
    groups[hashlib.sha256(sites.bytes_of(url)).digest()].append(url)
missed = 0
equal = sum(len(g) - 1 for g in groups.values())
for group in groups.values():
    missed += len({same[url] or url for url in group}) - 1
of = {url: digest for digest, group in groups.items() for url in group}
others = [(url, first) for url, first in same.items() if first and of[url] != of.get(first)]
wrong = [(url, first) for url, first in others if words_of(url) != words_of(first)]
print(f"{len(same)} pages with words on {len(sites.folders)} hosts; {equal} have the bytes of an earlier one, {missed} of them were not found")
print(f"{sum(map(bool, same.values()))} are the same as another: {len(others)} by the text alone, of which the words of {len(wrong)} differ")
for url, first in wrong[:10]:
    print(f"  {url} is not the same as {first}")
sys.exit(bool(missed))
