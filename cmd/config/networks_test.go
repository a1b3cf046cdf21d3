package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"henro/cmd/config"
)

func TestPrivateNetworksAreAllOrThoseNamed(t *testing.T) {
	for _, c := range []struct {
		sentence, arguments string // of the command line
		all                 bool
		networks, addresses string
		wrong               string // what the error says
	}{
		{"none unless asked for", "https://a.example/", false, "[]", "[]", ""},
		{"all by the flag alone", "--allow-private https://a.example/", true, "[]", "[]", ""},
		{"one behind =", "--allow-private=10.1.0.0/16 https://a.example/", false, "[10.1.0.0/16]", "[]", ""},
		{"one behind a space", "--allow-private 10.1.0.0/16 https://a.example/", false, "[10.1.0.0/16]", "[]", ""},
		{"the last word", "https://a.example/ --allow-private 10.1.0.0/16", false, "[10.1.0.0/16]", "[]", ""},
		{"several", "--allow-private=10.1.0.0/16,fd12::/64 --allow-private 192.168.7.9/24 https://a.example/", false,
			"[10.1.0.0/16 fd12::/64 192.168.7.0/24]", "[]", ""},
		{"addresses one by one", "--allow-private 169.254.169.254 --allow-private=::1 https://a.example/",
			false, "[]", "[::1 169.254.169.254]", ""},
		{"link-local is no private network", "--allow-private=169.254.0.0/16", false, "", "", "name each address"},
		{"nor behind a space", "--allow-private 169.254.169.254/32", false, "", "", "name each address"},
		{"a metadata service is none", "--allow-private=fd00:ec2::/32", false, "", "", "name each address"},
		{"a word is none", "--allow-private=home", false, "", "", "want a network"},
		{"a network without the flag is no seed", "10.1.0.0/16", false, "", "", "seed"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			var crawl config.Crawl
			f := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
			crawl.Register(f)
			err := f.Parse(append(strings.Fields(c.arguments), "--contact=a@example.org"))
			if err == nil {
				_, err = crawl.Seeds(f.Args(), nil)
			}
			if err == nil {
				o, wrong := crawl.Options(f)
				if err = wrong; err == nil && (o.Fetch.AllowPrivate != c.all ||
					fmt.Sprint(o.Fetch.PrivateNetworks) != c.networks ||
					fmt.Sprint(o.Fetch.AllowAddresses) != c.addresses) {
					t.Error(o.Fetch)
				}
			}
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
		})
	}
	f := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	var crawl config.Crawl
	crawl.Register(f)
	if err := config.Load(f, write(t, "allow-private: [10.1.0.0/16, 10.2.0.0/16]\n"), nil); err != nil ||
		crawl.AllowPrivate.String() != "10.1.0.0/16,10.2.0.0/16" {
		t.Error(err, crawl.AllowPrivate.String())
	}
	if err := config.Load(f, write(t, "allow-private: true\n"), nil); err != nil {
		t.Error(err)
	}
}
