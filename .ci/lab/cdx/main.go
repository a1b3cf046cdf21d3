// Command cdx writes a sorted index as the blocks that a bucket has: NAME.cdx.gz, NAME.idx, and NAME.loc, in which pywb
// looks for the file of a part.
//
//	cdx INDEX NAME
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"henro/store/archive/bucket"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "cdx:", err)
		os.Exit(1)
	}
}

func run(index, name string) error {
	in, err := os.Open(index)
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := os.Create(name + ".cdx.gz")
	if err != nil {
		return err
	}
	list, err := os.Create(name + ".idx")
	if err != nil {
		return errors.Join(err, data.Close())
	}
	part := filepath.Base(name)
	var failed error
	_, err = bucket.Write(data, list, part, bucket.ScanFile(in, "", &failed))
	loc := os.WriteFile(name+".loc", []byte(bucket.Loc(part, "s3://archive/crawl")), 0o644)
	return errors.Join(err, failed, loc, data.Close(), list.Close())
}
