#!/usr/bin/env python3
"""Compares the URLs that a crawl with --url-rules apply did not visit with the truth of the fakeweb that it crawled.

    dust.py HENRO CRAWL WEB     WEB is the --folder of .ci/lab/fakeweb, which has twins.txt

A URL is spared rightly when a page of its host with its text was visited. An oracle that knows from the start which differences change nothing on
which host visits one URL of each page; where a difference changes some pages, as sort orders do on lookalike hosts, its values are different pages to
it. What the oracle spares and the crawl visited is counted in three parts: what the rules need to learn (NEEDS, for each rule of each host), the tests
(henro host url-rules), and what is lost. Recall is what was spared of what can be: of what the oracle spares but for what learning needs. Tests are not
taken out of it. Exits with 1 when precision or recall is below its bound, or a text was not visited.
"""
import collections
import json
import re
import subprocess
import sys

import answers

PRECISION, RECALL = 0.999, 0.9
# Confirmations, as actors/urlrules has them: 16 a rule and a value of a parameter, 4 where the name says it; 8 values of sid for all others.
NEEDS = {"tracked": 4, "session": 8, "document": 4, "sorted": 2 * 16, "numbered": 4 * 16}

henro, crawl, web = sys.argv[1:]
truth = {}
for line in open(f"{web}/twins.txt"):
    kind, _, text, _, url = line.rstrip("\n").split("\t")
    truth[url] = kind, text


def form(url):
    path, _, query = url.partition("?")
    name = path.rsplit("/", 1)[1]
    if "sort=" in query:
        return "ordered" if "utm_" in query else "sorted"
    if re.search(r"(^|&)p=\d$", query):
        return "numbered"
    if "utm_" in query:
        return "tracked"
    if "sid=" in query:
        return "session"
    if name == "index.html":
        return "document"
    if name != name.lower():
        return "upper"
    return "slashed" if url.count("/") > 3 and url.endswith("/") else "plain"


def host_of(url):
    return "/".join(url.split("/")[:3])


question = "select url, host, status, cause from pages where role = 'page'"
visited, spared = {}, {}
for row in answers.rows(henro, crawl, question):
    if row["cause"] == "duplicate by rule":
        spared[row["url"]] = row["host"]
    elif row["status"] == "200" and row["url"] in truth:
        visited[row["url"]] = row["host"]
had = collections.Counter((host, truth[url][1]) for url, host in visited.items())
wrong = [url for url, host in spared.items() if url in truth and not had[host, truth[url][1]]]
lost = {text for _, text in truth.values()} - {text for _, text in had}
other = {(host_of(url), form(url)) for url, (kind, _) in truth.items() if kind == "lookalike"}


def oracle(url, host):
    """What is one page to one that knows which differences change nothing on the host."""
    kept = [p for name, p in (("sorted", r"sort=\w+"), ("numbered", r"(?<=[?&])p=\d$")) if (host, name) in other for p in re.findall(p, url)]
    upper = (host, "upper") in other and url != url.lower()
    return host, truth[url][1], "/mirror/" in url, upper, *kept


known = {url: host for url, host in (visited | spared).items() if url in truth and truth[url][0] != "soft"}  # one text each, and no form of a page
groups = collections.Counter(oracle(url, host) for url, host in known.items())
duplicates = len(known) - len(groups)
formed = collections.Counter((host, form(url)) for url, host in known.items() if form(url) != "plain" and groups[oracle(url, host)] > 1)
needed = sum(min(n, NEEDS.get(k[1], 16)) for k, n in formed.items() if k not in other and k[1] != "ordered")  # ordered has rules of others
answer = subprocess.run([henro, "host", "url-rules", "--dir", crawl, "--json"], capture_output=True, text=True, check=True).stdout
tests = sum(max((r["tested"] for r in h["rules"] if r["applied"]), default=0) for h in json.loads(answer)["hosts"])
tests_most = sum(r["tested"] for h in json.loads(answer)["hosts"] for r in h["rules"])
precision, recall = 1 - len(wrong) / max(1, len(spared)), len(spared) / max(1, duplicates - needed)
kinds = collections.Counter(kind for kind, _ in truth.values())
print(f"{len(truth)} URLs with pages ({', '.join(f'{n} {kind}' for kind, n in kinds.most_common())})")
print(f"{len(visited)} visited, {len(spared)} spared, {len(wrong)} of them wrongly: precision {precision:.4f}; {len(lost)} texts were not visited")
print(f"an oracle spares {duplicates}: {len(spared) / max(1, duplicates):.3f} of that; but for {needed} that learning needs: recall {recall:.3f}; "
      f"tests took {tests} to {tests_most}, {duplicates - needed - len(spared) - tests} to {duplicates - needed - len(spared) - tests_most} were lost")
for name in sorted({k[1] for k in formed}):
    hosts = {k[0] for k in formed if k[1] == name}
    count = lambda of, bad: sum(1 for url, host in of.items() if url in truth and form(url) == name and ((host, name) in other) == bad
                                and groups[oracle(url, host)] > 1)
    print(f"  {name:9} {count(spared, False)} spared, {count(visited, False)} visited that have another form, on {len(hosts)} hosts; "
          f"where it may change the page {count(spared, True)} and {count(visited, True)}")
for url in wrong[:5]:
    print(f"  {url} was not visited under another form")
sys.exit(bool(precision < PRECISION or recall < RECALL))
