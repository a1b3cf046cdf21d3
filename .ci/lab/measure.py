"""Runs crawlers and measures them.

    measure.py run NAME COMMAND... [-- NAME COMMAND...]
    measure.py memory NAME COMMAND...
    measure.py medians FILE

run prints NAME, pages, seconds, pages/s, us of processor a page, MB at most, bytes written a page, separated by tabs. What stands
behind -- runs beside the command, is asked to end after it, and gets a line with the pages and seconds of the first. The command prints
how many pages it has fetched, as "urls=N", "pages=N", "pages":N or "N pages"; where it counts requisites apart, "N pages, M requisites"
are N + M. Processor time, memory and bytes written are those of the process, as the kernel counted them: of bytes, what the process wrote
by system calls, to sockets too. (What it dirtied is no measure: where a file lies in large folios, a write of 4 kB counts as a whole one.)

memory does the same, with two columns more: the most MB that were its own (heap, stacks) and the most of mapped files, looked at every
0.2 s. The kernel takes the latter back when others need them.

medians reads such lines and prints the medians of each name, and the ratios of the others to the first.
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time


def usage_of(process):
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and its counts are still there
    written = 0
    try:
        written = int(re.search(r"wchar: (\d+)", open(f"/proc/{process.pid}/io").read())[1])
    except OSError:  # no Linux
        pass
    _, status, usage = os.wait4(process.pid, 0)
    return status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, written


def line(name, pages, took, processor, memory, written, *more):
    print(f"{name}\t{pages}\t{took:.2f}\t{pages / took:.0f}\t{1e6 * processor / pages:.0f}\t{memory:.0f}\t{written / pages:.0f}",
          *(f"{m:.0f}" for m in more), sep="\t")


def pages_of(name, out):
    found = re.search(r"urls=(\d+)", out) or re.search(r'(?:pages=|"pages":)(\d+)', out) or re.search(r"^(\d+) pages", out, re.M)
    if not found:
        sys.exit(f"{name} does not say how many pages it has fetched: {out}")
    apart = re.search(r"^\d+ pages, (\d+) requisites", out, re.M)
    return int(found[1]) + (int(apart[1]) if apart else 0)


def watch(process, most):
    while True:
        try:
            status = open(f"/proc/{process.pid}/status").read()
        except OSError:
            return
        found = dict(re.findall(r"^(RssAnon|RssFile):\s+(\d+) kB", status, re.M))
        if not found:  # it has ended
            return
        for kind, size in found.items():
            most[kind] = max(most.get(kind, 0), int(size) / 1024)
        time.sleep(0.2)


def run(name, command, memory=False):
    beside = []
    if "--" in command:
        at = command.index("--")
        command, (other, *rest) = command[:at], command[at + 1:]
        beside = [(other, rest)]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    others = [(other, subprocess.Popen(rest, stdout=subprocess.DEVNULL)) for other, rest in beside]
    most = {}
    if memory:
        threading.Thread(target=watch, args=(process, most), daemon=True).start()
    out = process.stdout.read()
    status, *used = usage_of(process)
    took = time.monotonic() - start
    for _, other in others:
        other.send_signal(signal.SIGTERM)
    usages = [(other, *usage_of(p)[1:]) for other, p in others]
    if status:
        sys.exit(f"{name} failed: {out}")
    pages = pages_of(name, out)
    line(name, pages, took, *used, *(most[kind] for kind in ("RssAnon", "RssFile") if memory))
    for other, *used in usages:
        line(other, pages, took, *used)


def medians(path):
    rows = {}
    for text in open(path):
        name, *figures = text.rstrip("\n").split("\t")
        if name != "what":
            rows.setdefault(name, []).append([float(f) for f in figures])
    names = list(rows)
    for name in names:
        rate, processor, memory, written = ([row[i] for row in rows[name]] for i in (2, 3, 4, 5))
        print(f"{name}: median of {len(rate)}: {statistics.median(rate):.0f} pages/s ({min(rate):.0f} to {max(rate):.0f}), "
              f"{statistics.median(processor):.0f} us of processor a page, {max(memory):.0f} MB at most, "
              f"{statistics.median(written):.0f} bytes written a page")
    for name in names[1:]:
        ratios = [row[2] / first[2] for row, first in zip(rows[name], rows[names[0]])]
        print(f"{name} / {names[0]}: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"] and len(sys.argv) > 3:
        run(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:2] == ["memory"] and len(sys.argv) > 3:
        run(sys.argv[2], sys.argv[3:], memory=True)
    elif sys.argv[1:2] == ["medians"] and len(sys.argv) == 3:
        medians(sys.argv[2])
    else:
        sys.exit(__doc__)
