package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/master"
)

// A process of the tests that has this in its environment is henro itself, or a node of its own. Starting
// protoactor's remote sets a variable of grpc that other goroutines read, so that two nodes in one process are a data
// race.
const processEnv = "HENRO_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(processEnv) {
	case "henro":
		main()
	case "master":
		if err := lead(os.Args[1], os.Args[2], os.Args[3], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "slave":
		if err := work(os.Args[1], os.Args[2], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		code := crawltest.Main(m)
		if crawled.dir != "" {
			os.RemoveAll(crawled.dir)
		}
		os.Exit(code)
	}
}

// process makes this program run as one of the others.
func process(t *testing.T, what string, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, arguments...)
	// the race detector sleeps a second at each exit
	cmd.Env = append(os.Environ(), processEnv+"="+what, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// lead sets a real master to work on sockets of loopback, says the address of its gossip, and ends with its input. The
// gossip says that its consensus is at an address; empty: it is alone.
func lead(dir, key, consensus string, in io.Reader, out io.Writer) (err error) {
	log := actortest.Log()
	system := floor.NewSystem("master", log, floor.SystemOptions{})
	o := master.DefaultOptions()
	o.Dir, o.Name, o.Boot, o.Hosts.Continuous = dir, "master", cluster.NewBoot(), true
	peers := config.Peers{Name: "master", Gossip: "127.0.0.1:0", Actors: "127.0.0.1:0", Key: key}
	node, joined, err := peers.Lead(system, o, nil, nil, log)
	if err != nil {
		return err
	}
	defer joined.Leave()
	claim := node.Claim()
	if err := joined.Node.Become(cluster.Master, claim.Crawl, claim.Term, consensus); err != nil {
		return err
	}
	fmt.Fprintln(out, joined.Node.Self().GossipAddress)
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, node.Close())
}

var slaveOfTests = config.Work{Connections: 64, WARCSize: 1 << 30}

// work sets a real slave to work for the master whose gossip is at an address, until its input ends.
func work(dir, join string, in io.Reader) error {
	log := actortest.Log()
	o, err := slaveOfTests.Options(dir, config.Unread(log))
	if err != nil {
		return err
	}
	system := floor.NewSystem("slave", log, floor.SystemOptions{})
	peers := config.Peers{Name: "slave", Gossip: "127.0.0.1:0", Actors: "127.0.0.1:0", Join: []string{join}}
	pid, joined, err := peers.Enlist(system, o, nil, log)
	if err != nil {
		return err
	}
	defer joined.Leave()
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, floor.End(system, pid))
}

// startMaster starts a master in a process of its own and returns the address of its gossip.
func startMaster(t *testing.T, key, consensus string) string {
	t.Helper()
	cmd := process(t, "master", t.TempDir(), key, consensus)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	untilTheEnd(t, cmd)
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// untilTheEnd starts a process that ends with its input, which ends with the test.
func untilTheEnd(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", cmd.Args, err)
		}
	})
}

func TestTheDoctorSaysWhatToChangeBeforeASlaveJoins(t *testing.T) {
	dir := t.TempDir()
	key, other, torn := filepath.Join(dir, "key"), filepath.Join(dir, "other"), filepath.Join(dir, "torn")
	for _, name := range []string{key, other, torn} {
		text, err := cluster.NewKeys().MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if name == torn {
			text = text[:len(text)/2]
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gossip := startMaster(t, key, "")
	heard, deaf := startMaster(t, key, gossip), startMaster(t, key, "127.0.0.1:1")
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sentence string
		flags    []string
		says     []string
		ill      bool
	}{
		{"all is well", []string{"--join", gossip, "--key", key},
			[]string{"ok       udp", "ok       actors     the master answers", "ok       clock"}, false},
		{"another key", []string{"--join", gossip, "--key", other, "--wait", "1s"},
			[]string{"failed   others", "the same --key file"}, true},
		{"a key file cut off", []string{"--join", gossip, "--key", torn},
			[]string{"failed   key", "copy the file again"}, true},
		{"nobody there", []string{"--join", "127.0.0.1:1", "--key", key},
			[]string{"failed   join", "is a node running there?"}, true},
		{"nobody named", []string{"--key", key}, []string{"warning  others", "give --join"}, false},
		{"a port that is taken", []string{"--join", gossip, "--key", key, "--gossip", gossip},
			[]string{"failed   gossip", "running here already?"}, true},
		{"a directory that is a file", []string{"--dir", plain, "--key", key},
			[]string{"failed   directory", "another --dir"}, true},
		{"a standby to be, of a master alone", []string{"--join", gossip, "--key", key, "--masters", "127.0.0.1:0"},
			[]string{"ok       masters    127.0.0.1:0 can be bound", "warning  masters    the master is alone"}, false},
		{"a standby to be", []string{"--join", heard, "--key", key, "--masters", "127.0.0.1:0"},
			[]string{"ok       masters    master answers TCP at " + gossip}, false},
		{"a standby to be, behind a firewall", []string{"--join", deaf, "--key", key, "--masters", "127.0.0.1:0"},
			[]string{"failed   masters", "--masters port of master"}, true},
		{"a port of masters that is taken", []string{"--join", gossip, "--key", key, "--masters", gossip},
			[]string{"failed   masters", "give another --masters"}, true},
		{"more connections than files", []string{"--connections", "4000000000", "--key", key},
			[]string{"failed   files", "ulimit -n"}, true},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			cmd := process(t, "henro", append([]string{"doctor", "--site", ""}, c.flags...)...)
			cmd.Dir = t.TempDir()
			cmd.Stderr = nil
			said, err := cmd.Output()
			if (err != nil) != c.ill {
				t.Errorf("error %v", err)
			}
			out := string(said)
			for _, words := range c.says {
				if !strings.Contains(out, words) {
					t.Errorf("no %q in\n%s", words, out)
				}
			}
			if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
