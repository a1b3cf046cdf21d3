// Command webhook posts each change that henro feed writes down to a webhook, in order, signed by the Standard Webhooks
// specification. What was posted is kept beside the file, so that it goes on where it ended.
//
//	echo whsec_$(openssl rand -base64 32) >secret.txt
//	henro feed crawl --follow &
//	go run ./docs/examples/webhook -secret secret.txt -url https://example.net/hook crawl/feed/changes.jsonl
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stderr, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, says io.Writer, arguments []string) error {
	flags := flag.NewFlagSet("webhook", flag.ContinueOnError)
	to := flags.String("url", "", "where each change is posted to")
	secretFile := flags.String("secret", "", "FILE of the secret: whsec_BASE64")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	text, err := os.ReadFile(*secretFile)
	if err != nil || *to == "" || flags.NArg() != 1 {
		return errors.Join(err, errors.New("want -url URL -secret FILE changes.jsonl"))
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(string(text)), "whsec_"))
	if err != nil || len(secret) < 24 {
		return errors.New("want a secret of whsec_ and base64 of 24 bytes or more")
	}
	return follow(ctx, says, flags.Arg(0), func(line []byte) error { return post(ctx, *to, secret, line) })
}

// follow hands over each line of a file, whole, those that come too. A line that is not taken comes again, after 1 s,
// 2 s, up to an hour.
func follow(ctx context.Context, says io.Writer, name string, take func(line []byte) error) error {
	posted := name + ".posted"
	text, err := os.ReadFile(posted)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at, _ := strconv.ParseInt(string(text), 10, 64) // none yet: from the beginning
	for wait := time.Second; ctx.Err() == nil; {
		line, err := lineAt(name, at)
		if err != nil {
			return err
		}
		if line != nil {
			if err = take(line); err == nil {
				at, wait = at+int64(len(line)), time.Second
				if err := keep(posted, at); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(says, "webhook: not delivered, tried again in %v: %v\n", wait, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if line != nil {
			wait = min(2*wait, time.Hour)
		}
	}
	return nil
}

// lineAt reads the line that begins at a place; nil: it has no end yet.
func lineAt(name string, at int64) ([]byte, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(f).ReadBytes('\n')
	if err == io.EOF {
		return nil, nil
	}
	return line, err
}

// keep writes down how far the file was posted. After a crash the last line may be posted twice, under the same id.
func keep(name string, at int64) error {
	if err := os.WriteFile(name+".new", strconv.AppendInt(nil, at, 10), 0o666); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

func post(ctx context.Context, to string, secret, line []byte) error {
	body := bytes.TrimSpace(line)
	var change struct{ ID string }
	if err := json.Unmarshal(body, &change); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL of the webhook is none")
	}
	moment := strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, secret)
	fmt.Fprintf(sum, "%s.%s.%s", change.ID, moment, body)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {change.ID},
		"Webhook-Timestamp": {moment},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))}}
	answer, err := http.DefaultClient.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err // without the URL, which is often a secret
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the webhook answers %s", answer.Status)
	}
	return nil
}
