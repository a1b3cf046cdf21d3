"""Compares answers of henro's CDX server with those of pywb's own code over the same index, has pywb read both dialects, cdx_toolkit a
whole host, and pywb the blocks that a bucket has of an index. pywb, warcio, surt and cdx_toolkit are on PYTHONPATH.

    compare.py INDEX ADDRESS LARGE BLOCKS.idx
"""
import json, random, sys, urllib.parse, urllib.request

import cdx_toolkit
from pywb.utils.binsearch import iter_range
from pywb.warcserver.index.cdxops import cdx_load
from pywb.warcserver.index.indexsource import RemoteIndexSource
from pywb.warcserver.index.query import CDXQuery
from pywb.warcserver.index.zipnum import ZipNumIndexSource

index, address, large, blocks = sys.argv[1:]
random.seed(7)
failed = False


def holds(text, is_so):
    global failed
    failed |= not is_so
    print(("ok    " if is_so else "FAIL  ") + text)


def urls(name):
    objects = [json.loads(line.split(" ", 2)[2]) for line in open(name)]
    return sorted({o["url"] for o in objects if o["url"].startswith("http")})


class Source:
    def load_cdx(self, query):
        return iter_range(open(index, "rb"), query.key, query.end_key)


def theirs(asked):
    query = CDXQuery(dict(asked, output="raw"))
    return [line.to_cdxj(query.fields) for line in cdx_load([Source()], query)]


def ours(asked):
    with urllib.request.urlopen(address + "/web/cdx?" + urllib.parse.urlencode(asked, doseq=True)) as answer:
        return answer.read().decode().splitlines()


def parts(line):
    key, moment, members = line.rstrip("\n").split(" ", 2)
    return key, moment, sorted(json.loads(members).items())


filters = ["mime:html", "=mime:text/html", "~mime:.*/html$", "!mime:warc/revisit", "!=status:200", r"~url:.*\.(css|js)$",
           "!~urlkey:.*[0-9]$", "status:200", "statuscode:404", "org", "blah:1", "~timestamp:2014012620[01]", "mimetype:css",
           "original:http"]
known = urls(index)


def query():
    url = random.choice(known)
    asked = {"url": url}
    match random.randrange(10):
        case 0 | 1: asked["url"] = url[:random.randint(12, len(url))].rstrip("&=%") + "*"
        case 2 | 3: asked["matchType"] = random.choice(["exact", "prefix", "host", "domain"])
        case 4: asked["url"] = "*." + ".".join(urllib.parse.urlsplit(url).netloc.split(":")[0].split(".")[-2:])
    if some := random.sample(filters, random.randint(0, 2)):
        asked["filter"] = some
    if random.random() < .3: asked["limit"] = str(random.randint(1, 12))
    if random.random() < .2: asked["from"] = random.choice(["2014", "20140127", "201401262008", "20140126200826"])
    if random.random() < .2: asked["to"] = random.choice(["2014", "20140126", "201401262010", "20140127171200"])
    match random.randrange(7):
        case 0: asked |= {"sort": "closest", "closest": random.choice(["20140126200826", "20140127171239", "20260101000000"])}
        case 1: asked["sort"] = "reverse"
        case 2: asked["reverse"] = "true"
    if random.random() < .2: asked["collapseTime"] = str(random.randint(4, 14))
    if random.random() < .2: asked["fields"] = random.choice(["urlkey,timestamp,status", "url,mime", "digest"])
    return asked


asked, lines, empty, other = 3000, 0, 0, []
for _ in range(asked):
    q = query()
    want, got = [parts(line) for line in theirs(q)], [parts(line) for line in ours(q)]
    lines, empty = lines + len(want), empty + (not want)
    if want != got:
        other.append((q, len(want), len(got)))
holds(f"{asked} queries, {empty} of them for nothing: {lines} lines as pywb's own code has them", not other)
print(*other[:5], sep="\n", end="\n" if other else "")

read = []
for path in "/web/cdx", "/web":
    source = RemoteIndexSource(address + path + "?url={url}&closest={closest}&sort=closest", address + "/web/{timestamp}id_/{url}")
    read.append([[(c["timestamp"], c["offset"], c["filename"]) for c in source.load_index({"url": url, "closest": "20140126200826"})]
                 for url in known[:50]])
holds(f"pywb's source of remote indexes reads {sum(map(len, read[0]))} lines of pywb's dialect, and the same of OutbackCDX'",
      read[0] == read[1] and all(read[0]))

client = cdx_toolkit.CDXFetcher(source=address + "/web/cdx")
want = sum(line.startswith("org,iana)") for line in open(index))
found = [c["offset"] for c in client.iter("iana.org/*", limit=1000)] # page by page, to the page that is not there
holds(f"cdx_toolkit finds {len(found)} captures of a host", len(found) == want)

zipnum, known, lines, other = ZipNumIndexSource(blocks, None), urls(large), 0, []
for i in range(400):
    url = random.choice(known)
    asked = {"url": url} | [{}, {"matchType": "host"}, {"matchType": "prefix"}][i % 3]
    if i % 3 == 2:
        asked["url"] = url[:random.randint(14, len(url))]
    q = CDXQuery(dict(asked))
    want = list(iter_range(open(large, "rb"), q.key, q.end_key))
    lines += len(want)
    if [line.rstrip() for line in want] != [c.cdxline for c in zipnum.load_index(dict(asked, pageSize="100"))]:
        other.append((asked, len(want)))
holds(f"400 look-ups in the blocks of a bucket by pywb's ZipNum: {lines} lines", not other and lines > 400)
sys.exit(failed)
