"""Compares the pace of hosts in two sets of crawls, by the access logs of a fakeweb.

    pace.py INTERVAL ALONE.log... -- BESIDE.log...
    henro export --what pages --to jsonl - | pace.py ends

The first prints how much later each host was done, and the time between two requests to a host beyond the interval: that is the crawler's
own. The second prints, for each hostile host, what became of its pages.
"""
import collections
import json
import statistics
import sys


def read(paths):
    spans, gaps = {}, []
    for path in paths:
        hosts = collections.defaultdict(list)
        for line in open(path):
            start, end, _, host, *_ = line.split("\t")
            hosts[host].append((int(start) / 1e9, int(end) / 1e9))
        for host, requests in hosts.items():
            requests.sort()
            spans.setdefault(host, []).append(requests[-1][1] - requests[0][0])
            gaps += [b[0] - a[1] for a, b in zip(requests, requests[1:])]
    return spans, sorted(gaps)


def compare(interval, alone, beside):
    (spans, gaps), (others, later) = read(alone), read(beside)
    ratios = sorted(statistics.median(others[host]) / statistics.median(spans[host]) for host in spans)
    print(f"{len(ratios)} ordinary hosts took {statistics.median(ratios):.3f} times as long in the median, {ratios[-1]:.3f} at most")
    for name, g in ("alone", gaps), ("beside hostile hosts", later):
        wait = [1000 * (x - interval) for x in g]
        print(f"{name}: {len(g)} gaps, beyond the interval {statistics.median(wait):.1f} ms in the median, "
              f"{wait[int(0.9 * len(wait))]:.1f} in the 90th percentile, {wait[int(0.99 * len(wait))]:.1f} in the 99th, {wait[-1]:.1f} at most")


def ends():
    hosts = collections.defaultdict(collections.Counter)
    for line in sys.stdin:
        page = json.loads(line)
        host = page["url"].split("/")[2].split(":")[0]
        if host.endswith("hostile.test"):
            what = "given up" if page.get("dropped") else "waits" if not page.get("visits") else "visited"
            why = page.get("reason") or page.get("status") or ""
            hosts[host.removesuffix(".hostile.test")][f"{what} {why}".strip()] += 1
    for host, counts in sorted(hosts.items()):
        print(f"{host}\t" + ", ".join(f"{n} {what}" for what, n in counts.most_common()))


if __name__ == "__main__":
    if sys.argv[1:] == ["ends"]:
        ends()
    elif "--" in sys.argv and len(sys.argv) > 4:
        at = sys.argv.index("--")
        compare(float(sys.argv[1]), sys.argv[2:at], sys.argv[at + 1:])
    else:
        sys.exit(__doc__)
