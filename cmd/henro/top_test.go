package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"henro/actors/protocol"
	"henro/master"
	"henro/master/lending"
	"henro/messages/speech"
)

var updateTop = flag.Bool("update", false, "write the golden texts of henro top anew")

// TestTopShowsWhatIsToldAndKeysSteer feeds the model with answers and keys, and compares the window with golden texts.
func TestTopShowsWhatIsToldAndKeysSteer(t *testing.T) {
	begun := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	told := func(after int, pages uint64, state master.State) topAnswer {
		return topAnswer{polled: true, at: begun.Add(time.Duration(after) * time.Second), status: &master.Status{
			State: state, Hosts: 40, Waiting: 900, Due: 7, Known: 1000 + pages, Ready: 3, Leases: 31, PerSecond: 9.5,
			Seconds:   float64(60 + after),
			NextReady: begun.Add(20 * time.Second), Totals: protocol.Totals{Pages: pages, Links: 7 * pages,
				Bytes: 12_345_678, Errors: map[string]uint64{"404": 12, "DNS": 1}},
			Slaves: []lending.SlaveStatus{
				{Name: "pc-07", State: lending.Working, Leases: 30, Connections: 256, Unstored: 2, Memory: 81_000_000,
					Silent: "112ms"},
				{Name: "pc-08\x1b[2J", State: lending.Silent, Leases: 1, Connections: 256, Memory: 7_000_000,
					Silent: "4.2s"},
			},
		}}
	}
	asked := ""
	m := newTop("127.0.0.1:7780", func(method, path string) tea.Cmd {
		return func() tea.Msg { asked += method + " " + path + "\n"; return nil }
	}, time.Second, told(0, 100, master.Running))
	feed := func(message tea.Msg) tea.Cmd {
		_, next := m.Update(message)
		return next
	}
	key := func(r rune) tea.Cmd { return feed(tea.KeyPressMsg{Code: r, Text: string(r)}) }
	stalled := told(5, 180, master.Running)
	stalled.status.Stalled = speech.Say("nothing was fetched for %s: no slave is there; start henro-slave --join",
		2*time.Minute)
	stalled.status.Slaves = nil
	for _, step := range []struct {
		name    string
		message []tea.Msg
	}{
		{"first", nil},
		{"running", []tea.Msg{told(1, 110, master.Running), told(2, 150, master.Running),
			told(4, 180, master.Running)}},
		{"small", []tea.Msg{tea.WindowSizeMsg{Width: 80, Height: 12}}},
		{"stalled", []tea.Msg{tea.WindowSizeMsg{Width: 80, Height: 40}, stalled}},
		{"silent", []tea.Msg{topAnswer{err: errors.New("no crawl answers at 127.0.0.1:7780"), polled: true}}},
		{"paused", []tea.Msg{told(9, 180, master.Paused)}},
	} {
		for _, message := range step.message {
			if next := feed(message); next == nil && step.name != "small" && step.name != "stalled" {
				t.Errorf("%s: nothing comes after %T", step.name, message)
			}
		}
		golden := filepath.Join("testdata", "top", step.name+".txt")
		got := m.View().Content + "\n"
		if *updateTop {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v; the window is\n%swant\n%s", step.name, err, got, want)
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s: what a slave says moves the cursor", step.name)
		}
	}
	key('p')()
	feed(told(10, 180, master.Running))
	key('p')()
	feed(topTick{})()
	if want := "POST /api/resume\nPOST /api/pause\nGET /api/status\n"; asked != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if next := feed(topAnswer{status: m.status, at: begun.Add(time.Minute)}); next != nil {
		t.Error("an answer to a key starts a second clock")
	}
	if next := key('q'); next == nil || next() != tea.Quit() {
		t.Error("q does not leave")
	}
}
