#!/usr/bin/env python3
"""Adds hosts to a crawl of promises.sh until one is refused, and holds what was foretold against the log of the web.

    admission.py NAME ADDRESS LOG SECONDS CONNECTIONS LATENCY

It waits until the hosts that are known at the start keep their timetable, adds the others one by one by henro seeds add
until the first refusal, and prints the largest S/C, Σe/τ and the revisits that were late, before and after, beside what was foretold
of as many hosts from the first report. Exit code 1 if S/C or Σe/τ differ by more than 5 %, if more than 5 % of the
revisits came later than an interval after their time, if a host is not called feasible, or if nothing was refused.
"""
import json, os, subprocess, sys, time, urllib.request

address, path, connections = sys.argv[2], sys.argv[3], int(sys.argv[5])
T, SPAN = 60.0, 120.0  # of revisits; what is measured
FIRST, NEXT = 120.0, 30.0  # until all pages of all hosts, and of one host more, were visited once
bad = []


def report():
    with urllib.request.urlopen("http://%s/api/report" % address, timeout=60) as answer:
        return json.load(answer)


def measured():
    """Σe/τ of the last SPAN, and of all revisits how many were due and how many late."""
    now, took, due, late, last = time.time(), 0.0, 0, 0, {}
    with open(path) as log:
        for line in log:
            start, end, _, host, target = line.split("\t")[:5]
            start, end = int(start) / 1e9, int(end) / 1e9
            took += max(0.0, min(end, now) - max(start, now - SPAN))
            if target != "/robots.txt":
                if (host, target) in last:
                    due += 1
                    late += start - last[host, target] > 2 * T
                last[host, target] = start
    return took / SPAN, due, late + sum(now - at > 2 * T for at in last.values())


def row(hosts, first):
    """S is of hosts that have pages due, which are most when a minute begins."""
    most, end = 0.0, time.time() + SPAN
    while time.time() < end:
        most = max(most, report()["s_over_c"])
        time.sleep(3)
    now, (use, due, late) = report(), measured()
    first = first or now
    asked = first["occupied"]["asked"] / first["hosts"]["timed"] * hosts
    ratio = hosts / connections
    feasible = sum(v["hosts"] for v in now["verdicts"] if v["verdict"] == "feasible")
    print("%d hosts: S/C %.2f, foretold %.2f; Σe/τ %.3f, foretold %.3f; of %d revisits %d late; %d hosts feasible" % (
        hosts, most, ratio, use, asked, due, late, feasible), flush=True)
    if abs(most / ratio - 1) > 0.05 or abs(use / asked - 1) > 0.05:
        bad.append("%d hosts: not as foretold" % hosts)
    if late > 0.05 * due or feasible != hosts:
        bad.append("%d hosts: a timetable is not kept" % hosts)
    return first


at = os.path.dirname(os.path.dirname(path))
known = len(open(at + "/seeds").readlines())
time.sleep(FIRST)
first = row(known, None)
refused = False
for seed in open(at + "/more").read().split():
    add = subprocess.run([os.environ["HENRO"], "seeds", "add", "--master", address, "--depth", "-1", seed], capture_output=True, text=True)
    if add.returncode:
        refused = True
        print(add.stderr.strip(), flush=True)
        break
    known += 1
    time.sleep(NEXT)
if not refused:
    bad.append("nothing was refused")
row(known, first)
if bad:
    print("FAILED: " + ", ".join(bad))
sys.exit(bool(bad))
