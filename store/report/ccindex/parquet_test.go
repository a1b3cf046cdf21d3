package ccindex

import (
	"io"
	"testing"

	"henro/store/report/tables"
)

type empty struct{}

func (empty) Value(int) tables.Value { return tables.Value{} }

// Of rows that were written only a few wait.
func TestFewRowsOfParquetWait(t *testing.T) {
	made, err := Parquet(io.Discard, tables.Hosts())
	if err != nil {
		t.Fatal(err)
	}
	w := made.(*parquetWriter)
	for range 1000 {
		if err := w.Write(empty{}); err != nil || len(w.rows) >= 256 {
			t.Fatalf("%d rows wait, %v", len(w.rows), err)
		}
	}
	if err := w.Close(); err != nil || len(w.rows) > 0 {
		t.Errorf("%d rows are left, %v", len(w.rows), err)
	}
}
