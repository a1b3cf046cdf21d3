package config_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"henro/actors/console"
	"henro/cmd/config"
	"henro/store/consensus"
)

// followed is a group with a leader that answers HTTP at an address; empty: nobody leads.
type followed struct{ at string }

func (followed) Members(context.Context) ([]consensus.Member, error) {
	return []consensus.Member{{Name: "own list"}}, nil
}
func (followed) Move(string) error   { return errors.New("asked of a master that follows") }
func (followed) Remove(string) error { return errors.New("asked of a master that follows") }

func (f followed) Status() (s consensus.Status) {
	if f.at != "" {
		s.Leader = "a"
	}
	return s
}

func (f followed) DialLeader(context.Context) (net.Conn, error) {
	if f.at == "" {
		return nil, consensus.ErrNoLeader
	}
	if f.at == "lost" {
		c, asked := net.Pipe()
		go io.Copy(io.Discard, asked)
		return lost{c}, nil
	}
	return net.Dial("tcp", f.at)
}

// lost is a connection to a master that led.
type lost struct{ net.Conn }

func (lost) Read([]byte) (int, error) { return 0, consensus.ErrLeadLost }

// moving is a group in which the lead is moved: who leads is known when it is asked for the third time.
type moving struct {
	followed
	asked *int
}

func (m moving) Members(context.Context) ([]consensus.Member, error) {
	*m.asked++
	return []consensus.Member{{Name: "b", Leads: *m.asked > 2}}, nil
}
func (moving) Move(string) error { return nil }

// TestAMoveIsAnsweredWithTheOneThatLeads.
func TestAMoveIsAnsweredWithTheOneThatLeads(t *testing.T) {
	leader := console.New(console.Options{}, config.MasterRoutes(moving{asked: new(int)}))
	answer := httptest.NewRecorder()
	leader.ServeHTTP(answer, httptest.NewRequest("POST", "http://localhost/api/masters/move?master=b", nil))
	if answer.Code != 200 || !strings.Contains(answer.Body.String(), `"leads":true`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestAnOrderIsPassedOnToItsEnd: the master through which another one is told that it should lead, and that is this
// one, ends what it does while it follows.
func TestAnOrderIsPassedOnToItsEnd(t *testing.T) {
	came, goesOn := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(came)
		<-goesOn
		_, _ = io.WriteString(w, "done")
	}))
	defer server.Close()
	standby := console.New(console.Options{},
		config.FollowerRoutes(followed{strings.TrimPrefix(server.URL, "http://")}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
		close(goesOn)
	}()
	answer := httptest.NewRecorder()
	standby.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "POST", "http://localhost/api/masters/move", nil))
	if answer.Code != 200 || answer.Body.String() != "done" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestAMasterThatFollowsAnswersAsTheOneThatLeads, for those whom it trusts itself: the leader does not ask for its own
// token, and judges what a page of another site may ask for.
func TestAMasterThatFollowsAnswersAsTheOneThatLeads(t *testing.T) {
	const token = "0123456789ABCDEFGHIJKLMNOP"
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			console.Fail(w, http.StatusRequestEntityTooLarge, err)
			return
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String()+" "+string(body[:min(len(body), 10)]))
	}
	routes := []console.Route{
		{Pattern: "GET /api/status", Serve: echo}, {Pattern: "GET /page", Linked: true, Serve: echo},
		{Pattern: "GET /api/masters", Serve: echo}, {Pattern: "POST /api/masters/move", Serve: echo},
		{Pattern: "POST /api/seeds", Body: 8 << 20, Serve: echo}, {Pattern: "POST /api/small", Serve: echo}}
	leader := console.New(console.Options{Token: token}, routes)
	other := console.New(console.Options{Token: "another token of 26 letters"}, routes)
	server := httptest.NewServer(other.Passed())
	defer server.Close()
	judging := httptest.NewServer(leader)
	defer judging.Close()
	closed := httptest.NewServer(leader)
	closed.Close()
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	large := strings.Repeat("x", 1<<20)
	const beforeAsked = "a leader that froze before it was asked"
	for _, c := range []struct {
		sentence, at       string
		method, path, body string
		header             string // "Name: value"
		bare               bool   // without the token
		want               int
		says               string
	}{
		{"a question", address(server), "GET", "/api/status?a=b", "", "", false, 200, "GET /api/status?a=b"},
		{"one without the token of this master", address(server), "GET", "/api/status", "", "", true, 401, "token"},
		{"an order", address(server), "POST", "/api/masters/move?master=b", "", "", false, 200,
			"POST /api/masters/move"},
		{"the list of masters", address(server), "GET", "/api/masters", "", "", false, 200, "GET /api/masters"},
		{"many seeds", address(server), "POST", "/api/seeds", large, "", false, 200, "POST /api/seeds xxxxxxxxxx"},
		{"more than the leader takes there", address(server), "POST", "/api/small", large, "", false, 413,
			"too large"},
		{"what is not there", address(server), "GET", "/nothing", "", "", false, 404, ""},
		{"an order of another site", address(server), "POST", "/api/masters/move", "", "Origin: https://evil.test",
			false, 403, "another site"},
		{"an order of a page of ours", address(server), "POST", "/api/masters/move", "", "Origin: http://standby:7780",
			false, 200, "POST"},
		{"a link to a page of ours", address(server), "GET", "/page", "", "Sec-Fetch-Site: cross-site", false, 200,
			"GET /page"},
		{"a link to what is no page", address(server), "GET", "/api/status", "", "Sec-Fetch-Site: cross-site", false,
			403, "another site"},
		{"without a key the leader asks for its own token", address(judging), "GET", "/api/status", "", "", false, 200,
			"GET /api/status"},
		{"a leader that does not answer", address(closed), "GET", "/api/status", "", "", false, 503, "does not answer"},
		{"a leader that froze", "lost", "GET", "/api/status", "", "", false, 503,
			`"the master that led does not answer`},
		{beforeAsked, "lost", "GET", "/api/status", "", "", false, 503, `"the master that led does not answer`},
		{"nobody leads", "", "GET", "/api/status", "", "", false, 503, "no master leads"},
		{"the list while nobody leads", "", "GET", "/api/masters", "", "", false, 200, "own list"},
		{"an order while nobody leads", "", "POST", "/api/masters/move?master=b", "", "",
			false, 503, "no master leads"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			standby := console.New(console.Options{Token: token}, config.FollowerRoutes(followed{c.at}))
			r := httptest.NewRequest(c.method, "http://standby:7780"+c.path, bytes.NewBufferString(c.body))
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				r.Header.Set(name, value)
			}
			if strings.HasPrefix(c.header, "Sec-Fetch") {
				r.Header.Set("Sec-Fetch-Mode", "navigate")
				r.Header.Set("Sec-Fetch-Dest", "document")
			}
			if !c.bare {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			if c.sentence == beforeAsked { // net/http reads before it is given the question
				r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
					GotConn: func(httptrace.GotConnInfo) { time.Sleep(20 * time.Millisecond) }}))
			}
			w := httptest.NewRecorder()
			standby.ServeHTTP(w, r)
			if w.Code != c.want || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("%d %s, want %d %q", w.Code, w.Body, c.want, c.says)
			}
		})
	}
	w := httptest.NewRecorder()
	if leader.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/status", nil)); w.Code != 401 {
		t.Errorf("the leader itself is asked without its token: %d", w.Code)
	}
}
