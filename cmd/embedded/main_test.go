package embedded_test

import (
	"os"
	"testing"

	"henro/cmd/embedded/crawltest"
)

func TestMain(m *testing.M) { os.Exit(crawltest.Main(m)) }
