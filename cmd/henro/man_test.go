package main

import (
	"testing"

	"henro/cmd/config/configtest"
)

func TestEveryCommandHasAManPage(t *testing.T) { configtest.ManPages(t, newRootCommand()) }
