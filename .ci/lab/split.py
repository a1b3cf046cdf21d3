#!/usr/bin/env python3
"""Tells by the log of a web what a crawl of promises.sh visited first and what again, and undercut no interval of 1 s.

    split.py NAME ADDRESS LOG SECONDS CONNECTIONS LATENCY
"""
import collections, sys, time

name, path, seconds = sys.argv[1], sys.argv[3], float(sys.argv[4])
time.sleep(seconds)
last, least = {}, 9.0
seen = collections.Counter()
with open(path) as log:
    for line in log:
        start, end, _, host, target = line.split("\t")[:5]
        if host in last:
            least = min(least, int(start) / 1e9 - last[host])
        last[host] = int(end) / 1e9
        if target != "/robots.txt":
            seen[host, target] += 1
new, again = len(seen), sum(seen.values()) - len(seen)
print("%s: %.0f s: %d pages, %d visits of known ones, least interval %.3f s" % (name, seconds, new, again, least),
      flush=True)
sys.exit(least < 0.995)
