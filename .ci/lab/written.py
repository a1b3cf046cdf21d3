"""Counts what a command writes, by kind of file and of page.

    written.py NAME COMMAND...

runs the command under strace and prints, for each kind of file, how many writes and flushes there were, how many bytes, and how many for each
page that the command says it fetched (measure.py); of the state also by what the pages of bbolt hold.
"""
import collections
import re
import struct
import subprocess
import sys
import tempfile

from measure import pages_of

CALL = re.compile(r'^\d+ +(write|pwrite64|fdatasync|fsync)\(\d+<((?:\\x[0-9a-f]{2})*|[^>]*)>(?:, "((?:\\x[0-9a-f]{2})*)"(?:\.\.\.)?, (\d+)|\)| <)')


def kind_of_page(page):
    """what a page of bbolt holds, by its header and its first key (store/FORMAT.md)"""
    if len(page) < 16:
        return "?"
    flags, count = struct.unpack_from("<HH", page, 8)
    if flags & 4:
        return "meta page"
    if flags & 16:
        return "free list"
    if flags & 1:
        return "branch"
    if not count or len(page) < 32:
        return "empty leaf"
    of, at, keys, values = struct.unpack_from("<IIII", page, 16)
    if of & 1:
        return "slots" if keys == 5 else "buckets"
    if keys == 8:
        key = page[16 + at:24 + at]
        if values == 36:
            return "counts"
        if key[:3] != b"\0\0\0":
            return "hosts, robots, leases"
        return "outbox or leases" if values < 256 else "link sets"  # of pages with ten links or more
    if keys == 16 and values < 12:
        return "where links lie"
    if keys == 16:
        least = page[24 + at:32 + at]  # a fingerprint without its last byte (store/seen)
        return "seen" if len(least) < 8 or least[7] == 0 or least == b"\xff" * 8 else "links of schema 2, relax"
    return {4: "queue", 5: "done", 9: "done", 17: "fresh"}.get(keys, "meta")


def kind_of_file(name):
    tail = name.rsplit("/", 1)[-1]
    for end, kind in ((".db", "state"), (".warc.gz.open", "WARC"), (".warc.gz", "WARC"), (".cdxj.open", "index that grows"),
                      ("fetch.jsonl", "fetch log"), (".log", "log")):
        if tail.endswith(end):
            return kind
    if tail.startswith("index.cdxj"):
        return "merged index"
    if ".cdxj" in tail:
        return "index of a file"
    return "sockets" if name.startswith(("socket:", "TCP")) else "other: " + re.sub(r"\d+", "N", tail)


name_of_run, command = sys.argv[1], sys.argv[2:]
calls, sizes, syncs = collections.Counter(), collections.Counter(), collections.Counter()
with tempfile.NamedTemporaryFile() as trace:
    ran = subprocess.run(["strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "512", "-o", trace.name, "-e", "trace=write,pwrite64,fdatasync,fsync",
                          *command], check=True, stdout=subprocess.PIPE, text=True)
    pages = pages_of(name_of_run, ran.stdout)
    for line in open(trace.name, errors="replace"):
        found = CALL.match(line)
        if not found:
            continue
        call, name, text, size = found.groups()
        if name.startswith("\\x"):
            name = bytes.fromhex(name.replace("\\x", "")).decode(errors="replace")
        kind = kind_of_file(name)
        if call in ("fdatasync", "fsync"):
            syncs[kind] += 1
            continue
        kinds = [kind]
        if kind == "state":
            kinds.append("state: " + kind_of_page(bytes.fromhex((text or "").replace("\\x", ""))))
        for kind in kinds + ["all"]:
            calls[kind] += 1
            sizes[kind] += int(size)
print(f"{name_of_run}: {pages} pages\nwhat\twrites\tflushes\tbytes\ta page")
for kind, size in sizes.most_common():
    print(f"{kind}\t{calls[kind]}\t{syncs[kind]}\t{size}\t{size / pages:.0f}")
