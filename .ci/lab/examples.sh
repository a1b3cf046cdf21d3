#!/usr/bin/env bash
# Runs the commands of README.md and docs/start.md as they stand there, one after another, each document in a folder of its own. What is
# example.org there is a made-up web on loopback, which a henro.yaml beside them makes known. Both languages have the same commands.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
dir=$(mktemp -d)
web=
finish() {
	code=$?
	[ "$code" -eq 0 ] || tail -n 20 "$dir/said" 2>/dev/null || true
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

for document in README.md docs/start.md; do
	mkdir -p "$dir/${document##*/}"
	cd "$dir/${document##*/}"
	{
		echo 'allow-private: true'
		echo 'delay: 10ms'
		echo 'resolve:'
		sed 's/.*/  - "&"/' "$dir/web/resolve.txt"
	} >henro.yaml
	count=0
	while read -r line; do
		echo "\$ $line" >"$dir/said"
		line=${line//https:\/\/example.org\//$seed}
		case $line in
		*replay* | *--continuous*) # until somebody ends it
			bash -c "exec $line" >>"$dir/said" 2>&1 </dev/null &
			job=$!
			case $line in *replay*) until curl -fsS -o "$dir/page" http://127.0.0.1:8090/; do sleep 0.1; done 2>/dev/null ;; *) sleep 3 ;; esac
			kill -INT "$job"
			wait "$job" || [ $? -eq 130 ]
			;;
		*) timeout 120 bash -o pipefail -c "$line" >>"$dir/said" 2>&1 </dev/null || [ $? -eq 16 ] ;; # 16: the limit of --pages
		esac
		count=$((count + 1))
	done < <(commands "$document")
	echo "examples   the $count commands of $document, run as they stand there"
done
