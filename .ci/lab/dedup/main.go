// Command dedup reads WARC files with nlnwa/gowarc at its strictest: every required field, every digest.
//
//	dedup FILE.warc.gz…
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/nlnwa/gowarc/v2"
)

func main() {
	records, revisits, wrong := 0, 0, 0
	for _, path := range os.Args[1:] {
		if err := read(path, &records, &revisits, &wrong); err != nil {
			fmt.Println("FAIL ", err)
			os.Exit(1)
		}
	}
	if wrong > 0 || revisits == 0 {
		fmt.Printf("FAIL  gowarc: %d of %d records wrong, %d revisits\n", wrong, records, revisits)
		os.Exit(1)
	}
	fmt.Printf("ok    gowarc reads %d records, %d of them revisits, strictly and with digests\n", records, revisits)
}

func read(path string, records, revisits, wrong *int) error {
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation(), gowarc.WithAddMissingDigest(false))
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		record, _, faults, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", path, *records, err)
		}
		if err := record.ValidateDigest(faults); err != nil || !faults.Valid() {
			fmt.Println("       ", path, record.Type(), err, faults)
			*wrong++
		}
		if record.Type() == gowarc.Revisit {
			*revisits++
		}
		*records++
		if err := record.Close(); err != nil {
			return err
		}
	}
}
