"""What the programs that judge a crawl share: the answers of henro, and the files that the sites of docs.sh serve."""
import csv
import pathlib
import subprocess
import urllib.parse


def rows(henro, crawl, question):
    """The rows that answer a question to henro sql, each by the names of its columns."""
    said = subprocess.run([henro, "sql", crawl, question, "--format", "tsv"], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(said.splitlines(), delimiter="\t"))


class Sites:
    """The sites of docs.sh in a folder."""

    def __init__(self, folder):
        self.folders = {}  # what each host serves
        for line in open(f"{folder}/hosts.tsv"):
            name, _, port, served = line.rstrip("\n").split("\t")
            self.folders[f"{name}:{port}"] = pathlib.Path(served)

    def bytes_of(self, url):
        """The file that is served at a URL."""
        u = urllib.parse.urlsplit(url)
        path = self.folders[u.netloc] / urllib.parse.unquote(u.path).lstrip("/")
        return (path / "index.html" if path.is_dir() else path).read_bytes()
