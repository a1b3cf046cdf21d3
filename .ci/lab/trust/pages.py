"""pages.py HENRO DIR [EVERY]: spoils the crawl in DIR page by page, and has HENRO look at it and go on with it.

Every page of 4 KB that is used, of every file that henro keeps (state, index of payloads, indexes of captures, crawl.json),
is zeroed, filled with noise, filled with a page of another file, and where the file ends. `henro check` is to end in time,
without a panic, with exit code 0 or 4; with 0 only while everything that the crawl has is there, or is made again at the
next start. Every EVERY-th of these crawls (default 5) goes on, with exit code 0, 4 or 15, and 2 for a crawl.json that is no
crawl's. Prints what did not, and how many were tried."""

import collections
import os
import random
import shutil
import subprocess
import sys

henro, crawl = sys.argv[1], sys.argv[2]
every = int(sys.argv[3]) if len(sys.argv) > 3 else 5
PAGE, PATIENCE, COPY, SPOILT = 4096, 30, crawl + ".copy", crawl + ".spoilt"
R = random.Random(1)


def kept(dir):
    for root, _, names in os.walk(dir):
        for name in names:
            path = os.path.join(root, name)
            where = os.path.relpath(path, dir)
            if where.startswith("state/") or where.startswith("warc/") and not name.endswith(".gz") or where == "crawl.json":
                if os.path.getsize(path) > 0:
                    yield where


def run(*command):
    """The exit code, None for no end, and what was said."""
    try:
        done = subprocess.run([henro, *command], capture_output=True, text=True, errors="replace", timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return None, f"no end after {PATIENCE} s"


def has(dir):
    """All that a crawl has: its pages, its links and the lines of its merged captures, in an order of their own."""
    said = []
    for what in ("pages", "links"):
        code, text = run("export", "--what", what, "--to", "tsv", "--dir", dir, "-")
        said.append(sorted(text.splitlines()) if code == 0 else None)
    return said


shutil.rmtree(COPY, ignore_errors=True)
shutil.copytree(crawl, COPY)
files = sorted(kept(COPY))
whole = has(COPY)
tried, bad, told = collections.Counter(), 0, collections.Counter()


def fault(what, command, code, said):
    global bad
    bad += 1
    print(f"      {what}: {command}: exit code {code}: {said.strip()[-300:]}")


count = 0
for file in files:
    path = os.path.join(COPY, file)
    data = open(path, "rb").read()
    other = R.choice([f for f in files if f != file])
    foreign = open(os.path.join(COPY, other), "rb").read()
    for at in range(0, len(data), PAGE):
        if not any(data[at : at + PAGE]):
            continue
        length = min(PAGE, len(data) - at)
        begin = R.randrange(max(1, len(foreign) // PAGE)) * PAGE
        for kind, page in (
            ("zero", bytes(length)),
            ("noise", R.randbytes(length)),
            ("foreign", foreign[begin : begin + length].ljust(length, b"\0")),
            ("cut", None),
        ):
            count += 1
            what = f"{file} at {at}: {kind}"
            if page == data[at : at + length]:
                continue
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(page) if page is not None else f.truncate(at)
            tried[file.rsplit(".", 1)[-1]] += 1
            code, said = run("check", COPY)
            told[code] += 1
            if code not in (0, 4) or "goroutine " in said or "panic" in said:
                fault(what, "check", code, said)
            elif code == 0 and has(COPY) != whole:
                fault(what, "check names no loss, and there is one", code, said)
            if count % every == 0:
                shutil.rmtree(SPOILT, ignore_errors=True)
                shutil.copytree(COPY, SPOILT)
                goes, says = run("crawl", "--dir", SPOILT, "--allow-private", "--listen-http", "off", "--progress", "off", "--for", "1s", "--retries", "0")
                if goes not in ((0, 2, 4, 6, 15) if file == "crawl.json" else (0, 4, 6, 15)) or "goroutine " in says or "panic" in says:
                    fault(what, "crawl", goes, says)
                elif goes not in (2, 4):
                    after, says = run("check", SPOILT)
                    if after != 0 and code == 0:
                        fault(what, "check after a crawl", after, says)
            with open(path, "wb") as f:
                f.write(data)
print(f"      {sum(tried.values())} tried, {dict(tried)}; check ended with {dict(told)}; {bad} faults")
sys.exit(bad > 0)
