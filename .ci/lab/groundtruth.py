#!/usr/bin/env python3
"""Walks the sites of docs.sh and writes what a crawl of them must find.

    groundtruth.py LABDIR OUTDIR [--seeds FILE] [--depth N]

This is the independent twin of henro: Python's standard library only, another HTML parser, another reading of the URL
standard, and nothing shared but the rules:

- A crawl stays on the hosts of its seeds (scheme, name, port). It follows a, area, frame, iframe, link with a rel that names a
  page, meta refresh and redirects; base href counts. Only text/html is parsed.
- Text in comments, scripts, styles, titles, text areas, iframe, noembed, noframes, xmp and template holds no links. References
  that are empty or only a fragment are none.
- A URL is what the WHATWG standard makes of it, without fragment, user, default port and empty query, with escapes in upper
  case and no unreserved character escaped.

OUTDIR/pages.tsv: url, status, depth (redirects cost nothing), content type, distinct outlinks, bytes
OUTDIR/links.tsv: from, to, one line for each pair; also to other hosts
OUTDIR/requisites.tsv: url, status: what a browser loads to show the pages and is no page itself, as far as it lies on the
hosts of the lab: images, styles, scripts, icons, media and objects of the pages, and what style sheets and SVG load
"""
import argparse, collections, html, html.entities, html.parser, http.client, multiprocessing, os, re, sys, threading

PAGE_RELS = set("""next prev previous alternate canonical home index up top first last begin end start contents toc chapter
section subsection appendix glossary bookmark help author made license copyright shortlink amphtml me archives archive
search-results self child parent prerender privacy-policy terms-of-service about describedby item collection latest-version
original timemap memento""".split())
NO_PAGE_RELS = {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image",
                "mask-icon", "fluid-icon", "image_src", "dns-prefetch", "preconnect"}
LOADED_RELS = {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "fluid-icon", "manifest",
               "preload", "modulepreload"}
LOADED = {"img": "src", "input": "src", "script": "src", "embed": "src", "source": "src", "track": "src", "audio": "src",
          "video": "src", "object": "data", "image": "href", "use": "href", "feimage": "href"}
CSS_URLS = re.compile(r"""@import\s*(?:"([^"]*)"|'([^']*)')|url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]*))\s*\)""", re.I)
RAW_TEXT = {"title", "textarea", "iframe", "noembed", "noframes", "xmp", "template"}
UNRESERVED = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
PATH_ESCAPES = set(b' "#<>?^`{}')
QUERY_ESCAPES = set(b" \"#<>'")
PORTS = {"http": "80", "https": "443"}


def unescape_attribute(text):
    """Character references as in attributes: &copy=1 and &copyx are no references, &copy; and &copy are."""
    def reference(match):
        name, following = match.group(1), text[match.end():match.end() + 1]
        if name.startswith("#") or name.endswith(";"):
            return html.unescape(match.group(0))
        if name in html.entities.html5 and following != "=":
            return html.entities.html5[name]
        return match.group(0)
    return re.sub(r"&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;?)", reference, text)


html.parser.unescape = unescape_attribute  # with convert_charrefs off it is used for attributes only


class Links(html.parser.HTMLParser):
    """Collects raw references that a crawl follows, and the base."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.base, self.refs, self.inside = None, [], None
        self.loaded, self.style, self.noscript = [], False, False

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_starttag(self, tag, attrs):
        if self.inside:
            return
        found = {}
        for name, value in attrs:
            found.setdefault(name, value or "")
        if tag in RAW_TEXT:
            self.inside = tag
        self.style = tag == "style"
        self.noscript = self.noscript or tag == "noscript"
        if not self.noscript:
            self.load(tag, found)
        if tag in ("a", "area"):
            self.add(found.get("href"))
        elif tag in ("frame", "iframe"):
            self.add(found.get("src"))
        elif tag == "base":
            if self.base is None and "href" in found:
                self.base = found["href"].strip()
        elif tag == "link":
            rels = set(found.get("rel", "").lower().split())
            if rels & PAGE_RELS and not rels & NO_PAGE_RELS:
                self.add(found.get("href"))
        elif tag == "meta" and found.get("http-equiv", "").strip().lower() == "refresh":
            match = re.match(r"[\s]*[0-9.]*[\s;,]*(?:url\s*=\s*)?(['\"]?)(.*?)\1\s*$", found.get("content", ""), re.I | re.S)
            if match:
                self.add(match.group(2))

    def load(self, tag, found):
        """Collects what a browser loads of an element."""
        rels = set(found.get("rel", "").lower().split())
        kind = found.get("type", "").partition(";")[0].strip().lower()
        runs = kind in ("", "module", "importmap", "speculationrules") or kind.endswith(("javascript", "ecmascript"))
        if tag in LOADED and (tag != "input" or kind == "image") and (tag != "script" or runs and "nomodule" not in found):
            self.loaded.append(found.get(LOADED[tag]) or found.get("xlink:" + LOADED[tag]))
        if tag == "link" and rels & LOADED_RELS:
            self.loaded.append(found.get("href"))
        self.loaded += [found.get("poster"), found.get("background")]
        for candidate in re.findall(r"[^\s,]\S*[^\s,](?=\s|,|$)", found.get("srcset", "")) if found.get("srcset") else []:
            if not re.fullmatch(r"[\d.]+[wxh]", candidate):
                self.loaded.append(candidate)
        self.loaded += in_css(found.get("style", ""))

    def handle_data(self, data):
        if self.style and not self.inside and not self.noscript:
            self.loaded += in_css(data)

    def handle_endtag(self, tag):
        self.style = self.style and tag != "style"
        self.noscript = self.noscript and tag != "noscript"
        if tag == self.inside:
            self.inside = None

    def add(self, ref):
        ref = (ref or "").strip(" \t\n\f\r")
        if ref and not ref.startswith("#"):
            self.refs.append(ref)


def in_css(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return ["".join(groups) for groups in CSS_URLS.findall(text)]


def escape(data, escapes):
    """Escapes what must be, unescapes what need not be, and writes hexadecimal digits large."""
    out, i = [], 0
    while i < len(data):
        c = data[i]
        if c == 0x25 and re.match(rb"[0-9a-fA-F]{2}", data[i + 1:i + 3]):
            value = int(data[i + 1:i + 3], 16)
            out.append(chr(value) if value in UNRESERVED else "%%%02X" % value)
            i += 3
            continue
        out.append("%%%02X" % c if c < 0x21 or c > 0x7e or c in escapes else chr(c))
        i += 1
    return "".join(out)


def dotless(segment):
    return segment.lower().replace("%2e", ".")


def resolve(base, ref, encoding="utf-8"):
    """Returns the canonical form of ref, seen from the canonical URL base (or None), or None if it is no URL of the web."""
    ref = ref.strip("".join(map(chr, range(0x21)))).translate({9: None, 10: None, 13: None})
    ref = ref.partition("#")[0]
    base_scheme = base_host = base_path = base_query = ""
    if base:
        base_scheme, _, rest = base.partition("://")
        at = rest.index("/")
        base_host = rest[:at]
        base_path, _, base_query = rest[at:].partition("?")
    match = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):", ref)
    scheme, rest = base_scheme, ref
    if match:
        scheme, rest = match.group(1).lower(), ref[match.end():]
        if scheme not in PORTS:
            return None
        if scheme != base_scheme or rest[:1] in ("/", "\\") and rest[1:2] in ("/", "\\"):
            rest = "//" + rest.lstrip("/\\")
    elif not base:
        return None
    before, mark, query = rest.partition("?")
    before = before.replace("\\", "/")
    query = query if mark else None
    if before.startswith("//"):
        authority, slash, path = before.lstrip("/").partition("/")
        host = canonical_host(scheme, authority)
        if host is None:
            return None
        segments = path.split("/")
    else:
        host = base_host
        if before.startswith("/"):
            segments = before[1:].split("/")
        elif before:
            segments = base_path[1:].split("/")[:-1] + before.split("/")
        else:
            segments = base_path[1:].split("/")
            if query is None:
                query = base_query
    path = []
    for i, segment in enumerate(segments):
        last = i == len(segments) - 1
        if dotless(segment) == "..":
            if path:
                path.pop()
            if last:
                path.append("")
        elif dotless(segment) == ".":
            if last:
                path.append("")
        else:
            path.append(segment)
    url = scheme + "://" + host + "/" + "/".join(escape(s.encode("utf-8", "surrogatepass"), PATH_ESCAPES) for s in path)
    if query:
        try:
            data = query.encode(encoding)
        except (UnicodeEncodeError, LookupError):
            data = query.encode("utf-8", "surrogatepass")
        url += "?" + escape(data, QUERY_ESCAPES)
    return url if len(url) <= 2048 else None


def canonical_host(scheme, authority):
    host = authority.rpartition("@")[2]
    name, colon, port = host.rpartition(":") if re.search(r":[0-9]*$", host) else (host, "", "")
    if not name or len(port) > 5:
        return None
    name = bytes.fromhex("".join("%02x" % b for b in name.encode())).decode()
    name = re.sub(r"%([0-9a-fA-F]{2})", lambda m: chr(int(m.group(1), 16)), name).lower().rstrip(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            return None
    if not name or re.search(r"[\x00-\x20#/:<>?@\[\\\]^|%]", name.strip("[]") if name.startswith("[") else name):
        if not name.startswith("["):
            return None
    port = str(int(port)) if port else ""
    return name if port in ("", PORTS[scheme]) else name + ":" + port


def decode(body, content_type):
    match = re.search(r"charset=[\"']?([\w.:-]+)", content_type or "", re.I)
    charset = match and match.group(1)
    if not charset:
        match = re.search(rb"<meta[^>]*charset\s*=\s*[\"']?\s*([\w.:-]+)", body[:1024], re.I)
        charset = match.group(1).decode() if match else None
    charset = {"iso-8859-1": "cp1252", "us-ascii": "cp1252", "latin1": "cp1252"}.get((charset or "").lower(), charset)
    for name in (charset, "utf-8", "cp1252"):
        try:
            if name:
                return body.decode(name, "strict" if name == "utf-8" and not charset else "replace"), name
        except (LookupError, UnicodeDecodeError):
            continue
    return body.decode("latin-1"), "latin-1"


def walk(job):
    """Walks one host, breadth first. Redirects cost no depth, so that they go to the front."""
    host, address, port, seeds, limit = job
    connection = http.client.HTTPConnection(address, port, timeout=60)
    depths = {seed: 0 for seed in seeds}
    queue = collections.deque(seeds)
    done, pages, edges, loaded = set(), [], [], set()
    while queue:
        url = queue.popleft()
        if url in done:
            continue
        done.add(url)
        depth = depths[url]
        connection.request("GET", url[len(host):], headers={"Host": host.partition("://")[2], "User-Agent": "groundtruth"})
        answer = connection.getresponse()
        body = answer.read()
        kind = (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        found, redirect = set(), None
        if 300 <= answer.status < 400 and answer.getheader("Location"):
            redirect = resolve(url, answer.getheader("Location"))
            found = {redirect} - {None}
        elif answer.status == 200 and kind == "text/html":
            text, encoding = decode(body, answer.getheader("Content-Type"))
            parser = Links()
            parser.feed(text)
            parser.close()
            base = (resolve(url, parser.base, encoding) if parser.base else None) or url
            loaded |= resolve_all(base, parser.loaded, encoding)
            for ref in dict.fromkeys(parser.refs):
                to = resolve(base, ref, encoding)
                if to:
                    found.add(to)
        pages.append((url, answer.status, depth, kind, len(found), len(body)))
        for to in found:
            edges.append((url, to))
        for to in sorted(found):
            if not to.startswith(host + "/"):
                continue
            further = depth if to == redirect else depth + 1
            if (limit < 0 or further <= limit) and further < depths.get(to, 1 << 30):
                depths[to] = further
                if to == redirect:
                    queue.appendleft(to)
                else:
                    queue.append(to)
    return pages, edges, loaded


def resolve_all(base, refs, encoding="utf-8"):
    return {to for ref in set(refs) if ref and ref.strip() for to in [resolve(base, ref, encoding)] if to}


def requisites(addresses, loaded, pages):
    """Asks for what pages load, and for what that loads, up to five steps from a page."""
    found, connections = {}, {}
    for _ in range(5):
        further = set()
        for url in sorted(loaded):
            host = "/".join(url.split("/")[:3])
            if url in found or url in pages or host not in addresses:
                continue
            if host not in connections:
                connections[host] = http.client.HTTPConnection(*addresses[host], timeout=60)
            connections[host].request("GET", url[len(host):], headers={"Host": host.partition("://")[2], "User-Agent": "groundtruth"})
            answer = connections[host].getresponse()
            body, kind = answer.read(), (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
            found[url] = answer.status
            if 300 <= answer.status < 400:
                further |= resolve_all(url, [answer.getheader("Location")])
            elif answer.status == 200 and kind == "text/css":
                further |= resolve_all(url, in_css(body.decode("utf-8", "replace")))
            elif answer.status == 200 and kind == "image/svg+xml":
                parser = Links()
                parser.feed(body.decode("utf-8", "replace"))
                further |= resolve_all(url, parser.loaded)
        loaded = further
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("lab")
    arguments.add_argument("out")
    arguments.add_argument("--seeds", help="default LABDIR/seeds.txt")
    arguments.add_argument("--depth", type=int, default=-1, help="links followed from a seed; -1: any number")
    arguments.add_argument("--workers", type=int, default=2)
    o = arguments.parse_args()
    addresses = {}
    with open(os.path.join(o.lab, "hosts.tsv")) as f:
        for line in f:
            name, address, port, _ = line.rstrip("\n").split("\t")
            addresses["http://%s:%s" % (name, port)] = (address, int(port))
    seeds = collections.defaultdict(list)
    with open(o.seeds or os.path.join(o.lab, "seeds.txt")) as f:
        for line in f:
            line = line.partition(" ")[0].strip()
            if line and not line.startswith("#"):
                url = resolve(None, line)
                host = "/".join(url.split("/")[:3])
                if host not in addresses:
                    sys.exit("groundtruth.py: no such host in the lab: " + host)
                seeds[host].append(url)
    jobs = [(host, *addresses[host], urls, o.depth) for host, urls in seeds.items()]
    with multiprocessing.Pool(o.workers) as pool:
        results = pool.map(walk, jobs, chunksize=1)
    os.makedirs(o.out, exist_ok=True)
    pages = sorted(p for result in results for p in result[0])
    edges = sorted(e for result in results for e in result[1])
    with open(os.path.join(o.out, "pages.tsv"), "w") as f:
        f.write("url\tstatus\tdepth\ttype\toutlinks\tbytes\n")
        f.writelines("\t".join(map(str, p)) + "\n" for p in pages)
    with open(os.path.join(o.out, "links.tsv"), "w") as f:
        f.write("from\tto\n")
        f.writelines("\t".join(e) + "\n" for e in edges)
    found = requisites(addresses, set().union(*(r[2] for r in results)), {p[0] for p in pages})
    with open(os.path.join(o.out, "requisites.tsv"), "w") as f:
        f.write("url\tstatus\n")
        f.writelines("%s\t%d\n" % item for item in sorted(found.items()))
    html_pages = sum(1 for p in pages if p[1] == 200 and p[3] == "text/html")
    print("%d URLs, %d HTML pages, %d hosts, %d links, %d requisites" % (len(pages), html_pages, len(jobs), len(edges), len(found)))


if __name__ == "__main__":
    main()
