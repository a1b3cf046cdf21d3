package partition_test

import (
	"testing"

	"go.uber.org/goleak"

	"henro/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openState opens an empty state of so many partitions; the caller closes it.
func openState(t *testing.T, partitions int) *store.State {
	t.Helper()
	o := store.DefaultOptions()
	o.Partitions, o.NoSync = partitions, true
	state, err := store.OpenState(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return state
}
