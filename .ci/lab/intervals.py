#!/usr/bin/env python3
"""Measures politeness from the web server's access logs of docs.sh.

    intervals.py LOG... --min SECONDS [--slack SECONDS] [--agent PART]

A request begins at msec - request_time, by the server's clock, which takes down milliseconds. For each host the requests must not
overlap, and begin at least --min apart; robots.txt counts like any other. Prints each host's smallest and median gap; exit code 1 if
any is below --min less --slack (default 2 ms, the server's rounding) or any two requests were in flight at once.
"""
import argparse, statistics, sys


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("logs", nargs="+")
    arguments.add_argument("--min", type=float, required=True)
    arguments.add_argument("--slack", type=float, default=0.002)
    arguments.add_argument("--agent", default="henro", help="part of the user agent whose requests count; default henro")
    o = arguments.parse_args()
    hosts = {}
    for path in o.logs:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                columns = line.rstrip("\n").split("\t")
                if len(columns) == 8 and o.agent in columns[7]:
                    end = float(columns[0])
                    hosts.setdefault(columns[4], []).append((end - float(columns[1]), end, columns[5]))
    failed = not hosts
    if failed:
        print("FAIL  no requests by %s" % o.agent)
    for host, requests in sorted(hosts.items()):
        requests.sort()
        gaps = [(b[0] - a[0], a, b) for a, b in zip(requests, requests[1:])]
        overlaps = [(a, b) for a, b in zip(requests, requests[1:]) if b[0] < a[1] - o.slack]
        least = min(gaps, default=None, key=lambda gap: gap[0])
        bad = [gap for gap in gaps if gap[0] < o.min - o.slack]
        failed |= bool(bad or overlaps)
        print("%s %s: %d requests, least gap %s, median %s, %d below %g s, %d overlap" % (
            "FAIL " if bad or overlaps else "ok   ", host, len(requests), "%.3f s" % least[0] if least else "-",
            "%.3f s" % statistics.median(gap[0] for gap in gaps) if gaps else "-", len(bad), o.min, len(overlaps)))
        for gap, a, b in bad[:3]:
            print("        %.3f s from %s to %s at %.3f" % (gap, a[2], b[2], b[0]))
        for a, b in overlaps[:3]:
            print("        %s still in flight when %s began at %.3f" % (a[2], b[2], b[0]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
