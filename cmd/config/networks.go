package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"henro/messages"
	"henro/slave/fetch"
)

// Networks are the private networks that may be visited: none, all, or those that are named; and single addresses that
// may be visited whatever they are.
type Networks struct {
	rules *messages.FetchSettings // which it sets
}

// Any reports whether a private network or an address may be visited.
func (n *Networks) Any() bool { return n.rules.AllowPrivate || len(n.GetSlice()) > 0 }

// Set reads true, false, or networks as 10.1.0.0/16 and addresses, with commas between them. What is named is all
// that is allowed, and adds up.
func (n *Networks) Set(text string) error {
	switch text {
	case "true":
		n.rules.AllowPrivate = len(n.GetSlice()) == 0
		return nil
	case "false":
		n.rules.AllowPrivate, n.rules.PrivateNetworks, n.rules.AllowAddresses = false, nil, nil
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		if err := n.Append(strings.TrimSpace(word)); err != nil {
			return err
		}
	}
	return nil
}

// isNetwork reports whether a word is what Append takes.
func isNetwork(word string) bool {
	_, noNetwork := netip.ParsePrefix(word)
	_, noAddress := netip.ParseAddr(word)
	return noNetwork == nil || noAddress == nil
}

// Append adds a network or an address.
func (n *Networks) Append(text string) error {
	if address, err := netip.ParseAddr(text); err == nil {
		n.rules.AllowPrivate, n.rules.AllowAddresses = false, append(n.rules.AllowAddresses, address.String())
		return nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("%q: want a network such as 10.1.0.0/16, an address, or nothing for all private networks",
			text)
	}
	if network = network.Masked(); network.Addr().Is4In6() {
		return fmt.Errorf("%s: write the network as IPv4", text)
	}
	if what := fetch.Never(network.Addr()); what != "" && network.Bits() > 0 {
		return fmt.Errorf("%s is %s; name each address that may be fetched", text, what)
	}
	n.rules.AllowPrivate = false
	n.rules.PrivateNetworks = append(n.rules.PrivateNetworks, network.String())
	return nil
}

// Replace puts networks and addresses in the place of those named.
func (n *Networks) Replace(texts []string) error {
	n.rules.AllowPrivate, n.rules.PrivateNetworks, n.rules.AllowAddresses = false, nil, nil
	for _, text := range texts {
		if err := n.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice returns the networks and the addresses named.
func (n *Networks) GetSlice() []string {
	return slices.Concat(n.rules.PrivateNetworks, n.rules.AllowAddresses)
}

// String is true, false, or what is named.
func (n *Networks) String() string {
	if named := n.GetSlice(); len(named) > 0 {
		return strings.Join(named, ",")
	}
	return fmt.Sprint(n.rules.AllowPrivate)
}

func (*Networks) Type() string { return "networks" }
