package config

import (
	"fmt"
	"net/netip"
	"strings"

	"henro/messages"
	"henro/slave/fetch"
)

// Networks are the private networks that may be visited: none, all, or those that are named.
type Networks struct {
	rules *messages.FetchRules // which it sets
}

// Any reports whether a private network may be visited.
func (n *Networks) Any() bool { return n.rules.AllowPrivate || len(n.rules.PrivateNetworks) > 0 }

// Set reads true, false, or networks as 10.1.0.0/16, with commas between them. Networks that are named are all that is
// allowed, and add up.
func (n *Networks) Set(text string) error {
	switch text {
	case "true":
		n.rules.AllowPrivate = len(n.rules.PrivateNetworks) == 0
		return nil
	case "false":
		n.rules.AllowPrivate, n.rules.PrivateNetworks = false, nil
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		if err := n.Append(strings.TrimSpace(word)); err != nil {
			return err
		}
	}
	return nil
}

// Append adds a network.
func (n *Networks) Append(text string) error {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("%q: want a network such as 10.1.0.0/16, or nothing for all private networks", text)
	}
	if network = network.Masked(); network.Addr().Is4In6() {
		return fmt.Errorf("%s: write the network as IPv4", text)
	}
	if what := fetch.Never(network.Addr()); what != "" && network.Bits() > 0 {
		return fmt.Errorf("%s is %s; name each address that may be fetched with --allow-address", text, what)
	}
	n.rules.AllowPrivate = false
	n.rules.PrivateNetworks = append(n.rules.PrivateNetworks, network.String())
	return nil
}

// Replace puts networks in the place of those named.
func (n *Networks) Replace(texts []string) error {
	n.rules.AllowPrivate, n.rules.PrivateNetworks = false, nil
	for _, text := range texts {
		if err := n.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice returns the networks named.
func (n *Networks) GetSlice() []string { return n.rules.PrivateNetworks }

// String is true, false, or the networks named.
func (n *Networks) String() string {
	if len(n.rules.PrivateNetworks) > 0 {
		return strings.Join(n.GetSlice(), ",")
	}
	return fmt.Sprint(n.rules.AllowPrivate)
}

// Type is the word that --help shows.
func (*Networks) Type() string { return "networks" }
