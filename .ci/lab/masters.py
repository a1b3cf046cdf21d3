"""Crawls with several masters, and measures each.

    masters.py cost DIR ROUNDS COUNTS [BEFORE]
    masters.py soak DIR SECONDS MOVE

DIR has bin, henro.yaml, seeds.txt and room. cost crawls the whole web with each count of masters in turn, and two slaves. The masters are
there before the slaves are started, and all that is measured is measured from then on until the master that leads has ended: pages/s, and
of each process us of processor and bytes given to write for each page. The last lines are the medians, and the ratios of neighbours.

soak looks at three masters and three slaves every 10 s: own memory (RssAnon), pages of files (RssFile), goroutines, every minute the heap
after a collection of garbage, and what state and log take on disk. A slave dies every 20 s and comes back 5 s later; the other two are left
alone. With MOVE another master leads after so many seconds, again and again.
"""
import http.client
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

TICK = os.sysconf("SC_CLK_TCK")
base = random.randrange(12000, 30000)


def port():
    global base
    base += 1
    return f"127.0.0.1:{base}"


def get(address, path, timeout=60):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=timeout) as answer:
        return answer.read().decode()


class Node:
    """A process, which may be started again."""

    def __init__(self, dir, name, program, *arguments):
        self.name, self.dir, self.http, self.gossip = name, f"{dir}/{name}", port(), port()
        self.command = [program, "--name", name, "--dir", self.dir, "--key", f"{dir}/cluster.key", "--log-level", "warn",
                        "--listen-http", self.http, "--gossip", self.gossip, "--actors", port(), *arguments]
        self.log = open(f"{dir}/{name}.log", "a")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        self.begin = (0, 0)

    def spent(self):
        """Seconds of processor and bytes given to write until now."""
        stat = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        written = re.search(r"wchar: (\d+)", open(f"/proc/{self.process.pid}/io").read())[1]
        return (int(stat[11]) + int(stat[12])) / TICK, int(written)

    def mark(self):
        self.begin = self.spent()

    def end(self):
        """Waits for the end, and returns what was spent since the mark."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        _, written = self.spent()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            sys.exit(f"{self.name} ended with {self.process.returncode}: {open(self.log.name).read()[-2000:]}")
        return usage.ru_utime + usage.ru_stime - self.begin[0], written - self.begin[1]


class Crew:
    """Masters, of which the first leads, and slaves."""

    def __init__(self, dir, bin, count, *flags):
        self.dir, self.bin = dir, bin
        shutil.rmtree(dir, ignore_errors=True)
        os.makedirs(dir)
        with open(f"{dir}/cluster.key", "w", opener=lambda p, f: os.open(p, f, 0o600)) as key:
            subprocess.run([f"{bin}/henro", "key", "new"], stdout=key, check=True)
        flags = ("--config", f"{dir}/../henro.yaml", "--seeds", f"{dir}/../seeds.txt", "--allow-private", "--depth", "-1", "--progress", "off",
                 *flags)
        masters = ("--masters", port()) if count > 1 else ()  # programs from before know no such flag
        self.masters = [Node(dir, "master1", f"{bin}/henro-master", *masters, *flags)]
        for i in range(2, count + 1):
            self.masters.append(Node(dir, f"master{i}", f"{bin}/henro-master", "--standby", "--masters", port(), "--join", self.masters[0].gossip,
                                     *flags))
        self.slaves = []
        try:
            self.wait(lambda: count == 1 and get(self.masters[0].http, "/api/status", 5)
                      or count > 1 and sum(m["voter"] and not m.get("lost") for m in self.members()) == count)
        except BaseException:
            self.stop()
            raise

    def members(self):
        for m in self.masters:
            try:
                return json.loads(get(m.http, "/api/masters", 5)) or []
            except OSError:
                pass
        return []

    def leader(self):
        name = [m["name"] for m in self.members() if m["leads"]]
        return next((m for m in self.masters if [m.name] == name), None)

    def wait(self, ready):
        for _ in range(600):
            try:
                if ready():
                    return
            except OSError:
                pass
            for m in self.masters:
                if m.process.poll() is not None:
                    sys.exit(f"{m.name} has ended: {open(m.log.name).read()[-2000:]}")
            time.sleep(0.1)
        sys.exit("the masters are not there: " + "\n".join(f"{m.name}: {open(m.log.name).read()[-2000:]}" for m in self.masters))

    def add_slaves(self, count, *flags):
        join = [a for m in self.masters for a in ("--join", m.gossip)]
        for i in range(1, count + 1):
            self.slaves.append(Node(self.dir, f"slave{i}", f"{self.bin}/henro-slave", *join, *flags))

    def stop(self):
        for n in self.masters + self.slaves:
            if n.process.poll() is None:
                n.process.kill()
                n.process.wait()


def crawl(dir, bin, count):
    """One crawl of the whole web: pages, pages/s, and by role us and bytes a page."""
    crew = Crew(f"{dir}/crew", bin, count, "--delay", "0")
    try:
        for m in crew.masters:
            m.mark()
        begin = time.monotonic()
        crew.add_slaves(2)
        leader = crew.masters[0].end()
        took = time.monotonic() - begin
        followers = [m.end() for m in crew.masters[1:]]
        pages = json.load(open(f"{crew.masters[0].dir}/summary.json"))["pages"]
        for s in crew.slaves:
            s.process.send_signal(signal.SIGTERM)
        slaves = [s.end() for s in crew.slaves]
    finally:
        crew.stop()
    result = {"pages": pages, "pages/s": pages / took}
    for role, all in (("leader", [leader]), ("follower", followers), ("slaves", slaves)):
        if all:
            each = 1 if role == "slaves" else len(all)  # of both slaves together: they share the pages
            result[f"{role} us"] = 1e6 * sum(a[0] for a in all) / pages / each
            result[f"{role} bytes"] = sum(a[1] for a in all) / pages / each
    result["all us"] = 1e6 * sum(a[0] for a in [leader, *followers, *slaves]) / pages
    return result


def cost(dir, rounds, counts, before=None):
    kinds = [(f"{n} masters", f"{dir}/bin", n) for n in map(int, counts.split())]
    if before:
        kinds.insert(0, ("before, 1 master", before, 1))
    rows = {name: [] for name, _, _ in kinds}
    for _ in range(int(rounds)):
        for name, bin, n in kinds:
            r = crawl(dir, bin, n)
            rows[name].append(r)
            print(name, "  ".join(f"{k} {v:.0f}" for k, v in r.items()), sep="\t", flush=True)
    first = kinds[0][0]
    for name, all in rows.items():
        print(f"{name}: medians of {len(all)}:", ", ".join(f"{k} {statistics.median(r[k] for r in all):.0f}" for k in all[0]))
        if name != first:
            for k in ("pages/s", "leader us", "leader bytes", "slaves us", "all us"):
                ratios = [a[k] / b[k] for a, b in zip(all, rows[first])]
                print(f"  {k} / {first}: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def size(path):
    total = 0
    for folder, _, files in os.walk(path):
        for f in files:
            try:
                total += os.stat(os.path.join(folder, f)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total / 1e6


def soak(dir, seconds, move):
    seconds, move = float(seconds), float(move)
    crew = Crew(f"{dir}/crew", f"{dir}/bin", 3, "--delay", "1s")
    csv = open("masters-soak.csv", "w")
    watched = {}
    try:
        crew.add_slaves(3)
        nodes = crew.masters + crew.slaves[:2]
        kinds = ("heap", "mb", "files", "goroutines")
        print("seconds", "leader", "pages", "kills", "moves", *(f"{n.name}_{k}" for n in nodes for k in kinds),
              *(f"{m.name}_{k}" for m in crew.masters for k in ("log", "state")), sep=",", file=csv)
        begin = time.monotonic()
        mortal, back = crew.slaves[2], None
        next_kill, next_look, next_heap, next_move = 20, 10, 10, move or seconds + 1
        kills = moves = 0
        while (now := time.monotonic() - begin) < seconds:
            time.sleep(0.2)
            if back and now > back:
                mortal.start()
                back = None
            if now > next_kill:
                next_kill += 20
                mortal.process.kill()
                mortal.process.wait()
                back, kills = now + 5, kills + 1
            if now > next_move:
                next_move += move
                if leader := crew.leader():
                    to = random.choice([m for m in crew.masters if m is not leader])
                    done = subprocess.run([f"{dir}/bin/henro", "nodes", "move", to.name, "--master", leader.http], capture_output=True, text=True)
                    moves += done.returncode == 0
                    if done.returncode:
                        print(done.stdout, done.stderr, flush=True)
            if now < next_look or not (leader := crew.leader()):
                continue
            next_look += 10
            if collect := now > next_heap:
                next_heap += 60
            try:
                pages = json.loads(get(leader.http, "/api/status"))["totals"]["pages"]
                row = [f"{now:.0f}", leader.name, pages, kills, moves]
                for n in nodes:
                    w = watched.setdefault(n.name, {k: [] for k in kinds})
                    if collect:
                        w["last"] = min(int(re.search(r"# HeapAlloc = (\d+)", get(n.http, "/debug/pprof/heap?gc=1&debug=1"))[1])
                                        for _ in range(3)) / 1e6
                    status = open(f"/proc/{n.process.pid}/status").read()
                    mb = [int(re.search(rf"{k}:\s+(\d+) kB", status)[1]) / 1e3 for k in ("RssAnon", "RssFile")]
                    routines = int(re.search(r"total (\d+)", get(n.http, "/debug/pprof/goroutine?debug=1"))[1])
                    for k, v in zip(kinds, (w["last"], *mb, routines)):
                        w[k].append(v)
                        row.append(f"{v:.1f}" if k != "goroutines" else v)
                for m in crew.masters:
                    w = watched[m.name]
                    for k in ("log", "state"):
                        w.setdefault(k, []).append(size(f"{m.dir}/{'masters' if k == 'log' else 'state'}"))
                        row.append(f"{w[k][-1]:.1f}")
            except (OSError, http.client.HTTPException, KeyError) as e:
                print(f"{now:.0f} s: {e!r}", flush=True)  # the leader has changed, or the machine has no time
                continue
            print(*row, sep=",", file=csv, flush=True)
        print(f"{seconds:.0f} s, {kills} kills, {moves} moves, {pages} pages; medians of the second sixth and of the last; last leader {leader.name}")
        for name, w in watched.items():
            print(name, ", ".join(f"{k} {sixth(v, 1):.0f} → {sixth(v, 5):.0f}" for k, v in w.items() if k != "last"))
            if log := w.get("log"):
                cuts = sum(b < a for a, b in zip(log, log[1:]))
                print(f"  its log: {max(log):.0f} MB at most, less than 10 s before at {cuts} looks")
    finally:
        crew.stop()
        shutil.rmtree("masters-soak-logs", ignore_errors=True)
        shutil.copytree(crew.dir, "masters-soak-logs", ignore=lambda _, names: [n for n in names if not n.endswith(".log")])


def sixth(all, i):
    n = len(all)
    return statistics.median(all[n * i // 6:max(n * (i + 1) // 6, n * i // 6 + 1)])


if __name__ == "__main__":
    if sys.argv[1:2] == ["cost"] and len(sys.argv) > 4:
        cost(*sys.argv[2:6])
    elif sys.argv[1:2] == ["soak"] and len(sys.argv) == 5:
        soak(*sys.argv[2:5])
    else:
        sys.exit(__doc__)
