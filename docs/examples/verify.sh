#!/usr/bin/env bash
# Checks a file of henro prove with openssl and sha256sum, without henro and without the archive, step by step.
#
#   verify.sh PROOF                    what it says of itself
#   WARC=FILE verify.sh PROOF          and the record: its WARC file, or its stored bytes alone
#   CA=FILE verify.sh PROOF            and its timestamp: the certificates of the authority, PEM
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails() { echo "NOT PROVED: $1"; exit 4; }
sum() { sha256sum | cut -c 1-64; }
bytes() { printf '%b' "$(printf %s "$1" | sed 's/../\\x&/g')"; } # of hexadecimal digits

tr -d '\r' <"$1" >"$dir/proof"
sed '1,/^checkpoint$/d' "$dir/proof" >"$dir/checkpoint"
sed '/^checkpoint$/,$d' "$dir/proof" >"$dir/head"

# 1. The hash of the leaf: SHA-256 of a byte 0 and the line, with its end.
sed -n 's/^leaf //p' "$dir/head" >"$dir/leaf"
hash=$({ printf '\0'; cat "$dir/leaf"; } | sum)
echo "leaf        $hash"

# 2. Up to the root: SHA-256 of a byte 1 and both hashes, each on its side.
while read -r side other; do
	case $side in
	left) hash=$({ printf '\1'; bytes "$other$hash"; } | sum) ;;
	right) hash=$({ printf '\1'; bytes "$hash$other"; } | sum) ;;
	esac
done <"$dir/head"
root=$(bytes "$hash" | base64)
[ "$root" = "$(sed -n 3p "$dir/checkpoint")" ] || fails "the path leads to the root $root, which the checkpoint has not"
echo "root        $root"

# 3. The checkpoint: five lines, signed by the key in the fifth (Ed25519).
head -n 5 "$dir/checkpoint" >"$dir/signed"
key=$(sed -n '5s/^key //p' "$dir/checkpoint")
{ bytes 302a300506032b6570032100; printf %s "${key#*+*+}" | base64 -d | tail -c 32; } >"$dir/key"
sed -n '7s/.* //p' "$dir/checkpoint" | base64 -d | tail -c 64 >"$dir/signature"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$dir/key" -rawin -in "$dir/signed" -sigfile "$dir/signature" >/dev/null 2>&1 ||
	fails "the checkpoint is not signed by its key"
echo "signed      by $key"

# 4. The record: its bytes as they are stored.
if [ -n "${WARC:-}" ]; then
	read -r _ _ _ offset length digest _ <"$dir/leaf"
	[[ $offset,$length =~ ^[0-9]+,[0-9]+$ ]] || fails "its leaf names no record"
	[ "$(wc -c <"$WARC")" -ne "$length" ] || offset=0
	[ "$(tail -c "+$((offset + 1))" "$WARC" | head -c "$length" | sum)" = "$digest" ] || fails "$WARC holds another record"
	echo "record      $digest"
fi

# 5. The timestamp: an authority saw this checkpoint, at that moment.
if [ -n "${CA:-}" ]; then
	sed -n 's/^timestamp //p' "$dir/head" | base64 -d >"$dir/stamp"
	[ -s "$dir/stamp" ] || fails "it has no timestamp: henro prove --timestamp has its checkpoint stamped"
	openssl ts -verify -in "$dir/stamp" -data "$dir/checkpoint" -CAfile "$CA" >/dev/null 2>&1 || fails "its timestamp is none by $CA"
	openssl ts -reply -in "$dir/stamp" -text 2>/dev/null | sed -n 's/^Time stamp: /timestamp   /p'
fi
echo proved
