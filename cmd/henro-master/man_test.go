package main

import (
	"testing"

	"henro/cmd/config/configtest"
)

func TestEveryCommandHasAManPage(t *testing.T) { configtest.ManPages(t, newCommand()) }

func TestExamplesAreUnderstood(t *testing.T) { configtest.Examples(t, newCommand) }
