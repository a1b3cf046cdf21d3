"""Reads what scale.sh has measured: a figure for a page, of each kind."""
import json, os, re, sys

dir = sys.argv[1]


def size(path):
    """Bytes that a folder takes on the disk."""
    return sum(os.stat(os.path.join(d, f)).st_blocks * 512 for d, _, files in os.walk(path) for f in files)


summary = json.load(open(dir + "/whole/summary.json"))
master, slave = (json.load(open(f"{dir}/whole.{who}.use")) for who in ("master", "slave"))
metrics = {m[1]: float(m[2]) for m in re.finditer(r"^(henro_\w+)(?:\{\})? ([0-9.e+]+)$", open(dir + "/whole.metrics").read(), re.M)}
pages = summary["pages"]
commits = metrics["henro_store_commit_seconds_count"]
print(f"{pages} pages, {summary['links'] / pages:.1f} links and {summary['bytes'] / pages:.0f} bytes a page, {summary['pages_per_second']:.0f} pages/s")
for what, value in (
    ("state, bytes for a page with its links", size(dir + "/whole/state") / pages),
    ("archive, bytes for a page", size(dir + "/whole-slave/warc") / pages),
    ("master, µs of processor for a page", master["seconds"] / pages * 1e6),
    ("slave, µs of processor for a page", slave["seconds"] / pages * 1e6),
    ("commits for 1,000 pages", commits / pages * 1000),
    ("master, MB of memory at most", master["mb"]),
    ("slave, MB of memory at most", slave["mb"]),
):
    print(f"| {what} | {value:,.0f} |")
