package embedded_test

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/getkin/kin-openapi/openapi3"

	"henro/actors/actortest"
	"henro/actors/console"
	"henro/actors/figures"
	"henro/actors/floor"
	"henro/actors/host"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/docs"
	"henro/master"
	"henro/slave"
	"henro/store/consensus"
	"henro/store/report/changes"
)

func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(docs.OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// api is the tables of a master and of a slave in one console, asked as callers ask, and judged by docs/openapi.yaml.
type api struct {
	t       *testing.T
	doc     *openapi3.T
	console *console.Console
	asked   map[string]bool
}

// ask makes a request and judges the body of it and of the answer.
func (a *api) ask(code int, method, target string, body any) {
	a.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	var operation *openapi3.Operation
	if item := a.doc.Paths.Value(path); item != nil {
		operation = item.GetOperation(method)
	}
	if operation == nil {
		a.t.Errorf("%s %s is not described", method, path)
		return
	}
	a.asked[method+" "+path] = true
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			a.t.Fatal(err)
		}
		sent = bytes.NewReader(data)
		if code == http.StatusOK {
			a.judge(target, operation.RequestBody.Value.Content.Get("application/json"), data)
		}
	}
	request := httptest.NewRequestWithContext(a.t.Context(), method, target, sent)
	request.Host = "localhost"
	answer := httptest.NewRecorder()
	a.console.ServeHTTP(answer, request)
	if answer.Code != code {
		a.t.Errorf("%s %s: %d %s, want %d", method, target, answer.Code, answer.Body, code)
		return
	}
	said := operation.Responses.Status(code)
	if said == nil {
		a.t.Errorf("%s %s: that it may answer %d is not described", method, target, code)
		return
	}
	if code == http.StatusNoContent {
		return
	}
	kind, _, err := mime.ParseMediaType(answer.Header().Get("Content-Type"))
	media := said.Value.Content[kind]
	switch {
	case err != nil || media == nil:
		a.t.Errorf("%s %s: that it may answer %d with %q is not described; %v", method, target, code, kind, err)
	case kind == "application/json":
		a.judge(target, media, answer.Body.Bytes())
	case kind == "application/x-ndjson":
		for line := range bytes.Lines(answer.Body.Bytes()) {
			a.judge(target, media, line)
		}
	case answer.Body.Len() == 0:
		a.t.Errorf("%s %s: the answer is empty", method, target)
	}
}

func (a *api) judge(target string, media *openapi3.MediaType, body []byte) {
	a.t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		a.t.Errorf("%s: %v", target, err)
		return
	}
	if err := media.Schema.Value.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		a.t.Errorf("%s: %.2000s\nin %.2000s", target, err, body)
	}
}

// TestTheAPIIsAsDescribed asks every route of a running crawl, and of its slave. Left out of the description are the
// pages of the dashboard; left out of the asking are the profiles, which the standard library answers.
func TestTheAPIIsAsDescribed(t *testing.T) {
	doc := openAPI(t)
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 2, Domains: 2, Pages: 40, CrossShare: 0.2,
			Errors: fakeweb.Errors{NotFound: 0.2}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawltest.Of(t, t.TempDir(), w, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.URLRules = true, host.LearnURLRules
		})
		tail := console.NewTail()
		e.Log.Logger.AddHook(tail)
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			of := &slave.API{System: e.Telemetry.System, PID: actor.NewPID(e.Telemetry.System.Address(),
				slave.ActorName)}
			process := console.Process{Ready: node.Ready, Tail: tail, Traces: node.Traces()}
			a := &api{t, doc, console.New(console.Options{}, node.Routes(), node.Traces().Routes(),
				e.Telemetry.Routes(),
				of.Routes(), process.Routes(), config.Manual(), config.MasterRoutes(threeMasters{})), map[string]bool{}}
			compareRoutes(t, doc, a.console.Patterns())
			actortest.Pass(3 * time.Minute) // pages are visited, some fail
			if err := changes.Append(filepath.Join(node.Options().Dir, changes.Folder), []changes.Change{{ID: "a",
				Kinds: []string{"text"}, Why: []string{"b"}, PricesWent: []string{"1 €"}, Cut: true, Noise: 1,
				Title: "c"}}); err != nil {
				t.Error(err)
			}
			askAll(a, w.Seeds()[0])
			for _, pattern := range a.console.Patterns() {
				if !a.asked[pattern] && !strings.HasPrefix(pattern, "GET /debug/") {
					t.Errorf("%s was not asked", pattern)
				}
			}
			<-ctx.Done()
			return nil
		})
		if err != nil || status.End != master.Stopped {
			t.Fatalf("ended with %q, %v", status.End, err)
		}
	})
}

// threeMasters are masters of which the first leads.
type threeMasters struct{}

func (threeMasters) Members(context.Context) ([]consensus.Member, error) {
	return []consensus.Member{{Name: "a", Address: "10.0.0.1:7783", Voter: true, Leads: true},
		{Name: "b", Address: "10.0.0.2:7783", Voter: true, Behind: 2}, {Name: "c", Lost: "it is off"}}, nil
}

func (threeMasters) Move(name string) error {
	if name != "b" {
		return errors.New("there is no such master with a vote")
	}
	return nil
}

func (t threeMasters) Remove(name string) error { return t.Move(name) }

func askAll(a *api, seed string) {
	for _, order := range []string{"move", "remove"} {
		a.ask(http.StatusOK, "POST", "/api/masters/"+order+"?master=b", nil)
		a.ask(http.StatusConflict, "POST", "/api/masters/"+order+"?master=d", nil)
	}
	a.ask(http.StatusOK, "GET", "/api/masters", nil)
	host := strings.TrimSuffix(seed, "/")
	a.ask(http.StatusNoContent, "GET", "/healthz", nil)
	a.ask(http.StatusNoContent, "GET", "/readyz", nil)
	a.ask(http.StatusOK, "GET", "/metrics", nil)
	a.ask(http.StatusOK, "GET", "/api/openapi.yaml", nil)
	a.ask(http.StatusOK, "GET", "/api/log", nil)
	a.ask(http.StatusBadRequest, "GET", "/api/log?after=x", nil)
	a.ask(http.StatusOK, "GET", "/api/log?node=local", nil)
	a.ask(http.StatusNotFound, "GET", "/api/log?node=nobody", nil)
	a.ask(http.StatusOK, "GET", "/api/fetches", nil)
	a.ask(http.StatusBadRequest, "GET", "/api/fetches?most=some", nil)
	a.ask(http.StatusOK, "GET", "/api/changes?since=none", nil)
	a.ask(http.StatusOK, "GET", "/api/trace?recent=true&rows=20", nil)
	a.ask(http.StatusOK, "GET", "/api/trace?for=5s", nil)
	a.ask(http.StatusBadRequest, "GET", "/api/trace?for=ever", nil)
	a.ask(http.StatusNotFound, "GET", "/api/trace?node=nobody", nil)
	a.ask(http.StatusOK, "GET", "/api/slave", nil)
	a.ask(http.StatusOK, "GET", "/api/status", nil)
	a.ask(http.StatusOK, "GET", "/api/slaves", nil)
	a.ask(http.StatusOK, "GET", "/api/page?url="+url.QueryEscape(seed), nil)
	a.ask(http.StatusBadRequest, "GET", "/api/page?url=nowhere", nil)
	a.ask(http.StatusNotFound, "GET", "/api/page?url="+url.QueryEscape(seed+"nothing"), nil)
	a.ask(http.StatusOK, "GET", "/api/host?host="+url.QueryEscape(host), nil)
	a.ask(http.StatusNotFound, "GET", "/api/host?host=nowhere.test", nil)
	a.ask(http.StatusOK, "GET", "/api/why?of="+url.QueryEscape(seed), nil)
	a.ask(http.StatusOK, "GET", "/api/why?of="+url.QueryEscape(host), nil)
	a.ask(http.StatusOK, "GET", "/api/why?of="+url.QueryEscape("http://elsewhere.test/a"), nil)
	a.ask(http.StatusBadRequest, "GET", "/api/why", nil)
	a.ask(http.StatusOK, "GET", "/api/missing?prefix="+url.QueryEscape(host), nil)
	a.ask(http.StatusOK, "GET", "/api/report", nil)
	a.ask(http.StatusOK, "GET", "/api/backup", nil)
	a.ask(http.StatusOK, "POST", "/api/seeds", master.SeedsPosted{Seeds: []string{host + "/more"}, Depth: 1})
	a.ask(http.StatusBadRequest, "POST", "/api/seeds", master.SeedsPosted{})
	a.ask(http.StatusOK, "POST", "/api/revisit", master.RevisitPosted{Pages: host + "/*", Every: time.Hour})
	a.ask(http.StatusBadRequest, "POST", "/api/revisit", master.RevisitPosted{Pages: host + "/*"})
	a.ask(http.StatusConflict, "POST", "/api/revisit", master.RevisitPosted{Pages: host + "/*", Every: time.Minute})
	a.ask(http.StatusNotFound, "POST", "/api/revisit", master.RevisitPosted{Pages: "nowhere.test", Now: true})
	a.ask(http.StatusOK, "POST", "/api/changed",
		master.ChangedPosted{URLs: []string{seed, host + "/unheard-of"}, By: "me"})
	a.ask(http.StatusBadRequest, "POST", "/api/changed", master.ChangedPosted{})
	a.ask(http.StatusOK, "POST", "/api/hosts/exclude", master.HostPosted{Host: host})
	a.ask(http.StatusOK, "GET", "/api/host?host="+url.QueryEscape(host), nil) // it is on the stop list now
	a.ask(http.StatusBadRequest, "POST", "/api/hosts/exclude", master.HostPosted{Host: "x"})
	a.ask(http.StatusOK, "POST", "/api/aliases", master.AliasPosted{Host: "http://second.test", Of: host})
	a.ask(http.StatusBadRequest, "POST", "/api/aliases", master.AliasPosted{Host: host, Of: "http://second.test"})
	a.ask(http.StatusBadRequest, "POST", "/api/aliases", master.AliasPosted{Host: "x"})
	a.ask(http.StatusOK, "GET", "/api/aliases", nil)
	a.ask(http.StatusOK, "POST", "/api/aliases", master.AliasPosted{Host: "http://second.test"})
	rule := master.URLRulePosted{Host: host, Rule: "parameter lang", Word: "forget"}
	a.ask(http.StatusOK, "POST", "/api/url-rules", rule)
	a.ask(http.StatusOK, "GET", "/api/url-rules", nil)
	rule.Word = "colour"
	a.ask(http.StatusBadRequest, "POST", "/api/url-rules", rule)
	a.ask(http.StatusNotFound, "POST", "/api/url-rules", master.URLRulePosted{Host: "http://nowhere.test",
		Rule: "slash at the end", Word: "learn"})
	a.ask(http.StatusOK, "POST", "/api/hosts/admit", master.HostPosted{Host: host})
	a.ask(http.StatusBadRequest, "POST", "/api/hosts/admit", master.HostPosted{Host: "x"})
	a.ask(http.StatusOK, "POST", "/api/slaves/drain?slave=local", nil)
	a.ask(http.StatusNotFound, "POST", "/api/slaves/drain?slave=nobody", nil)
	a.ask(http.StatusOK, "POST", "/api/slaves/resume?slave=local", nil)
	a.ask(http.StatusNotFound, "POST", "/api/slaves/resume?slave=nobody", nil)
	a.ask(http.StatusOK, "POST", "/api/pause", nil)
	a.ask(http.StatusOK, "POST", "/api/resume", nil)
	a.ask(http.StatusOK, "POST", "/api/stop", nil)
}

func compareRoutes(t *testing.T, doc *openapi3.T, patterns []string) {
	t.Helper()
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	for _, route := range patterns {
		if !slices.Contains(described, route) {
			t.Errorf("docs/openapi.yaml does not have %s", route)
		}
	}
	for _, route := range described {
		if !slices.Contains(patterns, route) {
			t.Errorf("docs/openapi.yaml has %s, which no node answers", route)
		}
	}
}

// TestTheSchemasHaveEveryField compares the schemas with the types of the same name, so that what no answer of a test
// happens to hold is described as well.
func TestTheSchemasHaveEveryField(t *testing.T) {
	told := map[string]reflect.Type{}
	for _, value := range []any{
		master.Status{}, reading.PageFound{}, reading.HostFound{}, reading.WhyFound{}, master.SeedsPosted{},
		master.SeedsAnswer{}, master.HostPosted{}, reading.PageMissing{}, reading.Wholeness{},
		master.AliasPosted{}, reading.AliasesReported{}, reading.URLRulesReported{}, master.URLRulePosted{},
		master.RevisitPosted{}, master.RevisitAnswer{}, master.FetchesReported{}, master.ChangedPosted{},
		master.ChangedAnswer{}, changes.Change{},
		figures.Report{}, slave.Counts{}, console.Problem{}, console.LogAnswer{}, console.TraceLine{},
		floor.TraceEvent{}, floor.Row{}, consensus.Member{},
	} {
		structsOf(reflect.TypeOf(value), told)
	}
	schemas := openAPI(t).Components.Schemas
	for name, kind := range told {
		if schemas[name] == nil {
			t.Errorf("docs/openapi.yaml has no schema %s", name)
			continue
		}
		described := slices.Sorted(maps.Keys(schemas[name].Value.Properties))
		if fields := slices.Sorted(slices.Values(fieldsOf(kind))); !slices.Equal(fields, described) {
			t.Errorf("docs/openapi.yaml: %s has %v, the type %v", name, described, fields)
		}
	}
	for name := range schemas {
		if told[name] == nil {
			t.Errorf("docs/openapi.yaml has %s, which is the schema of no answer", name)
		}
	}
}

// structsOf adds all named structs of this program that a type is made of.
func structsOf(kind reflect.Type, to map[string]reflect.Type) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		structsOf(kind.Elem(), to)
	case reflect.Struct:
		if kind.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || to[kind.Name()] != nil {
			return // a moment, a sentence: it is a text
		}
		if kind.Name() != "" {
			to[kind.Name()] = kind
		}
		for i := range kind.NumField() {
			field := kind.Field(i)
			if !field.Anonymous {
				structsOf(field.Type, to)
				continue
			}
			for j := range field.Type.NumField() {
				structsOf(field.Type.Field(j).Type, to)
			}
		}
	}
}

// fieldsOf are the names that a struct has in JSON.
func fieldsOf(kind reflect.Type) (names []string) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			names = append(names, fieldsOf(field.Type)...)
		case !field.IsExported(): // it is in no JSON
		case name == "":
			names = append(names, field.Name)
		case name != "-":
			names = append(names, name)
		}
	}
	return names
}
