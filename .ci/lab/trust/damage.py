"""damage.py HENRO DIR COUNT: damages a page of the state in DIR at random, COUNT times, and has HENRO look at it.

Every command must end in time, with little memory, without a stack, and with exit code 0 or 4. Prints what did not."""

import random
import resource
import shutil
import struct
import subprocess
import sys
import time

henro, crawl, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
PAGE, COPY, PATIENCE, MEMORY = 4096, crawl + ".damaged", 30, 4 << 30


def damage(path, r):
    data = bytearray(open(path, "rb").read())
    pages = range(2, len(data) // PAGE)
    used = [i for i in pages if struct.unpack_from("<Q", data, i * PAGE)[0] == i]
    branches = [i for i in used if struct.unpack_from("<H", data, i * PAGE + 8)[0] == 1]
    at, other = r.choice(used) * PAGE, r.choice(used) * PAGE
    kind = r.choice(["bit", "zero", "noise", "copy", "contents", "header", "element", "child"])
    if kind == "bit":
        data[at + r.randrange(PAGE)] ^= 1 << r.randrange(8)
    elif kind == "zero":
        data[at : at + PAGE] = bytes(PAGE)
    elif kind == "noise":
        data[at : at + PAGE] = r.randbytes(PAGE)
    elif kind == "copy":
        data[at : at + PAGE] = data[other : other + PAGE]
    elif kind == "contents":
        data[at + 8 : at + PAGE] = data[other + 8 : other + PAGE]
    elif kind == "header":
        struct.pack_into("<I", data, at + r.choice([0, 8, 12]), r.choice([0, 1, 16, len(pages), 2**32 - 1]))
    elif kind == "element":
        struct.pack_into("<I", data, at + 16 + 4 * r.randrange(400), r.choice([0, 1, PAGE, 2**32 - 1]))
    elif branches:
        at = r.choice(branches) * PAGE
        elements = max(1, struct.unpack_from("<H", data, at + 10)[0])
        struct.pack_into("<Q", data, at + 24 + 16 * r.randrange(elements), r.choice([at // PAGE, 0, 2, 2**45] + branches + used))
    open(path, "wb").write(data)
    return f"{kind} at {at}"


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


bad = 0
for seed in range(count):
    for command in (
        ["check", COPY],
        ["stats", COPY],
        ["sql", COPY, "SELECT count(*), max(length(url)) FROM pages"],
        ["export", "--what", "links", "--to", "csv", "--dir", COPY, COPY + "/links.csv"],
        ["crawl", "--dir", COPY, "--allow-private", "--listen-http", "off", "--progress", "off", "--for", "1s", "--retries", "0"],
    ):
        shutil.rmtree(COPY, ignore_errors=True)
        shutil.copytree(crawl, COPY)
        r = random.Random(seed)
        what = damage(f"{COPY}/state/p00{r.randrange(4)}.db", r)
        began = time.time()
        try:
            done = subprocess.run([henro] + command, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limited)
            code, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, said = "none", f"no end after {PATIENCE} s"
        stack = "goroutine " in said
        if stack or code not in ((0, 4, 15) if command[0] == "crawl" else (0, 4)):
            bad += 1
            print(f"      seed {seed}, {what}: {command[0]} exit code {code} after {time.time() - began:.1f} s: {said[:200]}")
sys.exit(bad > 0)
