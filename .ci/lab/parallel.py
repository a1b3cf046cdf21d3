#!/usr/bin/env python3
"""Judges by the log of a web of one host how many requests were under way to it at once.

    parallel.py NAME ADDRESS LOG SECONDS CONNECTIONS LATENCY

It waits, and prints pages a second, the most requests at once, for what part of the time so many were under way, and the
least time from one start to the next. Exit code 1 if more were under way than MOST, if fewer were though AT_ONCE is set, if a
start came sooner than GAP seconds after the one before, or if robots.txt was not alone.
"""
import os, sys, time

name, _, path = sys.argv[1:4]
most, gap, SLACK = int(os.environ["MOST"]), float(os.environ["GAP"]), 0.005
time.sleep(float(sys.argv[4]))
with open(path) as log:
    rows = sorted((int(start) / 1e9, int(end) / 1e9, target)
                  for start, end, _, _, target in (line.split("\t")[:5] for line in log))
pages = [r for r in rows if r[2] != "/robots.txt"]
alone = all(a[1] <= b[0] for a, b in zip(rows, rows[1:]) if "/robots.txt" in (a[2], b[2]))
span = pages[-1][1] - pages[0][0]
together, at, spent = 0, pages[0][0], {}
for moment, step in sorted([(r[0], 1) for r in pages] + [(r[1], -1) for r in pages]):
    spent[together] = spent.get(together, 0) + moment - at
    together, at = together + step, moment
top = max(spent)
least = min(b[0] - a[0] for a, b in zip(pages, pages[1:]))
bad = []
if top > most or os.environ.get("AT_ONCE") and top < most:
    bad.append("%d at once" % top)
if least < gap - SLACK:
    bad.append("asked again after %.3f s" % least)
if not alone:
    bad.append("robots.txt was not alone")
print("%s: %.2f pages/s for %.0f s, at most %d at once (%.0f %% of the time), from start to start %.3f s or more%s" % (
    name, len(pages) / span, span, top, 100 * spent[top] / span, least, " FAILED: " + ", ".join(bad) if bad else ""), flush=True)
sys.exit(bool(bad))
