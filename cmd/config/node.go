package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"henro/actors/reading/far"
	"henro/cluster"
	"henro/messages"
	"henro/slave"
	"henro/slave/browser"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
	"henro/store/consensus"
	"henro/store/proof"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
)

// Log is what the logging flags say.
type Log struct {
	Level      string
	Text, JSON bool // Text elsewhere too, where it stands between lines for people; or JSON on a terminal too
}

// Register adds the flags; the level that is set already is the default, or info.
func (l *Log) Register(f *pflag.FlagSet) {
	f.StringVar(&l.Level, "log-level", cmp.Or(l.Level, "info"),
		"error, warn, info, debug or trace; text on a terminal or beside progress, else JSON")
}

// Logger makes the logger, which writes to standard error.
func (l *Log) Logger() (*logrus.Entry, error) {
	level, err := logrus.ParseLevel(l.Level)
	if err != nil {
		return nil, Usage("--log-level %q: want error, warn, info, debug or trace", l.Level)
	}
	logger := logrus.New()
	logger.SetLevel(level)
	logger.SetOutput(Shown(os.Stderr))
	logger.SetFormatter(&logrus.JSONFormatter{TimestampFormat: "2006-01-02T15:04:05.000Z07:00"})
	if terminal, ok := Terminal(os.Stderr); !l.JSON && (ok || l.Text) {
		plain := !ok || os.Getenv("NO_COLOR") != "" // https://no-color.org
		logger.SetOutput(terminal)
		logger.SetFormatter(&shownText{logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "15:04:05.000",
			DisableColors: plain, ForceColors: !plain && runtime.GOOS != "windows"}})
	}
	return logrus.NewEntry(logger), nil
}

// Unread logs what cannot be read of an earlier archive.
func Unread(log *logrus.Entry) func(what string) {
	return func(what string) { log.WithField("what", what).Warn("a part of an earlier archive cannot be read") }
}

// Peers is what the flags say of how nodes meet: those of henro-master and henro-slave.
type Peers struct {
	Name      string
	Gossip    string
	Actors    string
	Advertise string
	Join      []string
	Key       string
}

// Register adds the flags. The ports differ by role, so that both fit on one machine.
func (p *Peers) Register(f *pflag.FlagSet, gossip, actors string) {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	f.StringVar(&p.Name, "name", host, "name of this node, the same at every start and unique in the cluster")
	f.StringVar(&p.Gossip, "gossip", gossip, "bind address of the gossip, UDP and TCP; without --key only loopback")
	f.StringVar(&p.Actors, "actors", actors, "bind address of the actors; without --key only loopback")
	f.StringVar(&p.Advertise, "advertise", "",
		"`IP` under which the others reach this node, if it is not the one bound")
	f.StringArrayVar(&p.Join, "join", nil, "gossip address of any live node, `HOST:PORT` (repeatable)")
	f.StringVar(&p.Key, "key", "", "cluster key `FILE`, the same on every node (henro key new)")
}

// Joined is a process that others can find and speak to.
type Joined struct {
	Remote *cluster.Remote
	Node   *cluster.Node
	forget context.CancelFunc // ends reading the key file again
}

// Meet makes the actors of a system reachable, has the caller spawn them, and joins the gossip. Spawn completes what
// this node says of itself there: self, whose Notify is called with each member that appears or is lost, in order.
func (p *Peers) Meet(system *actor.ActorSystem, self cluster.Options, spawn func(self *cluster.Options) error,
	log *logrus.Entry) (*Joined, error) {
	keys, err := readKeys(p.Key)
	if err != nil {
		return nil, err
	}
	if keys != nil {
		if err := keys.For(p.Name); err != nil {
			return nil, Usage("--key %s: %v", p.Key, err)
		}
	}
	gate := cluster.NewGate()
	remote, err := cluster.StartRemote(system, cluster.RemoteOptions{Bind: p.Actors,
		Advertise: p.advertised(p.Actors), Peers: p.Join, Key: keys, Name: p.Name, Gate: gate, Logger: log})
	if err != nil {
		return nil, Usage("--actors %s: %v", p.Actors, err)
	}
	self.Name, self.ActorAddress, self.Version, self.Protocol = p.Name, remote.Address(), buildVersion,
		messages.Protocol
	if err := spawn(&self); err != nil {
		remote.Shutdown()
		return nil, err
	}
	self.Bind, self.Advertise, self.JoinAddrs = p.Gossip, p.advertised(p.Gossip), p.Join
	self.Key, self.Gate, self.Logger = keys, gate, log
	node, err := cluster.Join(self)
	if err != nil {
		remote.Shutdown()
		return nil, Usage("--gossip %s: %v", p.Gossip, err)
	}
	ctx, forget := context.WithCancel(context.Background())
	if keys != nil {
		go keys.Follow(ctx, p.Key, log)
	}
	return &Joined{Remote: remote, Node: node, forget: forget}, nil
}

// Consensus opens the address at which masters keep their copies of the state equal, and says who may connect: masters,
// as the gossip knows them by name.
func (p *Peers) Consensus(bind string, isMaster func(name string) bool) (l net.Listener, address string,
	s consensus.Security, err error) {
	keys, err := readKeys(p.Key)
	if err != nil {
		return nil, "", s, err
	}
	if keys != nil {
		if s.TLS, err = keys.TLS(p.Name); err != nil {
			return nil, "", s, Usage("--key %s: %v", p.Key, err)
		}
		s.Admits = isMaster
	}
	l, err = listen("masters", bind, keys != nil, " without --key")
	if err != nil {
		return nil, "", s, err
	}
	if address = p.advertised(l.Addr().String()); address == "" {
		if address, err = cluster.Advertise(l.Addr().String(), p.Join); err != nil {
			return nil, "", s, errors.Join(Usage("--masters: %v", err), l.Close())
		}
	}
	return l, address, s, nil
}

// Masters is what the flags of henro-master say of several masters.
type Masters struct {
	Standby bool
	Bind    string
}

// Register adds the flags.
func (m *Masters) Register(f *pflag.FlagSet) {
	f.BoolVar(&m.Standby, "standby", false,
		"follow the master that --join leads to: keep a copy of the state, and lead when that master is gone")
	f.StringVar(&m.Bind, "masters", "127.0.0.1:7783",
		"bind address at which several masters keep their states equal; opened when there is a second; "+
			"without --key only loopback")
}

// readKeys reads the cluster's keys; there are none without a file.
func readKeys(path string) (*cluster.Keys, error) {
	if path == "" {
		return nil, nil
	}
	keys, err := cluster.ReadKeys(path)
	if err != nil {
		return nil, Usage("--key: %v", err)
	}
	return keys, nil
}

// advertised puts the address that was given in the place of the one bound, with the bound port.
func (p *Peers) advertised(bind string) string {
	_, port, err := net.SplitHostPort(bind)
	if p.Advertise == "" || err != nil || port == "0" {
		return ""
	}
	return net.JoinHostPort(p.Advertise, port)
}

// Leave says good-bye to the others and stops listening.
func (j *Joined) Leave() {
	j.forget()
	j.Node.Leave()
	j.Node.Close()
	j.Remote.Shutdown()
}

// Settings are the names of all flags that any program reads from henro.yaml.
func Settings() []string { return names(AllSettings(new(Run), new(Crawl))) }

// DefaultConnections is C of one slave: enough that some 1,300 hosts at 5 s apart are kept busy by fetches of a second.
const DefaultConnections = 256

// WARCPrefix begins the names of the WARC files that henro writes.
const WARCPrefix = "henro"

// Work is what the flags say of a slave.
type Work struct {
	Connections int
	WARCSize    Bytes
	Dedup       bool
	DedupFrom   []string
	BrowserPath string
}

// Register adds the flags.
func (w *Work) Register(f *pflag.FlagSet) {
	f.IntVar(&w.Connections, "connections", DefaultConnections, "requests that this slave has under way at once")
	w.WARCSize = 1e9
	f.Var(&w.WARCSize, "warc-size", "a WARC file is closed and another begun at this size")
	f.BoolVar(&w.Dedup, "dedup", true,
		"write a payload that this slave has archived under another URL as a revisit record that names that capture")
	f.StringArrayVar(&w.DedupFrom, "dedup-from", nil, "do so for payloads of an earlier crawl, too: a CDXJ, WARC "+
		"or WACZ `FILE`, a folder of them, or s3://BUCKET/FOLDER, to be kept beside this archive; repeatable")
	f.StringVar(&w.BrowserPath, "browser-path", "", "Chromium for --browser: a `FILE` (default: looked for)")
}

// Run is what the flags say of how a program shows itself.
type Run struct {
	HTTP     HTTP
	Progress string
	Config   string
}

// Register adds the flags.
func (r *Run) Register(f *pflag.FlagSet) {
	r.HTTP.Register(f, "127.0.0.1:7780")
	f.StringVar(&r.Progress, "progress", "auto",
		"auto: a live line on a terminal, a line now and then elsewhere; or off")
	f.StringVar(&r.Config, "config", "", "settings `FILE` (default henro.yaml, if there is one)")
}

// Check says which flag makes no sense.
func (w *Work) Check() error {
	switch {
	case w.Connections < 1 || w.Connections > 100_000:
		return Usage("--connections %d: want 1 to 100000", w.Connections)
	case len(w.DedupFrom) > 0 && !w.Dedup:
		return Usage("--dedup-from needs --dedup")
	case w.WARCSize < 1<<20:
		return Usage("--warc-size %s: want at least 1MiB", &w.WARCSize)
	case w.BrowserPath != "":
		if _, err := browser.Find(w.BrowserPath); err != nil {
			return Usage("%v", err)
		}
	}
	return nil
}

// Options makes the options of a slave that archives into DIR/warc, which is made. unread is told of what cannot be
// read of --dedup-from.
func (w *Work) Options(dir string, unread func(what string)) (slave.Options, error) {
	o := slave.DefaultOptions()
	o.Connections, o.Version = w.Connections, buildVersion
	o.Browser.Path = w.BrowserPath
	a := &o.Archive.Writer
	a.Dir, a.Prefix, a.MaxFile = filepath.Join(dir, "warc"), WARCPrefix, int64(w.WARCSize)
	o.Archive.Proof = proof.Path(a.Dir)
	a.Info = ArchiveInfo()
	if err := warc.MakeDir(a.Dir); err != nil {
		return o, Usage("--dir: %v", err)
	}
	if w.Dedup {
		o.Archive.Payloads = payloads.New(payloads.Path(a.Dir, a.Prefix))
		for _, from := range w.DedupFrom {
			if _, err := far.Import(o.Archive.Payloads, from, FindBucket, unread); err != nil {
				return o, Usage("--dedup-from: %v", err)
			}
		}
	}
	return o, nil
}

// ArchiveInfo is what every WARC file says of the program and the machine that wrote it.
func ArchiveInfo() warc.Info {
	return warc.Info{Software: "henro/" + buildVersion, Robots: "obey (RFC 9309)",
		Hostname: warc.DefaultWriterOptions().Host, IP: outwardIP(),
		Description: "incremental crawl; what was archived before is a revisit record"}
}

// outwardIP is the address of this machine that leads to others, or none. Nothing is sent to find it.
func outwardIP() netip.Addr {
	c, err := net.Dial("udp", "192.0.2.1:9") // TEST-NET-1: an address that is no machine's
	if err != nil {
		return netip.Addr{}
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
}

// Dir makes the directory of a crawl, or says why it cannot be used.
func Dir(path string) error {
	if strings.HasPrefix(path, "s3:/") {
		return Usage("--dir %s: want a folder here; henro-slave --archive brings its WARC files into a bucket", path)
	}
	if err := warc.MakeDir(path); err != nil {
		return Usage("--dir: %v", err)
	}
	probe, err := os.CreateTemp(path, ".probe")
	if err != nil {
		return Usage("--dir %s cannot be written: %v", path, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("--dir %s: %w", path, err)
	}
	return nil
}
