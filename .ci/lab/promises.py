#!/usr/bin/env python3
"""Judges by the log of a web what a crawl of promises.sh keeps of what the equations promise.

    promises.py NAME ADDRESS LOG SECONDS CONNECTIONS LATENCY

It waits, asks the crawl for its verdicts, and prints: requests a second, Σe/(C·τ), the share of hosts called feasible, of
revisits the share that came within one interval T of their time, and the least time between an answer and the next request
to its host. Exit code 1 if an interval of 1 s was undercut, or if

  - the web has work for all connections (nothing is revisited), no node was killed (KILLED) and Σe/(C·τ) is less than 0.8;
  - a host is called feasible of which less than 95 % of the revisits came within one interval of their time.
"""
import collections, json, os, sys, time, urllib.parse, urllib.request

name, address, path = sys.argv[1:4]
seconds, connections = float(sys.argv[4]), int(sys.argv[5])
T, FLOOR, SLACK = float(os.environ["EVERY"]), 1.0, 0.005


def ask(what):
    with urllib.request.urlopen("http://%s%s" % (address, what), timeout=30) as answer:
        return json.load(answer)


def waited():
    """For how long, in seconds since the start of the machine, something waited for a processor."""
    try:
        with open("/proc/pressure/cpu") as pressure:
            return int(pressure.readline().rsplit("=", 1)[1]) / 1e6
    except OSError:
        return 0.0


since, lacked = time.time(), waited()
time.sleep(seconds)
lacked = (waited() - lacked) / (time.time() - since)
report, status = ask("/api/report"), ask("/api/status")
hosts = collections.defaultdict(list)
with open(path) as log:
    for line in log:
        start, end, _, host, target = line.split("\t")[:5]
        hosts["http://" + host].append((int(start) / 1e9, int(end) / 1e9, target))
rows = [r for rows in hosts.values() for r in rows]
begun, ended = min(r[0] for r in rows), max(r[1] for r in rows)
span = ended - begun
e = sum(r[1] - r[0] for r in rows)
overlaps = max_together = 0
for _, step in sorted([(r[0], 1) for r in rows] + [(r[1], -1) for r in rows]):
    overlaps += step
    max_together = max(max_together, overlaps)
least = min((b[0] - a[1] for rows in hosts.values() for a, b in zip(sorted(rows), sorted(rows)[1:])), default=0)
late, visits = collections.Counter(), collections.Counter()
for host, rows in hosts.items():
    last = {}
    for start, end, target in sorted(rows):
        if target != "/robots.txt":
            if target in last:
                visits[host] += 1
                late[host] += start - last[target] > 2 * T
            last[target] = start
    for at in last.values():  # that has not come yet
        if ended - at > 2 * T:
            visits[host] += 1
            late[host] += 1
feasible = {v["verdict"]: v["hosts"] for v in report["verdicts"] if v["hosts"]}
use = e / (connections * span)
within = 1 - sum(late.values()) / max(1, sum(visits.values()))
words = "%s: %.2f requests/s for %.0f s, at most %d together, Σe/(C·τ) %.2f (henro says %s)" % (
    name, len(rows) and sum(map(len, hosts.values())) / span, span, max_together, use,
    "%.2f" % status["busy"] if "busy" in status else "nothing")
if report["continuous"]:
    words += "; verdicts %s; %d revisits, %.0f %% within one interval of their time" % (feasible, sum(visits.values()), 100 * within)
words += "; least interval %.3f s; a processor was waited for %.0f %% of the time" % (least, 100 * lacked)
bad = []
if least < FLOOR - SLACK:
    bad.append("an interval was undercut")
if max_together > connections:
    bad.append("more requests than connections")
if not report["continuous"] and use < 0.8 and not os.environ.get("KILLED"):
    bad.append("connections stood idle")
broken = [h for h in hosts if report["continuous"] and late[h] > 0.05 * visits[h]
          and ask("/api/host?" + urllib.parse.urlencode({"host": h}))["schedule"]["verdict"] == "feasible"]
if broken:
    bad.append("%d hosts that are called feasible are late" % len(broken))
if bad and lacked > 0.5:
    bad.append("on a machine whose processors are short")
print(words + ("" if not bad else " FAILED: " + ", ".join(bad)), flush=True)
sys.exit(bool(bad))
