"""Splits a processor profile of henro into the stages of a page.

    stages.py PROFILE BINARY [US_A_PAGE]

Prints the share of each stage and, when told what a page costs in all, its microseconds. A sample counts for the first stage below that is
on its stack, so that nothing counts twice.
"""
import re
import subprocess
import sys

STAGES = [
    ("garbage collection", r"runtime\.(gcBgMarkWorker|bgsweep|gcAssistAlloc|bgscavenge)"),
    ("digest (SHA-1) of the payload", r"crypto/.*sha1|henro/store/archive/warc\.Sum"),
    ("WARC: compressing and writing records", r"henro/store/archive/warc\.|henro/actors\.\(\*(Archivist|shelf)\)|henro/slave\.\(\*Parser\)\.archive"),
    ("text and its sketch", r"henro/store/fingerprint"),
    ("scanning for links", r"henro/slave/links"),
    ("resolving URLs", r"henro/messages/weburl"),
    ("fetch: sockets", r"(syscall\.|internal/poll)[\s\S]*henro/slave/fetch"),
    ("fetch: our code, decoding", r"henro/slave/fetch"),
    ("fetch: colly and net/http", r"gocolly|net/http\."),
    ("the rest of the slave", r"henro/slave\."),
    ("committing (bbolt)", r"henro/store\.|go\.etcd\.io/bbolt"),
    ("schedules, ledger, judging links", r"henro/(actors|master)"),
    ("actors: mailboxes and messages", r"protoactor|goring"),
]


def main(profile, binary, us_a_page=None):
    text = subprocess.run(["go", "tool", "pprof", "-traces", binary, profile], capture_output=True, text=True, check=True).stdout
    sums, total = {}, 0.0
    for trace in re.split(r"-{5,}\+-{5,}", text)[1:]:
        lines = [line for line in trace.splitlines() if line.strip()]
        if not lines:
            continue
        value = re.match(r"\s*([\d.]+)(ns|us|µs|ms|s)\s", lines[0])
        if not value:
            continue
        ms = float(value[1]) * {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}[value[2]]
        stack = "\n".join(lines)
        name = next((name for name, pattern in STAGES if re.search(pattern, stack)), "runtime and the rest")
        sums[name] = sums.get(name, 0) + ms
        total += ms
    for name, ms in sorted(sums.items(), key=lambda item: -item[1]):
        share = ms / total
        cost = f"  {share * float(us_a_page):6.0f} us" if us_a_page else ""
        print(f"{100 * share:5.1f} %{cost}  {name}")


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
