package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"henro/actors"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
)

// lead sets a real master to work on sockets of loopback and returns the address of its gossip.
func lead(t *testing.T, key string) string {
	t.Helper()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	log := logrus.NewEntry(quiet)
	system := actors.NewSystem("master", log, actors.SystemOptions{})
	o := master.DefaultOptions()
	o.Dir, o.Name, o.Boot, o.Hosts.Continuous = t.TempDir(), "master", cluster.NewBoot(), true
	peers := config.Peers{Name: "master", Gossip: "127.0.0.1:0", Actors: "127.0.0.1:0", Key: key}
	var node *master.Node
	joined, err := peers.Meet(system, cluster.Options{Role: cluster.Master, Boot: o.Boot}, func(string) (err error) {
		node, err = master.Start(system, o, log)
		return err
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
		joined.Leave()
	})
	return joined.Node.Self().GossipAddress
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
	gossip := lead(t, key)
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
		{"all is well", []string{"--join", gossip, "--key", key}, []string{"ok       udp", "ok       actors     the master answers", "ok       clock"}, false},
		{"another key", []string{"--join", gossip, "--key", other, "--wait", "1s"}, []string{"failed   others", "the same --key file"}, true},
		{"a key file cut off", []string{"--join", gossip, "--key", torn}, []string{"failed   key", "copy the file again"}, true},
		{"nobody there", []string{"--join", "127.0.0.1:1", "--key", key}, []string{"failed   join", "is a node running there?"}, true},
		{"nobody named", []string{"--key", key}, []string{"warning  others", "give --join"}, false},
		{"a port that is taken", []string{"--join", gossip, "--key", key, "--gossip", gossip}, []string{"failed   gossip", "running here already?"}, true},
		{"a directory that is a file", []string{"--dir", plain, "--key", key}, []string{"failed   directory", "another --dir"}, true},
		{"more connections than files", []string{"--connections", "4000000000", "--key", key}, []string{"failed   files", "ulimit -n"}, true},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			t.Chdir(t.TempDir())
			out, err := command(t, append([]string{"doctor", "--site", ""}, c.flags...)...)
			if (err != nil) != c.ill {
				t.Errorf("error %v", err)
			}
			for _, words := range c.says {
				if !strings.Contains(out, words) {
					t.Errorf("no %q in\n%s", words, out)
				}
			}
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
