package main

import (
	"testing"

	"henro/cmd/config/configtest"
)

func TestEveryCommandHasAManPage(t *testing.T) { configtest.ManPages(t, newRootCommand()) }

func TestExamplesAreUnderstood(t *testing.T) { configtest.Examples(t, newRootCommand) }
