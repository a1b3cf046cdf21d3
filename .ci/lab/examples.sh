#!/usr/bin/env bash
# Runs the commands of README.md and docs/start.md as they stand there, one after another, each document in a folder of its own. What is
# example.org there is a made-up web on loopback, which a henro.yaml beside them makes known. What a document shows behind a command has to be
# what the program prints, but for ports, times and what the order of visits decides. Both languages have the same commands and show the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
dir=$(mktemp -d)
web=
finish() {
	code=$?
	[ "$code" -eq 0 ] || tail -n 30 "$dir"/{said,printed,beside} 2>/dev/null || true
	[ -z "$web" ] || kill "$web" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
. .ci/lab/programs.sh
build "$dir/bin" ./cmd/henro ./.ci/lab/fakeweb
PATH=$dir/bin:$PATH
fakeweb --hosts 1 --domains 1 --pareto 0 --pages 100 --redirects 0 --crawl-delays 0 --folder "$dir/web" >"$dir/web.log" &
web=$!
until grep -q ready "$dir/web.log"; do kill -0 "$web" && sleep 0.1; done
seed=$(head -n 1 "$dir/web/seeds.txt")

commands() { awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on && /^(henro|zcat) /' "$root/$1" | sed 's/  *#.*//'; }
diff <(commands docs/start.md) <(commands docs/start.ja.md)
export HENRO_PROGRESS=off

# steps DOCUMENT FOLDER: each command in a file N.command, and what is shown behind it, if anything, in N.shown.
steps() {
	awk -v to="$2" '
		/^```/ { fence = fence ? "" : $0; next }
		fence == "```sh" && /^(henro|zcat) / || fence == "```" && sub(/^\$ /, "") {
			sub(/  +#.*/, ""); name = sprintf("%s/%02d", to, ++n); print >(name ".command"); next }
		fence == "```" { print >(name ".shown") }' "$root/$1"
}
# What differs from run to run. How many pages are whole is not counted in a run that was fast.
masked() {
	sed -E '/^whole /d
		s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z/TIME/g; s/after [0-9dhms.]+\.$/after SPAN./
		s/in [0-9.msh]+ \([0-9.]+\/s\)/in SPAN (N\/s)/; s/^(number +)[0-9]+/\1N/; s/[0-9]+ B  first/N B  first/; s/  +/  /g; s/-{3,}/--/g
		/ × /s/host[0-9]+\.demo\.test:[0-9]+\/[a-z]+\/p[0-9]+/HOST\/PAGE/; s/(\.demo\.test:)[0-9]+/\1PORT/g' "$@"
}

mkdir "$dir/en" "$dir/ja"
steps docs/start.md "$dir/en"
steps docs/start.ja.md "$dir/ja"
for shown in "$dir"/ja/*.shown; do diff "${shown/\/ja\///en/}" "$shown"; done

for document in README.md docs/start.md; do
	mkdir -p "$dir/${document##*/}"
	cd "$dir/${document##*/}"
	{
		echo 'allow-private: true'
		echo 'delay: 10ms'
		echo 'resolve:'
		sed 's/.*/  - "&"/' "$dir/web/resolve.txt"
	} >henro.yaml
	count=0 shown=0
	mkdir steps
	steps "$document" steps
	for step in steps/*.command; do
		line=$(cat "$step")
		echo "\$ $line" >"$dir/said"
		line=${line//https:\/\/example.org\//$seed}
		rm -f "$dir/printed" "$dir/beside"
		line=$(sed -E "s/(demo\.test:)[0-9]+/\1${port:-}/" <<<"$line")
		case $line in
		*replay* | *--continuous*) # until somebody ends it
			bash -c "exec $line" >>"$dir/said" 2>&1 </dev/null &
			job=$!
			case $line in *replay*) until curl -fsS -o "$dir/page" http://127.0.0.1:8090/; do sleep 0.1; done 2>/dev/null ;; *) sleep 3 ;; esac
			kill -INT "$job"
			wait "$job" || [ $? -eq 130 ]
			;;
		*) timeout 120 bash -o pipefail -c "$line" >"$dir/printed" 2>"$dir/beside" </dev/null || [ $? -eq 16 ] ;; # 16: the limit of --pages
		esac
		case $line in "henro demo"*) port=$(grep -oE -m 1 'demo\.test:[0-9]+' "$dir/printed" | cut -d : -f 2) ;; esac
		case $line in *--again*) grep -qF "$(grep -o 'round 1: [^`]*' "$root/$document")" "$dir/printed" ;; esac
		if [ -e "${step%.command}.shown" ]; then
			diff -u --label "$document" --label "the program" <(masked "${step%.command}.shown") <(masked "$dir/beside" "$dir/printed") >>"$dir/said"
			shown=$((shown + 1))
		fi
		count=$((count + 1))
	done
	echo "examples   the $count commands of $document, run as they stand there; of $shown it shows what is printed"
done
