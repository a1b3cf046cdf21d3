package config

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"henro/actors/collect"
	"henro/actors/collect/spool"
	"henro/actors/console"
	"henro/slave/graph"
	"henro/store/archive/bucket"
)

// CollectAge is how long after its beginning a WARC file that is collected is finished, so that those of a slow crawl
// arrive, too.
const CollectAge = 15 * time.Minute

// Collect is what the flags say of where finished WARC files go.
type Collect struct {
	To, Archive string
	Spool       Bytes
	Crawl       func() string // the number of the one that is worked for; "": none is known
}

// Register adds the flags of a node that archives.
func (c *Collect) Register(f *pflag.FlagSet) {
	f.StringVar(&c.To, "collect", "",
		"bring finished WARC files to the `HOST:PORT` of henro nodes collect, and remove them here once they are safe")
	f.StringVar(&c.Archive, "archive", "", "bring them into a bucket in place of that: `s3://BUCKET/FOLDER`")
	f.Var(&c.Spool, "spool", "pages wait while so much of them waits to be brought away; 0: however much")
}

// Sender makes the sender of an archive below dir, or nil if nothing is to be collected. waits says why pages wait for
// it.
func (c *Collect) Sender(ctx context.Context, dir, prefix, key, name string, log *logrus.Entry) (sender *collect.Sender,
	waits func() string, err error) {
	switch {
	case c.To != "" && c.Archive != "":
		return nil, nil, Usage("--collect and --archive: files go to one place")
	case c.To == "" && c.Archive == "" && c.Spool > 0:
		return nil, nil, Usage("--spool needs --archive or --collect, which make room again")
	case c.To == "" && c.Archive == "":
		return nil, nil, nil
	}
	o := collect.DefaultSenderOptions()
	o.Dir, o.Prefix = filepath.Join(dir, "warc"), prefix
	if c.Archive != "" {
		err = c.bucket(ctx, &o, log)
	} else {
		o.Place, err = c.post(ctx, key, name, log)
	}
	if err != nil {
		return nil, nil, err
	}
	full := spool.New(o.Dir, o.Prefix, c.Archive != "", int64(c.Spool))
	go full.Run(ctx)
	o.Tried = full.Tried
	sender, err = collect.NewSender(o, log)
	return sender, full.Says, err
}

// post is the way to henro nodes collect.
func (c *Collect) post(ctx context.Context, key, name string, log *logrus.Entry) (collect.Place, error) {
	if _, _, err := net.SplitHostPort(c.To); err != nil {
		return nil, Usage("--collect %q: want HOST:PORT; into a bucket files go by --archive", c.To)
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

// amazon is the store that is meant where the environment names none.
const amazon = "s3.amazonaws.com"

// FindBucket reads an address, s3://BUCKET or s3://BUCKET/FOLDER. Which store it is and who asks stands where the AWS
// tools look for it too: in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN or in ~/.aws/credentials
// (AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE), else, for Amazon's own, the role of this machine unless
// AWS_EC2_METADATA_DISABLED is true; AWS_REGION or AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL
// for stores other than Amazon's.
func FindBucket(address string) (bucket.Where, error) {
	w := bucket.Where{Endpoint: amazon, Secure: true, Beside: graph.Beside()}
	at, err := url.Parse(address)
	if err == nil && at.User != nil {
		return w, Usage("s3://…@%s: keys do not belong into an address, which logs and other users of this machine "+
			"see: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", at.Host)
	}
	if err != nil || at.Scheme != "s3" || at.Host == "" || at.RawQuery != "" {
		return w, Usage("%q: want s3://BUCKET or s3://BUCKET/FOLDER", address)
	}
	w.Bucket, w.Prefix = at.Host, strings.Trim(at.Path, "/")
	w.Region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return w, Usage("AWS_ENDPOINT_URL %q: want https://HOST:PORT", endpoint)
		}
		w.Endpoint, w.Secure = u.Host, u.Scheme == "https"
		w.Region = cmp.Or(w.Region, "us-east-1") // what such stores call themselves
	}
	w.Credentials = bucket.Keys(w.Endpoint == amazon && os.Getenv("AWS_EC2_METADATA_DISABLED") != "true")
	if value, err := w.Credentials.GetWithContext(nil); err != nil || value.AccessKeyID == "" {
		return w, Usage("%q: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to "+
			"~/.aws/credentials, under the name in AWS_PROFILE or default", address)
	}
	return w, nil
}

// bucket is the way to a store that speaks S3.
func (c *Collect) bucket(ctx context.Context, o *collect.SenderOptions, log *logrus.Entry) error {
	where, err := FindBucket(c.Archive)
	if err != nil {
		return err
	}
	place, err := collect.NewBucket(where)
	keeper, bad := bucket.NewKeeper(where)
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	place.Brought, o.Place = keeper.Brought, place
	o.First = func(ctx context.Context) error { return place.Logs.Own(ctx, c.Crawl()) }
	go keeper.Run(ctx, func(done bucket.Added, err error) {
		if log := log.WithField("err", err); errors.Is(err, bucket.ErrHeld) || errors.Is(err, bucket.ErrLost) {
			log.Debug("another node keeps the index of the bucket")
		} else if err != nil && ctx.Err() == nil {
			log.Warn("the index of the bucket is not kept up; readers read the files that it does not have")
		} else if err == nil {
			log.WithFields(logrus.Fields{"files": done.Files, "parts": done.Parts}).Info("files came into the index")
		}
	})
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := place.Check(ctx); errors.Is(err, collect.ErrRefused) {
		return Usage("--archive: %v", err)
	} else if err != nil {
		log.WithField("err", err).Warn("the store does not answer yet; files stay here until it does")
	}
	return nil
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
	if err := Dir(dir); err != nil {
		return err
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
