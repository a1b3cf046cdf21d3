#!/usr/bin/env bash
# How soon a crawl for a topic has the pages of the topic: the Debian documentation (docs.sh), where the pages of two of nine packages,
# those of PostgreSQL and SQLite, are what is looked for; then Japanese documentation, all of it on one host, where the pages of LilyPond are.
# One connection, no delay and leases of at most 20 pages, so that the order alone counts. The order is read off the access logs of nginx.
# Curves go to DIR/harvest.svg and DIR/harvest-ja.svg, the figures of each turn to standard output.
#
#   topic.sh [DIR]     PAGES=5000 of each crawl; TURNS=1; PORT=8080
set -euo pipefail
lab=$(cd "$(dirname "$0")" && pwd)
. "$lab/programs.sh"
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
port=${PORT:-8080}
finish() {
	"$lab/docs.sh" down "$dir" || true
	[ -n "${1:-}" ] || rm -rf "$dir"
}
trap 'finish "$@"' EXIT
cd "$lab/../.."
go build -o "$dir/bin/" ./cmd/henro ./.ci/lab/harvest

# Japanese: folder of the host, package, folder in it.
ja=$dir/ja
mkdir -p "$ja"
number=0
: >"$dir/ja.html"
while read -r folder package path; do
	if [ ! -e "$ja/$folder" ]; then
		mkdir -p "$dir/packages"
		(cd "$dir/packages" && packages download -q "$package" && dpkg-deb -x "$package"_*.deb "$package")
		mv "$dir/packages/$package/$path" "$ja/$folder"
	fi
	front=$(cd "$ja" && find "$folder" -name 'index*html' | sort | head -1)
	echo "<p><a href=\"/$front\">$((++number))</a>" >>"$dir/ja.html"
done <<'LIST'
gimp       gimp-help-ja            usr/share/gimp/2.0/help/ja
aptitude   aptitude-doc-ja         usr/share/doc/aptitude/html/ja
reference  debian-reference-ja     usr/share/debian-reference
lilypond   lilypond-doc-html-ja    usr/share/doc/lilypond/html/Documentation
developers developers-reference-ja usr/share/developers-reference/ja
maintainer maint-guide-ja          usr/share/doc/maint-guide-ja/html
LIST
mv "$dir/ja.html" "$ja/index.html"
echo "http://ja.docs.test:$port/" >"$dir/ja.txt"

MORE="ja $ja" "$lab/docs.sh" up "$dir"
mapfile -t flags <"$dir/flags.txt"
printf '%s\n' database sql sqlite postgresql query table transaction index row >"$dir/topic.txt"
printf '%s\n' 楽譜 音符 小節 和音 歌詞 譜表 拍子 調 >"$dir/topic-ja.txt"
postgres=$dir/sites/postgresql-doc-15/usr/share/doc/postgresql-doc-15/html sqlite=$dir/sites/sqlite3-doc/usr/share/doc/sqlite3
examples=(--topic "$postgres/queries-overview.html" --topic "$postgres/sql-select.html" --topic "$sqlite/lang_select.html"
	--topic "$sqlite/queryplanner.html")

crawl() { # NAME SEEDS FLAG…
	rm -rf "${dir:?}/crawl"
	"$lab/docs.sh" logs "$dir"
	"$dir/bin/henro" crawl --dir "$dir/crawl" --allow-private --delay 0 --requisites off --connections 1 --page-budget 20 --depth -1 \
		--pages "$PAGES" --seeds "$dir/$2.txt" "${flags[@]}" --listen-http off --progress off --log-level error "${@:3}" \
		>"$dir/$1.log" || [ $? = 16 ] # the limit of pages
	sort -n "$dir"/logs/*.docs.test.log >"$dir/$1.tsv"
}
pages=${PAGES:-5000}
for turn in $(seq "${TURNS:-1}"); do
	PAGES=$pages
	echo "Turn $turn"
	crawl breadth-first seeds --frontier ranked
	crawl topic seeds --topic "$dir/topic.txt"
	crawl topic-examples seeds "${examples[@]}"
	crawl topic-within-hosts seeds --topic "$dir/topic.txt" --frontier host
	crawl topic-min-0.25 seeds --topic "$dir/topic.txt" --topic-min 0.25
	"$dir/bin/harvest" -of postgres.,sqlite. -svg "$dir/harvest.svg" "$dir"/{breadth-first,topic,topic-examples,topic-within-hosts,topic-min-0.25}.tsv
	PAGES=100000 # all: many links of LilyPond lead to pages that are not there
	crawl ja-breadth-first ja --frontier ranked
	crawl ja-topic ja --topic "$dir/topic-ja.txt"
	crawl ja-topic-examples ja --topic "$(find "$ja/lilypond" -name 'writing-pitches.ja.html')"
	"$dir/bin/harvest" -of "ja.docs.test:$port/lilypond/" -points 50,100,200,400,800 -svg "$dir/harvest-ja.svg" "$dir"/ja-{breadth-first,topic,topic-examples}.tsv
done
