package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/messages"
	"henro/slave"
)

// finding is what the doctor says of one thing.
type finding struct {
	What   string `json:"what"`
	Level  level  `json:"level"`
	Said   string `json:"said"`
	Advice string `json:"advice,omitempty"` // what to change
}

// level is how well a thing is.
type level string

const (
	healthy level = "ok"
	doubted level = "warning"
	broken  level = "failed"
)

// doctor examines what a slave with the same flags would need, before it joins.
type doctor struct {
	peers config.Peers
	dir   string
	hosts int // connections of the slave to be

	masters string // where it is to be a standby master; empty: it is not
	site    string
	wait    time.Duration

	tell func(finding)
	ill  bool // something is broken
}

// What is enough.
const (
	leastSpace  = 1 << 30          // bytes free: one WARC file
	filesPerUse = 2                // open files of a connection, at most
	filesBeside = 200              // open files of everything else
	leastSkew   = 2 * time.Second  // of clocks; dates in archives should agree better than that
	greetFor    = 5 * time.Second  // the master answers within milliseconds
	dialFor     = 3 * time.Second  // a host behind a firewall that drops never answers
	lookupFor   = 5 * time.Second  // for one name
	meetFor     = 10 * time.Second // joining takes a second
)

func newDoctorCommand() *cobra.Command {
	d := &doctor{}
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor --join HOST:PORT [flags]",
		Short: "Examine this machine before it joins a cluster",
		Long: `Examine what a slave with the same flags would need: its key, its directory, its ports, open
files, names, the way to the others and back, and the clock. Each line that is not "ok" says what to change. It
takes no work and leaves nothing behind.`,
		Example: "  henro doctor --join 10.0.0.1:7781 --key cluster.key --gossip 0.0.0.0:7781 --actors 0.0.0.0:7782",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Load(cmd.Flags(), file, config.Settings()); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			d.tell = func(f finding) { printFinding(out, f) }
			if asJSON {
				lines := json.NewEncoder(out)
				d.tell = func(f finding) { lines.Encode(f) }
			}
			d.examine(cmd.Context())
			if d.ill {
				return errors.New("what failed must be mended before a slave can work here")
			}
			return nil
		},
	}
	config.AddFlags(cmd,
		config.Group{Title: "How nodes meet", Register: func(f *pflag.FlagSet) {
			d.peers.Register(f, "127.0.0.1:0",
				"127.0.0.1:0")
			f.StringVar(&d.masters, "masters", "",
				"`HOST:PORT` that a standby master on this machine will have as --masters")
		}},
		config.Group{Title: "How to work", Register: func(f *pflag.FlagSet) {
			f.StringVar(&d.dir, "dir", "slave", "`DIR` that the archive will lie in")
			f.IntVar(&d.hosts, "connections", 256, "requests under way at once")
			f.StringVar(&d.site, "site", "example.com",
				"a `NAME` that must be found in the DNS; empty: none is looked for")
			f.DurationVar(&d.wait, "wait", meetFor, "how long the others are looked for")
		}},
		config.Group{Title: "What to show", Register: func(f *pflag.FlagSet) {
			f.StringVar(&file, "config", "", "settings `FILE` (default henro.yaml, if there is one)")
			f.BoolVar(&asJSON, "json", false, "a JSON object a line")
		}})
	return cmd
}

func printFinding(w io.Writer, f finding) {
	fmt.Fprintf(w, "%-8s %-10s %s\n", f.Level, f.What, f.Said)
	if f.Advice != "" {
		fmt.Fprintf(w, "%-19s → %s\n", "", f.Advice)
	}
}

func (d *doctor) say(what string, l level, advice, format string, args ...any) {
	if l == broken {
		d.ill = true
	}
	d.tell(finding{What: what, Level: l, Said: fmt.Sprintf(format, args...), Advice: advice})
}

// examine looks at one thing after the other, and at the other nodes last.
func (d *doctor) examine(ctx context.Context) {
	key := d.key()
	d.directory()
	d.files()
	ports := d.port("gossip", d.peers.Gossip, "tcp", "udp")
	ports = d.port("actors", d.peers.Actors, "tcp") && ports
	if d.masters != "" {
		ports = d.port("masters", d.masters, "tcp") && ports
	}
	d.names(ctx)
	switch {
	case len(d.peers.Join) == 0:
		d.say("others", doubted, "give --join with the gossip address of any live node",
			"no node was named, so none was looked for")
	case key && ports && d.reach(ctx):
		d.meet(ctx)
	}
}

func (d *doctor) key() bool {
	if d.peers.Key == "" {
		d.say("key", doubted, "for several machines: henro key new > cluster.key, copy it to each, and give --key",
			"none: only loopback can be bound")
		return true
	}
	keys, err := cluster.ReadKeys(d.peers.Key)
	switch {
	case errors.Is(err, cluster.ErrKeyOpen):
		d.say("key", broken, "chmod 600 "+d.peers.Key, "%v", err)
	case err != nil:
		d.say("key", broken, "copy the file again from a node that works", "%v", err)
	default:
		d.say("key", healthy, "", "%s can be read", strings.Join(keys.IDs(), ", "))
	}
	return err == nil
}

// directory writes as the archive will, and looks at the room there is.
func (d *doctor) directory() {
	_, missing := os.Stat(d.dir)
	err := config.Dir(d.dir)
	var room uint64
	if err == nil {
		room, err = freeSpace(d.dir)
	}
	if missing != nil {
		err = errors.Join(err, os.Remove(d.dir))
	}
	switch {
	case err != nil:
		d.say("directory", broken, "make it writable, or give another --dir", "%v", err)
	case room < leastSpace:
		d.say("directory", broken, "make room, or give another --dir",
			"%s: %d MB are free; a WARC file takes up to 1,000", d.dir, room>>20)
	default:
		d.say("directory", healthy, "", "%s can be written, %d GB are free", filepath.Clean(d.dir), room>>30)
	}
}

func (d *doctor) files() {
	most, err := openFiles()
	would := slave.Options{Connections: d.hosts}
	need := uint64(d.hosts*filesPerUse + would.Leases() + filesBeside)
	switch {
	case err != nil:
		d.say("files", doubted, "", "how many may be open is not known: %v", err)
	case most < need:
		d.say("files", broken, fmt.Sprintf("ulimit -n %d (LimitNOFILE= in a systemd unit), or fewer --connections",
			need),
			"%d may be open at once; %d connections need some %d", most, d.hosts, need)
	default:
		d.say("files", healthy, "", "%d may be open at once; %d connections need some %d", most, d.hosts, need)
	}
}

// port binds an address as the slave will, and lets it go.
func (d *doctor) port(what, address string, networks ...string) bool {
	for _, network := range networks {
		var bound io.Closer
		var err error
		if network == "udp" {
			bound, err = net.ListenPacket(network, address)
		} else {
			bound, err = net.Listen(network, address)
		}
		if err != nil {
			d.say(what, broken, "is a henro running here already? Else give another --"+what, "%s: %v",
				strings.ToUpper(network), err)
			return false
		}
		bound.Close()
	}
	d.say(what, healthy, "", "%s can be bound", address)
	return true
}

func (d *doctor) names(ctx context.Context) {
	if d.site == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookupFor)
	defer cancel()
	start := time.Now()
	addresses, err := net.DefaultResolver.LookupHost(ctx, d.site)
	if err != nil {
		d.say("names", doubted,
			"start the master with --dns HOST:PORT of a server that answers, or crawl only what --resolve names", "%v",
			err)
		return
	}
	d.say("names", healthy, "", "%s is %s, after %d ms", d.site, addresses[0], time.Since(start).Milliseconds())
}

// reach tries the gossip ports of the nodes named.
func (d *doctor) reach(ctx context.Context) (any bool) {
	for _, address := range d.peers.Join {
		if err := knock(ctx, address); err != nil {
			d.say("join", broken, "is a node running there? Does a firewall let TCP and UDP through to that port?",
				"%v", err)
			continue
		}
		any = true
		d.say("join", healthy, "", "%s answers TCP", address)
	}
	return any
}

// knock opens a connection, and closes it.
func knock(ctx context.Context, address string) error {
	c, err := (&net.Dialer{Timeout: dialFor}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// meet joins the gossip as a guest, greets the master, and looks at its clock.
func (d *doctor) meet(ctx context.Context) {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	log := logrus.NewEntry(quiet)
	system := floor.NewSystem("doctor", log, floor.SystemOptions{})
	d.peers.Name = "doctor." + cluster.NewBoot()
	joined, err := d.peers.Meet(system, cluster.Options{Role: cluster.Guest},
		func(*cluster.Options) error { return nil }, log)
	if err != nil {
		d.say("others", broken, "", "%v", err)
		return
	}
	defer joined.Leave()
	ctx, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	m, err := joined.Node.Await(ctx, func(m cluster.Member) bool { return m.Role == cluster.Master })
	if refused := joined.Node.Refused(); err != nil && len(refused) > 0 {
		d.say("others", broken, "install a version of henro that fits theirs",
			"%s, version %s, speaks protocol %d, this program %d: they differ by more than one",
			refused[0].Name, refused[0].Version, refused[0].Protocol, messages.Protocol)
		return
	}
	if others := joined.Node.Members(); err != nil && len(others) > 0 {
		d.say("others", doubted, "start the master; slaves wait for it", "no master after %v, only %s", d.wait,
			others[0].Name)
		return
	} else if err != nil {
		d.say("others", broken,
			"do all nodes have the same --key file (henro doctor shows its id) and versions that fit?",
			"something answers there, but does not let this node in after %v: it has another key, or none", d.wait)
		return
	}
	same := ""
	if d.peers.Key != "" { // a node with another key is not let in
		same = ", and has the same key"
	}
	d.say("others", healthy, "", "%s is the master, version %s%s", m.Name, m.Version, same)
	if took, err := joined.Node.Ping(m); err != nil {
		d.say("udp", broken, fmt.Sprintf("let UDP through both ways between %s and %s",
			joined.Node.Self().GossipAddress, m.GossipAddress), "%v", err)
	} else {
		d.say("udp", healthy, "", "to %s and back in %v", m.GossipAddress, took.Round(10*time.Microsecond))
	}
	d.greet(system, joined, m)
	if d.masters != "" {
		d.consensus(joined.Node.Members())
	}
}

// consensus tries the ports at which masters keep their states equal, which slaves do not use.
func (d *doctor) consensus(members []cluster.Member) {
	found := false
	for _, m := range members {
		if m.Consensus == "" {
			continue
		}
		found = true
		if err := knock(context.Background(), m.Consensus); err != nil {
			d.say("masters", broken,
				"let TCP through to the --masters port of "+m.Name+", and from there to this machine's", "%v", err)
			continue
		}
		d.say("masters", healthy, "", "%s answers TCP at %s; the way back is tried when this machine follows", m.Name,
			m.Consensus)
	}
	if !found {
		d.say("masters", doubted, "look again when it runs",
			"the master is alone, and opens its --masters port when the first standby comes: not tried")
	}
}

// greet has the master answer over a connection that the master opens.
func (d *doctor) greet(system *actor.ActorSystem, joined *config.Joined, m cluster.Member) {
	if err := knock(context.Background(), m.ActorAddress); err != nil {
		d.say("actors", broken, "let TCP through to the --actors port of the master", "%v", err)
		return
	}
	asked := time.Now()
	answer, err := system.Root.RequestFuture(m.PID(master.ActorName), &messages.Greeting{Node: d.peers.Name},
		greetFor).Result()
	greeted, ok := answer.(*messages.Greeted)
	if err != nil || !ok {
		d.say("actors", broken,
			fmt.Sprintf("let TCP through from the master to %s, or give --advertise if that is not how others reach "+
				"this machine",
				joined.Remote.Address()), "the master is seen in the gossip, but cannot connect to %s: %v",
			joined.Remote.Address(), err)
		return
	}
	took := time.Since(asked)
	d.say("actors", healthy, "", "the master answers to %s in %v", joined.Remote.Address(),
		took.Round(10*time.Microsecond))
	skew := time.UnixMilli(greeted.UnixMs).Sub(asked.Add(took / 2)).Round(time.Millisecond)
	if skew.Abs() > leastSkew {
		d.say("clock", doubted, "set it by NTP: leases do not depend on it, but the dates in archives do",
			"%v off the master's", -skew)
		return
	}
	d.say("clock", healthy, "", "%v off the master's", -skew)
}
