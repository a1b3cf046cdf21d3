package master

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/console"
	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

// ChangedPosted is the body of POST /api/changed. As text/plain it is a URL a line, and by is a parameter of the query.
type ChangedPosted struct {
	URLs []string `json:"urls"`         // said to have changed, or to be new: 1 to ChangedMost
	By   string   `json:"by,omitempty"` // who says so, for the log: at most 100 bytes
}

// ChangedAnswer is what POST /api/changed answers: how many of the URLs are what, each counted once.
type ChangedAnswer struct {
	Known   uint64 `json:"known"`   // visited before; the next visit is brought forward as far as notices were right
	New     uint64 `json:"new"`     // of a host that the crawl knows: taken as from a sitemap of that host
	Waiting uint64 `json:"waiting"` // found before, and not visited yet
	Foreign uint64 `json:"foreign"` // of hosts that the crawl does not know; nothing comes of them
}

// Add adds the counts of another list.
func (a *ChangedAnswer) Add(more *ChangedAnswer) {
	a.Known, a.New = a.Known+more.Known, a.New+more.New
	a.Waiting, a.Foreign = a.Waiting+more.Waiting, a.Foreign+more.Foreign
}

const (
	// ChangedMost bounds the URLs of one POST of changes.
	ChangedMost = 10_000
	// changedAtOnce bounds the POSTs that are read side by side, of maxSeedBytes each.
	changedAtOnce = 4
	mostBy        = 100 // bytes
)

// ErrChanged is returned for a list of changed URLs that cannot be taken.
var ErrChanged = errors.New("no list of changed URLs")

// notices counts, since the start, the URLs that were said to have changed.
type notices struct {
	mu  sync.Mutex
	sum ChangedAnswer
}

func (n *notices) add(answer *ChangedAnswer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sum.Add(answer)
}

// results are the counts by the words of ChangedAnswer.
func (n *notices) results() map[string]uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return map[string]uint64{"known": n.sum.Known, "new": n.sum.New, "waiting": n.sum.Waiting, "foreign": n.sum.Foreign}
}

// byHost checks the URLs and groups them by their hosts.
func (p *ChangedPosted) byHost() (map[string][]string, error) {
	switch {
	case len(p.URLs) == 0 || len(p.URLs) > ChangedMost:
		return nil, fmt.Errorf("%w: %d URLs: want 1 to %d at once", ErrChanged, len(p.URLs), ChangedMost)
	case len(p.By) > mostBy:
		return nil, fmt.Errorf("%w: by has %d bytes: want at most %d", ErrChanged, len(p.By), mostBy)
	}
	hosts, seen := map[string][]string{}, make(map[string]struct{}, len(p.URLs))
	for _, text := range p.URLs {
		u, err := weburl.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %.100q: %w", ErrChanged, text, err)
		}
		if _, twice := seen[u.String()]; !twice {
			seen[u.String()] = struct{}{}
			hosts[u.Host()] = append(hosts[u.Host()], u.String())
		}
	}
	return hosts, nil
}

// Changed takes a list of URLs that somebody says to have changed.
func (n *Node) Changed(ctx context.Context, posted *ChangedPosted) (*ChangedAnswer, error) {
	hosts, err := posted.byHost()
	if err != nil {
		return nil, err
	}
	if !n.o.Hosts.Continuous {
		return nil, fmt.Errorf("%w: this crawl ends when nothing new is left, and visits no page again: run it with "+
			"--continuous", ErrChanged)
	}
	answer, now := &ChangedAnswer{}, time.Now()
	for host, urls := range hosts {
		disk := n.state.Partitions[n.state.PartitionOf(host)]
		if _, err := disk.Hosts.Get(store.IDOf(host)); errors.Is(err, store.ErrNotFound) {
			answer.Foreign += uint64(len(urls))
			continue
		} else if err != nil {
			return nil, err
		}
		notice := &protocol.Notice{Host: host, At: now}
		for _, url := range urls {
			_, visited, known, err := disk.Seen.Get(url)
			switch {
			case err != nil:
				return nil, err
			case visited:
				notice.Pages = append(notice.Pages, url)
			case !known:
				notice.New = append(notice.New, url)
			}
		}
		answer.Known, answer.New = answer.Known+uint64(len(notice.Pages)), answer.New+uint64(len(notice.New))
		answer.Waiting += uint64(len(urls) - len(notice.Pages) - len(notice.New))
		if len(notice.Pages)+len(notice.New) == 0 {
			continue
		}
		if _, err := Ask[*protocol.NoticeTaken](ctx, n, notice); err != nil {
			return nil, err
		}
	}
	n.notices.add(answer)
	return answer, nil
}

// readChanged reads ChangedPosted, as JSON or as lines.
func readChanged(w http.ResponseWriter, r *http.Request) (posted ChangedPosted, ok bool) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "text/plain" {
		return posted, read(w, r, "the changed URLs", &posted)
	}
	posted.By = r.URL.Query().Get("by")
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() && len(posted.URLs) <= ChangedMost {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			posted.URLs = append(posted.URLs, line)
		}
	}
	if err := lines.Err(); err != nil {
		console.Fail(w, http.StatusBadRequest, fmt.Errorf("read the changed URLs: %w", err))
		return posted, false
	}
	return posted, true
}

// postChanged answers ChangedPosted with ChangedAnswer.
func (n *Node) postChanged(w http.ResponseWriter, r *http.Request) {
	posted, ok := readChanged(w, r)
	if !ok {
		return
	}
	answer, err := n.Changed(r.Context(), &posted)
	if err == nil {
		n.log.WithFields(logrus.Fields{"by": posted.By, "known": answer.Known, "new": answer.New,
			"waiting": answer.Waiting, "foreign": answer.Foreign}).Debug("told of changed URLs")
	}
	reply(w, answer, err)
}
