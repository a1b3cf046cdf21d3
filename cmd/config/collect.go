package config

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"henro/actors/collect"
	"henro/actors/console"
	"henro/store/archive/bucket"
)

// Collect is what the flags say of where finished WARC files go.
type Collect struct{ To string }

// Register adds the flags of a node that archives.
func (c *Collect) Register(f *pflag.FlagSet) {
	f.StringVar(&c.To, "collect", "",
		"bring finished WARC files to `WHERE`, the HOST:PORT of henro nodes collect or s3://BUCKET/FOLDER, and "+
			"remove them here once they are safe there")
}

// Sender makes the sender of an archive below dir, or nil if nothing is to be collected.
func (c *Collect) Sender(ctx context.Context, dir, prefix, key, name string, log *logrus.Entry) (sender *collect.Sender,
	err error) {
	if c.To == "" {
		return nil, nil
	}
	o := collect.DefaultSenderOptions()
	o.Dir, o.Prefix = filepath.Join(dir, "warc"), prefix
	if strings.HasPrefix(c.To, "s3:") {
		o.Place, err = c.bucket(ctx, log)
	} else {
		o.Place, err = c.post(ctx, key, name, log)
	}
	if err != nil {
		return nil, err
	}
	return collect.NewSender(o, log)
}

// post is the way to henro nodes collect.
func (c *Collect) post(ctx context.Context, key, name string, log *logrus.Entry) (collect.Place, error) {
	if _, _, err := net.SplitHostPort(c.To); err != nil {
		return nil, Usage("--collect %q: want HOST:PORT or s3://BUCKET/FOLDER", c.To)
	}
	keys, err := readKeys(key)
	if err != nil {
		return nil, err
	}
	to := "http://" + c.To
	transport := &http.Transport{MaxIdleConnsPerHost: 1,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}
	if keys != nil {
		to = "https://" + c.To
		if transport.TLSClientConfig, err = keys.TLS(name); err != nil {
			return nil, err
		}
		go keys.Follow(ctx, key, log)
	} else if !console.IsLocal(c.To) {
		return nil, Usage("--collect %s: beyond this machine it needs --key", c.To)
	}
	return collect.NewPost(to, &http.Client{Transport: transport})
}

// bucket is the way to a store that speaks S3.
func (c *Collect) bucket(ctx context.Context, log *logrus.Entry) (_ collect.Place, err error) {
	o := collect.DefaultBucketOptions()
	if o.Where, err = bucket.Find(c.To); err != nil {
		return nil, Usage("--collect %v", err)
	}
	place, err := collect.NewBucket(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := place.Check(ctx); errors.Is(err, collect.ErrRefused) {
		return nil, Usage("--collect: %v", err)
	} else if err != nil {
		log.WithField("err", err).Warn("the store does not answer yet; files stay here until it does")
	}
	return place, nil
}

// byItsName answers requests that name this machine by an address or as localhost. Another name is that of a web page
// which was made to point here.
func byItsName(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !console.Knows(r.Host) {
			console.Fail(w, http.StatusMisdirectedRequest,
				fmt.Errorf("%q is no name of this receiver: ask it as localhost", r.Host))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// maxSenders bounds the connections to a receiver: slaves keep one each.
const maxSenders = 1024

// Receive takes files into a folder until the context ends. listening is called with the address.
func Receive(ctx context.Context, dir, address, key string, log *logrus.Entry, listening func(net.Addr)) (err error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return Usage("--listen %q: want HOST:PORT", address)
	}
	keys, err := readKeys(key)
	if err != nil {
		return err
	}
	if keys == nil && !console.IsLocal(address) {
		return Usage("--listen %s: beyond loopback only nodes with the cluster's key may send; give --key", address)
	}
	receiver, err := collect.NewReceiver(dir, log)
	if err != nil {
		return Usage("%v", err)
	}
	defer func() {
		err = errors.Join(err, receiver.Close())
		RefreshMerged(dir, log)
	}()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return Usage("--listen: %v", err)
	}
	listening(listener.Addr())
	crowd, handler := console.NewCrowd(maxSenders), byItsName(receiver)
	listener = crowd.Listen(listener)
	if keys != nil {
		secured, err := keys.TLS("collect")
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		listener = tls.NewListener(listener, secured)
		go keys.Follow(ctx, key, log)
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := keys.Verify(*r.TLS); err != nil { // the keys have changed since the connection was made
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
			receiver.ServeHTTP(w, r)
		})
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute}
	crowd.Watch(server)
	return console.Serve(ctx, server, 5*time.Second, listener) // a piece that is cut off is sent again
}
