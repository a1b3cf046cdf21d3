#!/usr/bin/env python3
"""Judges the timetable of crawls of timetable.sh that run.

    timetable.py --henro PROGRAM --dir DIR --seconds N --connections C --delay SECONDS [--short] RELIEF=ADDRESS...

It waits, then pauses each crawl, so that nothing moves, and asks it for its report, all hosts and all pages. Then it
works the same figures out by itself, from the access log of the web and the intervals of the pages, in the letters of
Tamura and Kitsuregawa:

    (6)   L = sum of 1/T over the pages of a host
    (9)   I >= (S/C) e, with S the hosts that are lent or wait for their turn, C the connections, e the time of a visit
    (10)  1/L >= I >= (S/C) e
    (11)  R = (1/L) / max e >= S/C

and compares. S moves with the pages that fall due: it is asked for while the crawls run, and what the report says of S/C
is held against the hosts that are lent and that wait as the status has them. Exit code 1 if anything differs.
"""
import argparse, collections, csv, io, json, math, re, subprocess, sys, time, urllib.parse, urllib.request

VERDICTS = ("feasible", "needs more connections", "overloaded whatever the resources", "needs a shorter interval", "behind its timetable")
LEAST_RATIO = 2  # --least-ratio: S/C that is reckoned with at least
SLACK = 0.05  # s: the web sees a request begin and end later and sooner than the crawler, on a machine that is busy
failures = 0


def check(ok, text):
    global failures
    failures += not ok
    print("%s %s" % ("ok   " if ok else "FAIL ", text))


def ask(address, path, method="GET"):
    request = urllib.request.Request("http://%s%s" % (address, path), method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def near(a, b, share, least=0.0):
    return abs(a - b) <= max(share * max(abs(a), abs(b)), least)


Request = collections.namedtuple("Request", "start end url status")


def read_log(path):
    """Requests by host, in order."""
    hosts = collections.defaultdict(list)
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            start, end, scheme, host, target, status = line.split("\t")[:6]
            hosts["%s://%s" % (scheme, host)].append(Request(int(start) / 1e9, int(end) / 1e9, target, int(status)))
    for requests in hosts.values():
        requests.sort()
    return hosts


def fetch_times(requests):
    """e of the latest visit, their mean, and the largest, both of late (package politeness)."""
    latest = mean = worst = 0.0
    for r in requests:
        latest = r.end - r.start
        if mean == 0:
            mean = worst = latest
        mean += (latest - mean) / 16
        worst = max(latest, worst - (worst - mean) / 64)
    return latest, mean, worst


class Crawl:
    def __init__(self, o, relief, address):
        self.o, self.relief, self.address, self.dir = o, relief, address, "%s/%s" % (o.dir, relief)
        self.samples = []

    def sample(self):
        def servers():
            status = json.loads(ask(self.address, "/api/status"))
            return status["leases"] + status["ready"]
        before = servers()
        ratio = json.loads(ask(self.address, "/api/report"))["s_over_c"]
        self.samples.append((time.time(), before, ratio, servers()))

    def ratio_at(self, moment):
        """The least S/C that the report showed from a minute before."""
        return min((s[2] for s in self.samples if moment - 60 <= s[0] <= moment + 5), default=LEAST_RATIO)

    def revisit_all(self):
        for host in read_log(self.dir + "/web/access.log"):
            subprocess.run([self.o.henro, "revisit", host, "--now", "--master", self.address], check=True,
                           stdout=subprocess.DEVNULL)

    def take(self):
        """What henro says, of one moment."""
        ask(self.address, "/api/pause", "POST")
        time.sleep(3)  # what was under way is stored
        self.now = time.time()
        self.log = read_log(self.dir + "/web/access.log")
        self.report = json.loads(ask(self.address, "/api/report"))
        self.hosts = {h: json.loads(ask(self.address, "/api/host?" + urllib.parse.urlencode({"host": h})))
                      for h in self.log}
        pages = subprocess.run([self.o.henro, "export", "--dir", self.dir + "/crawl", "--master", self.address, "--what", "pages",
                                "--to", "csv", "-"], check=True, capture_output=True, text=True).stdout
        self.pages = list(csv.DictReader(io.StringIO(pages)))
        self.status = json.loads(ask(self.address, "/api/status"))
        self.dashboard = {h: ask(self.address, "/host?" + urllib.parse.urlencode({"name": h})) for h in list(self.log)[:8]}
        self.dashboard_report = ask(self.address, "/revisit")
        text = subprocess.run([self.o.henro, "host", next(iter(self.log)), "--master", self.address], check=True,
                              capture_output=True, text=True).stdout
        self.host_text = text

    def judge(self):
        o, report = self.o, self.report
        print("--- relief %s: %d requests to %d hosts, %d pages known, %d visited more than once" % (
            self.relief, sum(map(len, self.log.values())), len(self.log), len(self.pages), report["pages"]["timed"]))
        ratio = report["s_over_c"]
        apart = []
        for earlier, sample in zip(self.samples, self.samples[1:]):
            seen = [max(LEAST_RATIO, s / o.connections) for s in (earlier[1], earlier[3], sample[1], sample[3])]
            # a change by a tenth is passed on within a second, a smaller one within a minute
            apart.append(not 0.85 * min(seen) - 0.5 <= sample[2] <= 1.15 * max(seen) + 0.5)
        asked = [s[1] for s in self.samples]
        # in the short form S falls from 84 to a few within seconds, and samples take a second of their own
        check(len(apart) > 0 and sum(apart) <= len(apart) / (5 if o.short else 20),
              "S/C: %d to %d hosts lent or waiting, S/C from %.3g to %.3g, apart in %d of %d samples" % (
                  min(asked), max(asked), min(s[2] for s in self.samples), max(s[2] for s in self.samples),
                  sum(apart), len(apart)))
        said = re.search(r"S/C = ([0-9]+(?:[.][0-9]+)?)", self.host_text)
        check(bool(said) and near(float(said[1]), ratio, 0.01), "S/C in words of henro host: %s" % (said and said[0]))
        said = re.findall(r"S/C = ([0-9]+(?:[.][0-9]+)?)", "".join(self.dashboard.values()) + self.dashboard_report)
        check(bool(said) and all(near(float(s), ratio, 0.01) for s in said),
              "S/C on %d pages of the dashboard: %s" % (len(self.dashboard) + 1, sorted(set(said))))
        self.intervals(ratio)
        self.timetables(ratio)
        self.figures(ratio)
        if not o.short:
            self.visits()

    def intervals(self, ratio):
        """(9): how far apart requests began, once S was known."""
        least, count, overlaps, pace = math.inf, 0, 0, []
        settled = self.samples[0][0] + 5
        for requests in self.log.values():
            for a, b in zip(requests, requests[1:]):
                overlaps += b.start < a.end
                if a.start < settled:
                    continue
                owed = max(self.o.delay, self.ratio_at(a.end) * (a.end - a.start))
                count += 1
                least = min(least, b.start - a.start - owed)
                pace.append((b.start - a.start) / owed)
        pace.sort()
        check(overlaps == 0, "no host was asked twice at once")
        check(count > 0 and least > -SLACK, "I >= max(delay, (S/C) e): %d intervals, the closest %+.3f s from what is owed, "
              "the median %.2f times what is owed" % (count, least, pace[len(pace) // 2] if pace else 0))

    def timetables(self, ratio):
        """(6), (10) and (11) of each host."""
        load = collections.Counter()
        self.visits_of = collections.Counter(h + r.url for h, requests in self.log.items() for r in requests if r.status in (200, 304))
        self.intervals_of_pages = []
        for page in self.pages:
            if not page["last_visit"]:
                continue
            if page["next_visit"] and float(page["interval_seconds"] or 0) > 0:
                load[page["host"]] += 1 / float(page["interval_seconds"])
                if self.visits_of[page["url"]] > 1:
                    self.intervals_of_pages.append(float(page["interval_seconds"]))
        bad, apart = collections.defaultdict(list), collections.defaultdict(list)
        verdicts = collections.Counter()
        self.R, self.access, self.means = [], [], []
        for name, host in self.hosts.items():
            s = host["schedule"]
            if not near(load[name], s["load"], 0.001):
                bad["L"].append("%s: %.4g, henro says %.4g" % (name, load[name], s["load"]))
            for key, mine, his in zip(("e", "mean e", "max e"), fetch_times(self.log[name]), ("latest_ns", "mean_ns", "worst_ns")):
                apart[key].append(s[his] / 1e9 - mine)
            e, top = s["latest_ns"] / 1e9, s["worst_ns"] / 1e9
            if not s["failures"] and not near(s["interval_ns"] / 1e9, max(self.o.delay, ratio * e), 0.001):
                bad["I"].append("%s: %.4g, henro says %.4g" % (name, max(self.o.delay, ratio * e), s["interval_ns"] / 1e9))
            if s["load"] > 0:
                if not near(s.get("r", 0), 1 / s["load"] / top, 0.001):
                    bad["R"].append("%s: %.4g, henro says %.4g" % (name, 1 / s["load"] / top, s.get("r", 0)))
                self.R.append(1 / s["load"] / top)
                self.access.append(1 / s["load"])
            self.means.append(s["mean_ns"] / 1e9)
            verdict = self.verdict(host, ratio)
            verdicts[s["verdict"]] += 1
            if verdict != s["verdict"] and (verdict, s["verdict"]) != ("feasible", "behind its timetable"):
                bad["verdict"].append("%s: %s, henro says %s" % (name, verdict, s["verdict"]))
        for key, values in apart.items():  # the crawler's watch also counts the way there and its own processors
            values.sort()
            middle = values[len(values) // 2]
            check(values[0] > -SLACK and middle < SLACK, "%s of %d hosts: henro's is the log's and %.3f s more in the median" % (
                key, len(values), middle))
        for key in ("L", "I", "R", "verdict"):
            check(not bad[key], "%s of %d hosts%s" % (key, len(self.hosts), "".join("\n        " + b for b in bad[key][:4])))
        said = {v["verdict"]: v["hosts"] for v in self.report["verdicts"] if v["hosts"]}
        check(said == dict(verdicts), "verdicts of the report: %s" % said)
        tags = re.findall(r'class="tag v(\d)"', "".join(self.dashboard.values()))
        mine = [VERDICTS.index(self.hosts[h]["schedule"]["verdict"])
                for h in self.dashboard if self.hosts[h]["schedule"]["load"] > 0]
        check([int(t) for t in tags] == mine, "verdicts of the dashboard: %s" % tags)

    def verdict(self, host, ratio):
        s = host["schedule"]
        wanted, top = max(s["asked"], s["load"]), s["worst_ns"] / 1e9
        upper = 1 / wanted if wanted > 0 else math.inf
        if host["Waiting"] > 0:
            upper /= 2
        if upper >= max(self.o.delay, ratio * top) + top:
            return "feasible"
        if upper < (LEAST_RATIO + 1) * top:
            return "overloaded whatever the resources"
        return "needs more connections" if ratio * top > max(self.o.delay, LEAST_RATIO * top) else "needs a shorter interval"

    def figures(self, ratio):
        report = self.report
        bins = {}
        for t in self.intervals_of_pages:
            i = max(0, int(2 * math.log2(max(t, 60) / 60)))
            bins[i] = bins.get(i, 0) + 1
        said = {max(0, round(2 * math.log2(b["from"] / 60))): b["pages"] for b in report["intervals"] or [] if b["pages"]}
        # a visit too early to tell anything leaves a page as one that was visited once
        early = sum(abs(said.get(i, 0) - bins.get(i, 0)) for i in said.keys() | bins.keys())
        check(bool(said) and early <= len(self.intervals_of_pages) / 20, "figure 3, pages by interval in half octaves of minutes: %s%s" % (
            said, "" if said == bins else ", the pages say %s" % bins))
        rates = [b["detection_mean"] for b in report["intervals"] or [] if b["pages"]]
        check(bool(rates) and all(0 <= r <= 1 for r in rates), "figure 4, share of visits that find a change: %s" % ["%.2f" % r for r in rates])
        for name, key, mine in (("5, 1/L", "access", self.access), ("6, mean e", "fetches", self.means), ("7, R", "ratios", self.R)):
            points = [(p["value"], p["count"]) for p in report[key] or []]
            mine = sorted(mine)
            wrong = [p for p in points if not count_within(mine, p)]
            check(bool(points) and points[-1][1] == len(mine) and not wrong, "figure %s: %d points up to %d hosts%s" % (
                name, len(points), points[-1][1] if points else 0, ", wrong at %s" % wrong[:3] if wrong else ""))
        below = sum(1 for r in self.R if r < ratio)
        print("      R below S/C = %.3g on %d of %d hosts" % (ratio, below, len(self.R)))

    def visits(self):
        """Visits of known pages in the second half of the time, beside what hosts bear and what their pages are timed for."""
        begun = min(r[0].start for r in self.log.values())
        ended = max(r[-1].start for r in self.log.values())
        since = begun + (ended - begun) / 2
        rows = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])
        for name, requests in self.log.items():
            s = self.hosts[name]["schedule"]
            known, made = set(), 0
            for r in requests:
                made += r.url in known and r.start >= since
                known.add(r.url)
            over = s["asked"] > s["bears"]
            row = rows["infeasible" if over else "feasible"]
            row[0] += 1
            row[1] += made / (ended - since)
            row[2] += s["bears"]
            row[3] += s["load"]
            row[4] += s["asked"]
        for kind, (hosts, made, bears, load, asked) in sorted(rows.items()):
            print("      %-10s %2d hosts: %.3f visits/s made, %.3f borne, %.3f timed (L), %.3f asked for without relief" % (
                kind, hosts, made, bears, load, asked))
        captured = self.report["relief"]
        if captured["hosts"]:
            print("      of %.4f versions/s on infeasible hosts, stretch would capture %.4f, delay %.4f, optimal %.4f" % (
                captured["versions"], *captured["captured"]))
        self.rows = rows


def count_within(values, point):
    """A point of a cumulative distribution: count values are at most so large."""
    value, count = point
    return sum(v <= value / 1.001 for v in values) <= count <= sum(v <= value * 1.001 for v in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawls", nargs="+")
    parser.add_argument("--henro", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--delay", type=float, required=True)
    parser.add_argument("--short", action="store_true", help="have all pages visited a second time at half of the time")
    o = parser.parse_args()
    crawls = [Crawl(o, *c.split("=")) for c in o.crawls]
    begun, again = time.monotonic(), not o.short
    while time.monotonic() < begun + o.seconds:
        time.sleep(2 if o.short else 20)
        for c in crawls:
            c.sample()
            if not again and time.monotonic() > begun + o.seconds / 2:
                c.revisit_all()
        again = again or time.monotonic() > begun + o.seconds / 2
    for c in crawls:
        c.take()
    for c in crawls:
        c.judge()
    print("%d checks failed" % failures)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
