package dashboard

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"henro/actors/console"
	"henro/actors/reading"
	"henro/store/archive/cdxj"
)

// recalled are the captures of pages that were shown lately. They are looked for again once the page was visited again.
type recalled struct {
	mu     sync.Mutex
	byPage map[string]recall
}

type recall struct {
	visited  time.Time
	captures []reading.Capture
	earlier  bool
}

// recalledPages bounds them: 64 pages with 50 captures each are some 400 kB.
const recalledPages = 64

// add adds the captures of a page to what was found of it.
func (r *recalled) add(dir string, found *reading.PageFound) error {
	r.mu.Lock()
	defer r.mu.Unlock() // one look into the indexes at a time
	if known, ok := r.byPage[found.Page.URL]; ok && known.visited.Equal(found.Page.LastVisit) {
		found.Captures, found.Earlier = known.captures, known.earlier
		return nil
	}
	if err := found.Recall(dir); err != nil {
		return err
	}
	if r.byPage == nil || len(r.byPage) >= recalledPages {
		r.byPage = map[string]recall{}
	}
	r.byPage[found.Page.URL] = recall{found.Page.LastVisit, found.Captures, found.Earlier}
	return nil
}

// ReplayNote is the file in the folder of an archive in which a replay of it says where it listens.
const ReplayNote = "replay.address"

// replayAt is where a replay of the archive answers requests for this page; empty if none does. A replay is
// shown to its own machine only.
func replayAt(r *http.Request, dir string) string {
	if !console.IsLocal(r.Host) {
		return ""
	}
	note, err := os.ReadFile(filepath.Join(dir, "warc", ReplayNote))
	if err != nil {
		return ""
	}
	address, err := netip.ParseAddrPort(strings.TrimSpace(string(note)))
	if err != nil || !address.Addr().IsLoopback() {
		return ""
	}
	conn, err := net.DialTimeout("tcp", address.String(), 200*time.Millisecond)
	if err != nil {
		return "" // it was killed, and left its note
	}
	conn.Close()
	return "http://" + address.String()
}

// ReplayPath is where a capture of the page is shown; empty if nowhere.
func (v *lifeView) ReplayPath(at time.Time) string {
	if v.Replay == "" {
		return ""
	}
	return v.Replay + "/web/" + cdxj.Stamp(at) + "/" + v.URL
}
