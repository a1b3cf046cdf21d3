package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"github.com/hashicorp/go-sockaddr"
)

// splitAddress takes "host:port" apart; a host that is empty means all addresses of this machine.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("address %q is not host:port: %w", address, err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: port %q is not a number up to 65535", address, text)
	}
	return cmp.Or(host, "0.0.0.0"), int(n), nil
}

// loopback reports whether only this machine can reach the host.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// mayBind answers with ErrKeyNeeded when others could reach the address and no key keeps them out.
func mayBind(what, host string, port int, keys *Keys) error {
	if keys != nil || loopback(host) {
		return nil
	}
	return fmt.Errorf("bind %s to %s: %w: give a key file (henro key new > cluster.key) or bind to %s", what,
		net.JoinHostPort(host, strconv.Itoa(port)), ErrKeyNeeded, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// addressTaken recognises the error of a port on which another process listens; memberlist keeps only its text, and
// Windows has a number and a text of its own.
func addressTaken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || strings.Contains(err.Error(), "address already in use") ||
		strings.Contains(err.Error(), "Only one usage of each socket address")
}

// Advertise finds the "ip:port" under which others reach what is bound to bind: its own address when that is one
// address, else the one from which this machine would talk to the first peer it has a route to, else its first private
// address. Nothing is sent.
func Advertise(bind string, peers []string) (string, error) {
	host, port, err := splitAddress(bind)
	if err != nil {
		return "", err
	}
	with := func(ip string) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }
	if host == "localhost" {
		return with("127.0.0.1"), nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", fmt.Errorf("address %q: the host must be an IP address", bind)
	}
	if !ip.IsUnspecified() {
		return with(ip.String()), nil
	}
	for _, peer := range peers {
		conn, err := net.Dial("udp", peer) // looks up the route, sends nothing
		if err != nil {
			continue
		}
		local := conn.LocalAddr().(*net.UDPAddr).IP
		conn.Close()
		if !local.IsUnspecified() && !local.IsLoopback() {
			return with(local.String()), nil
		}
	}
	private, err := sockaddr.GetPrivateIP()
	if err != nil || private == "" {
		return "",
			fmt.Errorf("bind to %s: no private address found on this machine: say which address others shall use", bind)
	}
	return with(private), nil
}
