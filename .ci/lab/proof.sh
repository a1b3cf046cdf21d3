#!/usr/bin/env bash
# What the log of an archive shows: a crawl that is resumed, killed and resumed is changed in every way there is, and henro check has to
# find each of them and nothing else; captures are proved, by henro and by openssl and sha256sum alone, with timestamps of openssl ts.
#
#   proof.sh           10,000 mutations, some two minutes
#   proof.sh COUNT     so many
set -euo pipefail
export HENRO_REQUISITES=off # the truths that this lab knows are of pages
lab=$(cd "$(dirname "$0")" && pwd)
count=${1:-10000}
dir=$(mktemp -d)
pids=() # of programs in the background
finish() {
	for pid in "${pids[@]}"; do end "$pid"; done
	rm -rf "$dir"
}
end() { { kill -9 "$1" && wait "$1" || true; } 2>/dev/null; }
trap finish EXIT

. "$lab/programs.sh"
install openssl openssl
install curl curl
bin=$dir/bin
build "$bin" ./cmd/henro ./.ci/lab/fakeweb
(cd "$lab/../.." && go build -o "$dir/proof" ./.ci/lab/proof)
export TMPDIR=$dir
proof() { "$dir/proof" -henro "$bin/henro" -count "$count" "$@" || failed=1; }

silent() { "$@" >/dev/null 2>&1; }

# --- crawls: one in one go, and one that was ended, killed and resumed, whose first checkpoint is kept

"$bin/fakeweb" --hosts 6 --pages 70 --pareto 0 --crawl-delays 0 --folder "$dir/web" >"$dir/web.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do grep -q ready "$dir/web.log" && break; sleep 0.1; done
crawl() { # NAME FLAG...
	# shellcheck disable=SC2046
	exec "$bin/henro" crawl --dir "$dir/$1" --allow-private --delay 20ms --depth -1 --listen-http off --progress off \
		--seeds "$dir/web/seeds.txt" $(sed "s/^/--resolve /" "$dir/web/resolve.txt") "${@:2}" >"$dir/$1.log" 2>&1
}
newest() { cat "$1"/proof/henro-*/checkpoint; }
(crawl whole) &
whole=$!
(crawl resumed --pages 80) || true
newest "$dir/resumed" >"$dir/early"
(crawl resumed) &
killed=$!
until [ "$(cat "$dir"/resumed/warc/*.open 2>/dev/null | wc -c)" -gt 100000 ]; do kill -0 "$killed" && sleep 0.02; done
end "$killed"
cp -r "$dir/resumed" "$dir/killed"
(crawl resumed)
wait "$whole"
cp -r "$dir/whole" "$dir/repaired"
printf XXXXXXXX | dd of="$(find "$dir/repaired/warc" -name '*.warc.gz' -size +100k | head -n 1)" bs=1 seek=90000 conv=notrunc status=none
newest "$dir/repaired" >"$dir/before"
holds "repaired: a crawl is damaged, and mended" silent "$bin/henro" check --repair "$dir/repaired"
holds "repaired: by a checkpoint of before, what it lost is said to be removed" \
	grep -q 'was removed when the file was mended' <("$bin/henro" check --since "$dir/before" "$dir/repaired" 2>&1)
for name in whole resumed repaired; do
	holds "log: every finished file of the crawl $name is in it" \
		[ "$("$bin/henro" check "$dir/$name" | awk '$1 == "archive" { a = $2 } $1 == "log" { l = $4 } END { print a - l }')" = 0 ]
done

# --- what was changed is found, and nothing else

echo "$SECONDS s until the crawls were there"
proof untouched "$dir"/{whole,killed,resumed,repaired}
proof -early "$dir/early" mutate "$dir/resumed"
echo "$SECONDS s until the archive was changed"

# --- proofs

mkdir "$dir/plain" "$dir/stamped" "$dir/ca"
proof prove "$dir/resumed" "$dir/plain"

# An authority: openssl ts, behind HTTP.
(
	cd "$dir/ca"
	cat >ts.cnf <<-'END'
		[tsa]
		default_tsa = lab
		[lab]
		serial = serial
		signer_cert = tsa.pem
		signer_key = tsa.key
		signer_digest = sha256
		default_policy = 1.3.6.1.4.1.99999.1
		digests = sha256
		accuracy = secs:1
		ess_cert_id_alg = sha256
		[usage]
		extendedKeyUsage = critical,timeStamping
	END
	openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj "/CN=Root of the lab"
	openssl req -newkey rsa:2048 -nodes -keyout tsa.key -out tsa.csr -subj "/CN=Clock of the lab"
	openssl x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ts.cnf -extensions usage -out tsa.pem
) >"$dir/ca.log" 2>&1
port=17690
"$dir/proof" authority 127.0.0.1:$port "$dir/ca" >"$dir/authority.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$port/" && break; sleep 0.1; done
holds "timestamp: openssl ts stamps the checkpoint over HTTP" \
	silent "$bin/henro" prove --timestamp "http://127.0.0.1:$port/" "$dir/resumed"
holds "timestamp: the archive is clean with it" silent "$bin/henro" check "$dir/resumed"
holds "timestamp: an authority that does not answer is said, with exit code 1" \
	[ "$("$bin/henro" prove --timestamp http://127.0.0.1:1/ "$dir/whole" >"$dir/stamps" 2>&1; echo $?)" = 1 ]
proof -stamped prove "$dir/resumed" "$dir/stamped"

# --- openssl and sha256sum alone

verify=$lab/../../docs/examples/verify.sh
sum=0 refused=0 wrong=0
for name in "$dir"/{plain,stamped}/*0.proof; do
	warc=$dir/resumed/warc/$(sed -n 's/^leaf henro.1 record \([^ ]*\).*/\1/p' "$name")
	ca=; [[ $name != */stamped/* ]] || ca=$dir/ca/ca.pem
	WARC=$warc CA=$ca "$verify" "$name" >"$dir/said" 2>&1 && [ "$(tail -n 1 "$dir/said")" = proved ] || { cat "$dir/said"; wrong=$((wrong + 1)); }
	sum=$((sum + 1))
done
cat "$dir/said"
holds "verify.sh: $sum proofs are verified by openssl and sha256sum" [ "$wrong" = 0 ]
for change in '/^leaf/s/.$/!/' '/^left/d' '/^right/d' '/^time 2/s/20/21/' '/^— /s/....$/AAA=/' '/^time 2/,$d' 's/^right/left/' '$d'; do
	for name in "$dir"/plain/*00.proof "$dir"/plain/8.proof; do
		sed "$change" "$name" >"$dir/altered"
		cmp -s "$name" "$dir/altered" && continue
		"$verify" "$dir/altered" >/dev/null 2>&1 || refused=$((refused + 1))
		wrong=$((wrong + 1))
	done
done
holds "verify.sh: $refused of $wrong altered proofs are refused" [ "$refused" = "$wrong" ]
name=$(find "$dir/stamped" -name '*.proof' | head -n 1)
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/other.key" -out "$dir/other.pem" -days 2 -subj "/CN=Root of the lab" 2>/dev/null
holds "verify.sh: another authority of the same name is not believed" [ "$(CA=$dir/other.pem "$verify" "$name" >/dev/null 2>&1; echo $?)" = 4 ]
echo "$SECONDS s"
exit "$failed"
