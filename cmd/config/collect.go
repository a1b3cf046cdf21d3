package config

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"henro/actors/collect"
)

// Collect is what the flags say of where finished WARC files go.
type Collect struct{ To string }

// Register adds the flags of a node that archives.
func (c *Collect) Register(f *pflag.FlagSet) {
	f.StringVar(&c.To, "collect", "", "bring finished WARC files to the henro collect at `HOST:PORT`, and remove them here once they are safe there")
}

// Sender makes the sender of an archive below dir, or nil if nothing is to be collected.
func (c *Collect) Sender(dir, prefix, key, name string, log *logrus.Entry) (*collect.Sender, error) {
	if c.To == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(c.To)
	if err != nil {
		return nil, Usage("--collect %q: want HOST:PORT", c.To)
	}
	keys, err := readKeys(key)
	if err != nil {
		return nil, err
	}
	o := collect.DefaultSenderOptions()
	o.Dir, o.Prefix, o.To = filepath.Join(dir, "warc"), prefix, "http://"+c.To
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}
	if keys != nil {
		o.To = "https://" + c.To
		if transport.TLSClientConfig, err = keys.TLS(name); err != nil {
			return nil, err
		}
	} else if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, Usage("--collect %s: beyond this machine it needs --key", c.To)
	}
	o.Client = &http.Client{Transport: transport}
	return collect.NewSender(o, log)
}

// Receive takes files into a folder until the context ends. listening is told the address.
func Receive(ctx context.Context, dir, address, key string, log *logrus.Entry, listening func(net.Addr)) (err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return Usage("--listen %q: want HOST:PORT", address)
	}
	keys, err := readKeys(key)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); keys == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return Usage("--listen %s: beyond loopback only nodes with the cluster's key may send; give --key", address)
	}
	receiver, err := collect.NewReceiver(dir, log)
	if err != nil {
		return Usage("%v", err)
	}
	defer func() { err = errors.Join(err, receiver.Close()) }()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return Usage("--listen: %v", err)
	}
	listening(listener.Addr())
	if keys != nil {
		secured, err := keys.TLS("collect")
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		listener = tls.NewListener(listener, secured)
	}
	server := &http.Server{Handler: receiver, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute}
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-inner.Done()
		// A piece under way is let come in; what is cut off is sent again.
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(shutdown) != nil {
			return server.Close()
		}
		return nil
	})
	return group.Wait()
}
