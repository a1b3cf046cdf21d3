package fetch

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/fakeweb"
	"henro/cmd/fakeweb/hostile"
	"henro/messages"
)

// What the fake web's hostile hosts come to; those that are left out misbehave in what their pages say, not in how.
var misdeeds = map[hostile.Kind]outcome{
	"silent":            {0, messages.Reason_TIMEOUT, "", 0, 20 * time.Second, errIdle},
	"drip":              {0, messages.Reason_TIMEOUT, "", 0, 60 * time.Second, errTotal},
	"stall":             {200, 0, "time", -1, 20 * time.Second, errIdle},
	"endless-body":      {200, 0, "length", 1 << 20, 0, errTooLarge},
	"endless-chunks":    {200, 0, "length", 1 << 20, 0, errTooLarge},
	"endless-headers":   {0, messages.Reason_HEADERS_TOO_LARGE, "", 0, 0, nil},
	"endless-header":    {0, messages.Reason_HEADERS_TOO_LARGE, "", 0, 0, nil},
	"endless-continue":  {0, messages.Reason_MALFORMED, "", 0, 0, errInterim},
	"gzip-bomb":         {200, 0, "length", 1 << 20, 0, errTooLarge},
	"zstd-bomb":         {200, 0, "", -1, 0, nil},
	"brotli-bomb":       {200, 0, "", -1, 0, nil},
	"gzip-broken":       {200, 0, "", -1, 0, nil},
	"gzip-false":        {200, 0, "", -1, 0, nil},
	"gzip-twice":        {200, 0, "", -1, 0, nil},
	"redirect-self":     {302, 0, "", -1, 0, nil},
	"redirect-nonsense": {302, 0, "", -1, 0, nil},
	"nul-header":        {0, messages.Reason_MALFORMED, "", 0, 0, errNUL},
	"bare-newlines":     {200, 0, "", -1, 0, nil},
	"length-long":       {200, 0, "disconnect", -1, 0, errShort},
	"length-short":      {200, 0, "", 50, 0, nil},
	"length-twice":      {0, messages.Reason_MALFORMED, "", 0, 0, errLength},
	"length-nonsense":   {0, messages.Reason_MALFORMED, "", 0, 0, errLength},
	"length-huge":       {200, 0, "disconnect", -1, 0, errShort},
	"chunk-nonsense":    {200, 0, "disconnect", -1, 0, errChunk},
	"chunk-huge":        {200, 0, "disconnect", -1, 0, errChunk},
	"chunk-cut":         {200, 0, "disconnect", -1, 0, errShort},
	"chunk-length":      {200, 0, "", -1, 0, nil},
	"http09":            {0, messages.Reason_MALFORMED, "", 0, 0, errNotHTTP},
	"status-nonsense":   {0, messages.Reason_MALFORMED, "", 0, 0, errNotHTTP},
	"status-999":        {999, 0, "", -1, 0, nil},
	"garbage":           {0, messages.Reason_MALFORMED, "", 0, 0, errNotHTTP},
	"empty":             {0, messages.Reason_CONNECTION_LOST, "", 0, 0, nil},
	"reset-head":        {0, messages.Reason_CONNECTION_LOST, "", 0, 0, nil},
	"reset-body":        {200, 0, "disconnect", -1, 0, nil},
	"unsolicited":       {200, 0, "", -1, 0, nil},
	"retry-after":       {503, 0, "", -1, 0, nil},
	"header-flood":      {0, messages.Reason_HEADERS_TOO_LARGE, "", 0, 0, nil},
	"tls-stall":         {0, messages.Reason_CONNECT_TIMEOUT, "", 0, 10 * time.Second, nil},
	"tls-garbage":       {0, messages.Reason_TLS_FAILED, "", 0, 0, nil},
}

func hostileWeb(t *testing.T, kind hostile.Kind) *fakeweb.Web {
	o := fakeweb.DefaultOptions()
	o.Hosts, o.Guests = 20, hostile.Guests(kind)
	w, err := fakeweb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheFakeWebsHostileHosts(t *testing.T) {
	for _, kind := range hostile.All() {
		want, ours := misdeeds[kind]
		if !ours {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := hostileWeb(t, kind)
				c := newClient(t, func(o *Options) { o.Dial, o.AllowPrivate, o.MaxBody = w.DialContext, false, 1<<20 })
				scheme := "http://"
				if kind.Secure() {
					scheme = "https://"
				}
				for i := range 2 {
					began := time.Now()
					r := visit(t, c, scheme+kind.Host()+"/")
					want.check(t, r, time.Since(began))
					if len(r.Body) > 16<<20 {
						t.Error(len(r.Body), "bytes of body")
					}
					if i == 1 && r.Reused && kind == "unsolicited" {
						t.Error("the answer may be the one nobody asked for")
					}
					r.Release()
				}
				c.Close()
				w.Close()
				time.Sleep(time.Hour) // let the servers notice
			})
		})
	}
}

func TestANameThatIsReboundIsRefusedAtTheConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hostileWeb(t, "rebinding")
		c := newClient(t, func(o *Options) {
			o.Dial, o.AllowPrivate, o.IdleConnections = w.DialContext, false, -1
			o.Lookup = func(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
				a, err := w.LookupNetIP(ctx, "ip", name)
				return a, 0, err
			}
		})
		if r := visit(t, c, "http://rebinding.hostile.test/"); r.Status != 200 {
			t.Error(r)
		}
		time.Sleep(time.Hour)
		if r := visit(t, c, "http://rebinding.hostile.test/"); r.Reason != messages.Reason_ADDRESS_FORBIDDEN {
			t.Error(r)
		}
		c.Close()
		w.Close()
		time.Sleep(time.Hour)
	})
}
