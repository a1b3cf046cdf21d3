package main

import (
	"bytes"
	"fmt"
	random "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"henro/actors/reading/audit"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// untouched looks at copies of crawls that nobody touched.
func untouched(crawls []string) error {
	alarms, byProgram := 0, 0
	for i := range *copies {
		from := crawls[i%len(crawls)]
		dir := filepath.Join(scratch, "untouched")
		if err := copyTree(dir, from); err != nil {
			return err
		}
		var since *proof.Checkpoint
		_, newest, err := logOf(dir)
		if err != nil {
			return err
		}
		if i%2 > 0 {
			since = newest
		}
		r, err := audit.Check(dir, since, func(string, uint64, uint64) {})
		if err != nil {
			return err
		}
		problems := r.Problems
		if i%max(*copies / *sample, 1) == 0 {
			byProgram++
			if c, said := code("check", "--since", string(newest.Note), dir); c != 0 {
				problems = append(problems, string(said))
			}
		}
		if len(problems) > 0 || r.Count > 0 {
			alarms++
			fmt.Printf("      %s: %q\n", from, problems)
		}
	}
	holds(alarms == 0, "untouched: %d false alarms over %d copies of %d crawls, %d of them by the built program too",
		alarms, *copies, len(crawls), byProgram)
	return nil
}

// captures are those that the indexes of a crawl list.
func captures(dir string) (all []cdxj.Entry, err error) {
	names, err := warc.Files(filepath.Join(dir, "warc"))
	for _, name := range names {
		text, bad := os.ReadFile(cdxj.Path(name))
		for line := range bytes.Lines(text) {
			e, unread := cdxj.Parse(bytes.TrimRight(line, "\n"))
			all, bad = append(all, e), orElse(bad, unread)
		}
		err = orElse(err, bad)
	}
	return all, err
}

// prove has 200 captures proved, and the proofs altered. Some of them are left in a folder.
func prove(dir, to string) error {
	all, err := captures(dir)
	if err != nil {
		return err
	}
	rng := random.New(random.NewPCG(*seed, 7))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), 200)]
	var texts [][]byte
	accepted, largest, stamped, byProgram := 0, 0, 0, 0
	for i, e := range all {
		p, err := proof.Prove(proof.Disk(proof.Path(filepath.Join(dir, "warc"))), e.Filename, e.Offset)
		if err != nil {
			return fmt.Errorf("%s: %w", e.URL, err)
		}
		text := p.Format()
		texts = append(texts, text)
		largest = max(largest, len(text))
		if p.Stamp != nil {
			stamped++
		}
		file := filepath.Join(dir, "warc", e.Filename)
		again, err := proof.ParseProof(text)
		if err == nil {
			err = again.CheckRecord(file)
		}
		if i%(200 / *sample) == 0 && err == nil && strings.HasPrefix(e.URL, "http") {
			byProgram++
			err = byHenro(dir, e.URL, filepath.Join(to, fmt.Sprint(i, ".proof")))
		}
		if err == nil {
			accepted++
		} else {
			fmt.Printf("      %s: %v\n", e.URL, err)
		}
	}
	holds(accepted == len(all), "prove: %d of %d captures are proved and verified, %d of them by the built program too",
		accepted, len(all), byProgram)
	holds(largest <= 4096, "prove: the largest of %d proofs, %d with a timestamp, has %d bytes, at most 4,096",
		len(texts), stamped, largest)
	if *dated {
		holds(stamped == len(texts), "prove: %d of %d have a timestamp", stamped, len(texts))
	}
	if len(all) < 200 {
		return fmt.Errorf("%d captures: want 200", len(all))
	}
	return alter(rng, texts)
}

// byHenro has the built program prove the last capture of a page, and verify that.
func byHenro(dir, url, to string) error {
	if c, said := code("prove", dir, url, "-o", to); c != 0 {
		return fmt.Errorf("henro prove: %s", said)
	}
	p, err := proof.ReadProof(to)
	if err != nil {
		return err
	}
	if c, said := code("verify", to, filepath.Join(dir, "warc", p.Leaf.File)); c != 0 || p.Leaf.URI != url {
		return fmt.Errorf("henro verify: %s", said)
	}
	return nil
}

// alter changes proofs in every way, and looks whether they are refused.
func alter(rng *random.Rand, texts [][]byte) error {
	believed, byProgram := 0, 0
	for i := 0; i < *proofs; {
		text := texts[rng.IntN(len(texts))]
		other := altered(rng, text, texts[rng.IntN(len(texts))])
		// It may come with other ends of lines, and without its timestamp it proves less, but nothing wrong.
		if bytes.Equal(bytes.ReplaceAll(other, []byte("\r\n"), []byte("\n")), text) ||
			bytes.Equal(other, stampLine.ReplaceAll(text, nil)) {
			continue
		}
		_, err := proof.ParseProof(other)
		if i%max(*proofs / *sample, 1) == 0 {
			byProgram++
			name := filepath.Join(scratch, "altered")
			if bad := os.WriteFile(name, other, 0o644); bad != nil {
				return bad
			}
			if c, _ := code("verify", name); c != 4 {
				err = nil
			}
		}
		if err == nil {
			believed++
			fmt.Printf("      believed: %s\n", firstChange(text, other))
		}
		i++
	}
	holds(believed == 0, "verify: %d of %d altered proofs are refused, %d of them by the built program too",
		*proofs-believed, *proofs, byProgram)
	return nil
}

var stampLine = regexp.MustCompile(`(?m)^timestamp .*\n`)

func firstChange(text, other []byte) string {
	for i := range min(len(text), len(other)) {
		if text[i] != other[i] {
			line := 1 + bytes.Count(text[:i], []byte("\n"))
			word, _, _ := strings.Cut(strings.Split(string(text), "\n")[line-1], " ")
			return fmt.Sprintf("byte %d, in line %d, which begins with %q", i, line, word)
		}
	}
	return "its end"
}

// altered is a proof in which something is another: bytes, lines, or parts of another proof.
func altered(rng *random.Rand, text, other []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	at, from := rng.IntN(len(lines)), bytes.SplitAfter(other, []byte("\n"))
	i := rng.IntN(len(text))
	switch rng.IntN(8) {
	case 0, 1:
		changed := bytes.Clone(text)
		changed[i] ^= 1 << rng.IntN(8)
		return changed
	case 2:
		return slices.Concat(text[:i], text[i+1:])
	case 3:
		return slices.Concat(text[:i], []byte{byte(rng.IntN(256))}, text[i:])
	case 4:
		return bytes.Join(slices.Delete(lines, at, at+1), nil)
	case 5:
		return bytes.Join(slices.Insert(lines, at, lines[rng.IntN(len(lines))]), nil)
	case 6: // the leaf, or the path, of another record
		lines[at] = from[min(at, len(from)-1)]
		return bytes.Join(lines, nil)
	}
	return text[:i]
}
