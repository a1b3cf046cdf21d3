package cluster

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or, in a process started by one of them, a house (house_test.go).
func TestMain(m *testing.M) {
	if os.Getenv(houseEnv) != "" {
		live(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}
