#!/usr/bin/env python3
"""Compares what a crawl says of pages with the same text with the truth of the fakeweb that it crawled.

    twins.py HENRO CRAWL WEB [NEAR]     WEB is the --folder of .ci/lab/fakeweb, which has twins.txt

Of a crawl with --near skip-links, a page that was not visited is lost when no page of the crawl has its text.

Of a crawl with --aliases map, a page is skipped wrongly when no page of the crawl has its text, and a host is mapped wrongly when it is not the same
server as its representative. The recall is the share of pages of mapped hosts that were skipped since the host was recognised: what was visited then is samples,
pages that the representative does not have, and requests under way. Exits with 1 when a host or a page is wrong, a text is lost or the recall is below 0.9.

A page is a duplicate when a page with its text was stored before: of n pages with a text, n - 1 are. Exits with 1 when a page is the same as one with
another text, or a duplicate was not found.
"""
import collections
import datetime
import re
import sys

import answers

henro, crawl, web, skipping = sys.argv[1:4] + ["skip-links" in sys.argv[4:]]
truth = {}
for line in open(f"{web}/twins.txt"):
    kind, words, text, near, url = line.rstrip("\n").split("\t")
    truth[url] = kind, text, near or text, int(words)


def rows_of(condition, columns):
    return answers.rows(henro, crawl, f"select {columns} from pages where {condition}")


rows = rows_of("status = 200 and role = 'page'", "url, same_as, near")
same = {row["url"]: row["same_as"] for row in rows}
hosts = answers.aliases(henro, crawl)
mapped = {a["host"]: a["of"] for a in hosts if a["mapped"]}
host_of = lambda url: "/".join(url.split("/")[:3])
if mapped:
    server = {}  # which host of its own answers under a name, in truth
    for url, (kind, text, *_) in truth.items():
        if kind in ("page", "alias", "translation"):
            server[host_of(url)] = text.split("/")[0]
    moved = re.compile(r"http://h(\d+)\.to(:|$)")
    for seed in open(f"{web}/seeds.txt"):
        if m := moved.match(seed.strip().rstrip("/")):
            server[host_of(seed.strip())] = next((name for name in server.values() if name.startswith(f"host{int(m[1]):04}.")), None)
    names = collections.Counter(server.values())
    second = sum(n - 1 for n in names.values())
    others = [(host, of) for host, of in mapped.items() if server.get(host, host) != server.get(of, of)]
    skipped = {row["url"] for row in rows_of("dropped = 1 and cause = 'alias of another host'", "url")}
    had = {truth[url][1] for url in same if url in truth}
    lost = [url for url in truth if url not in same and truth[url][1] not in had]
    wrong = [url for url in skipped if truth.get(url, ("", ""))[1] and truth[url][1] not in had]
    visits = [row for row in rows_of("dropped = 0", "url, last_visit") if host_of(row["url"]) in mapped]
    moment = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    since = {a["host"]: moment(re.sub(r"\.\d+", "", a["since"])).timestamp() for a in hosts if a["mapped"]}
    late = [row["url"] for row in visits if row["last_visit"] and moment(row["last_visit"]).timestamp() > since[host_of(row["url"])]]
    print(f"{len(mapped)} hosts mapped ({sum(bool(moved.match(host)) for host in mapped)} of them redirect), {second} second names in truth, "
          f"{len(others)} mapped wrongly {others[:3]}: recall of names {(len(mapped) - len(others)) / max(1, second):.4f}")
    print(f"{len(skipped)} pages skipped, {len(wrong)} of them wrongly, {len(lost)} texts lost: precision {1 - len(wrong) / max(1, len(skipped)):.4f}")
    print(f"{len(visits)} pages of these hosts were visited: {len(visits) - len(late)} before the host was recognised, {len(late)} later: "
          f"recall since {len(skipped) / max(1, len(skipped) + len(late)):.4f}, of all pages {len(skipped) / max(1, len(skipped) + len(visits)):.4f}")
    for url in (lost + wrong)[:5]:
        print(f"  {url} has a text that nobody has")
    sys.exit(bool(others or lost or wrong or len(skipped) < 0.9 * (len(skipped) + len(late))))
if skipping:
    had = {truth[url][1] for url in same if url in truth}
    spared = truth.keys() - same.keys()
    lost = [url for url in spared if truth[url][1] not in had]
    duplicates = len(truth) - len({text for _, text, *_ in truth.values()})
    print(f"{len(truth)} pages, {duplicates} duplicates, {len(spared)} not visited, {len(lost)} texts lost {lost[:3]}: precision "
          f"{1 - len(lost) / max(1, len(spared)):.4f}, recall {(len(spared) - len(lost)) / duplicates:.4f}")
    sys.exit(bool(lost or not spared))
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
