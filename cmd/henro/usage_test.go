package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/actors/protocol"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/master"
	"henro/store"
)

// command runs henro in the process of the test, in an empty directory.
func command(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(arguments)
	err := execute(t.Context(), root)
	return out.String(), err
}

func TestBadInputIsOneLineThatSaysWhatToDoAndTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("seeds.txt", []byte("# ours\nhttps://a.test/ depth=2\nhttp://[::/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("changed.txt", []byte("https://a.test/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("empty.txt", []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("bad.yaml", []byte("dept: 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	private := []string{"crawl", "--allow-private", "--listen-http", "off"}
	for _, c := range []struct {
		sentence  string
		arguments []string
		says      string
	}{
		{"a seed that cannot be read", append(private, "http://[::/"), "http://[::/"},
		{"a seed without a scheme", append(private, "example.org"), "write https://example.org"},
		{"a seed of a scheme that is not crawled", append(private, "ftp://example.org/"), "ftp://example.org/"},
		{"a broken line of the seed file, by number", append(private, "--seeds", "seeds.txt"), "line 3"},
		{"a seed file that is not there", append(private, "--seeds", "none.txt"), "none.txt"},
		{"no seed and nothing to resume", private, "give a seed"},
		{"an unknown key of the configuration", append(private, "--config", "bad.yaml", "http://a.test/"),
			`did you mean "depth"`},
		{"an unknown flag", append(private, "--dept", "3"),
			"did you mean --depth?; henro crawl --help lists the flags"},
		{"a use that no publisher speaks of", append(private, "--obey", "ai-trian", "http://a.test/"),
			"want one of ai-train, ai-input"},
		{"a flag that went", append(private, "--bot-agent", "https://a.test", "http://a.test/"),
			"a line Signature-Agent: URL of the FILE of --bot-key"},
		{"a key of something else", append(private, "--bot-key", "bad.yaml", "http://a.test/"),
			"such as henro key bot prints"},
		{"a directory of no key", []string{"key", "bot", "--listen", "127.0.0.1:0"}, "needs the FILE of the key"},
		{"no seed, said before the contact", []string{"crawl"}, "give a seed"},
		{"a private seed, said before the contact", []string{"crawl", "http://127.0.0.1:8080/"}, "--allow-private"},
		{"a private seed by its name", []string{"crawl", "--contact", "a@b.test", "http://localhost:8080/"},
			"--allow-private"},
		{"a language that is none", append(private, "--lang", "jj", "http://a.test/"), "such as ja"},
		{"no contact for public hosts", []string{"crawl", "https://example.org/"}, "--contact"},
		{"a contact that is none", []string{"crawl", "--contact", "me", "https://example.org/"}, "neither a URL"},
		{"no delay for hosts of others", []string{"crawl", "--contact", "a@b.test", "--delay", "0",
			"https://example.org/"}, "--i-own-these-hosts"},
		{"more at once than a host bears", append(private, "--parallel", "a.test=17", "http://a.test/"), "1 to 16"},
		{"nobody who consents", append(private, "--parallel", "=4", "http://a.test/"), "HOST=N"},
		{"a cookie file that is none", append(private, "--cookies", "@nowhere", "http://a.test/"), "no such file"},
		{"a scope that is none", append(private, "--scope", "site", "http://a.test/"), "host, domain, prefix or any"},
		{"a pattern that does not compile", append(private, "--exclude", "(", "http://a.test/"), "exclude pattern"},
		{"a resolve entry that is none", append(private, "--resolve", "a.test", "http://a.test/"), "HOST:PORT:ADDR"},
		{"a size that is none", append(private, "--bytes", "many", "http://a.test/"), "10GB"},
		{"an address that is not loopback for HTTP", []string{"crawl", "--allow-private", "--listen-http",
			"0.0.0.0:7780", "http://a.test/"}, "only loopback"},
		{"an export without a crawl", []string{"export", "--dir", "nowhere", "-"}, "holds no crawl"},
		{"an export of nothing known", []string{"export", "--what", "words", "-"},
			"pages, links, hosts, captures, stoplist"},
		{"an export in a format that is not written", []string{"export", "--dir", "nowhere", "a.xlsx"}, "--to csv"},
		{"a crawl that is not there, checked", []string{"check", "typo"}, "typo holds no crawl"},
		{"a crawl that is not there, repaired", []string{"check", "--repair", "typo"}, "typo holds no"},
		{"a crawl that is not there, counted", []string{"stats", "typo"}, "typo holds no crawl"},
		{"a crawl that is not there, asked", []string{"sql", "typo", "select 1"}, "typo holds no crawl"},
		{"a crawl that is not there, drawn", []string{"stats", "--timetable", "typo"}, "typo holds no crawl"},
		{"a crawl that is not there, replayed", []string{"replay", "typo"}, "typo holds no WARC files"},
		{"a crawl that is not there, packed", []string{"wacz", "typo", "a.wacz"}, "typo holds no WARC files"},
		{"a crawl that is not there, compared", []string{"diff", "typo", "http://a.test/"}, "typo"},
		{"a page of a crawl that is not there", []string{"page", "--dir", "typo", "http://a.test/"},
			"typo holds no crawl"},
		{"a host of a crawl that is not there", []string{"host", "--dir", "typo", "http://a.test"},
			"typo holds no crawl"},
		{"a reason of a crawl that is not there", []string{"why", "--dir", "typo", "http://a.test/"},
			"typo holds no crawl"},
		{"no crawl to check", []string{"check"}, "crawl holds no crawl"},
		{"no crawl to repair", []string{"check", "--repair"}, "crawl holds no WARC files"},
		{"no crawl to replay", []string{"replay"}, "crawl holds no WARC files"},
		{"no crawl to count", []string{"stats"}, "crawl holds no crawl"},
		{"no file to export to", []string{"export"}, "export to one file"},
		{"no file to pack into", []string{"wacz", "crawl"}, "crawl holds no WARC files"},
		{"no page named", []string{"page"}, "which page?"},
		{"a command that is not there", []string{"crawll"}, "henro --help"},
		{"a key that is not new", []string{"key", "old"}, "want add, bot, list, new, node, remove, revoke, signing"},
		{"a signing key that is none", []string{"wacz", "--sign", "bad.yaml", "crawl", "x.wacz"}, "henro key signing"},
		{"seeds that are not added", []string{"seeds", "remove"}, "want add"},
		{"a shell without completion", []string{"completion", "tcsh"}, "want bash, fish, powershell, zsh"},
		{"an order that is none", append(private, "--order", "x", "http://a.test/"), "breadth, inlinks or opic"},
		{"politeness for what has no clock", append(private, "--politeness", "x", "http://a.test/"),
			"host, ip or domain"},
		{"a frontier that is none", append(private, "--frontier", "x", "http://a.test/"), "host, ranked"},
		{"a level of the log that is none", append(private, "--log-level", "loud", "http://a.test/"),
			"error, warn, info, debug or trace"},
		{"a progress that is none", append(private, "--progress", "x", "http://a.test/"), "auto or off"},
		{"requisites of no class", append(private, "--requisites", "x", "http://a.test/"), "image, style, script"},
		{"a token that is not there", []string{"crawl", "--allow-private", "--token-file", "none", "http://a.test/"},
			"--token-file"},
		{"a depth that is too large", append(private, "--depth", "300", "http://a.test/"), "want 0 to 126, or -1"},
		{"a depth that is no number", append(private, "--depth", "deep", "http://a.test/"),
			`--depth "deep": want a number; henro crawl --help`},
		{"fewer pages than none", append(private, "--pages", "-1", "http://a.test/"), `--pages "-1": want a number`},
		{"a span that is none", append(private, "--for", "never", "http://a.test/"), "want a span such as 30s"},
		{"a delay that goes back", append(private, "--delay", "-5s", "http://a.test/"), "want 0 or more"},
		{"no connections", append(private, "--connections", "0", "http://a.test/"), "want 1 to 100000"},
		{"no time to revisit", append(private, "--revisit-min", "0s", "http://a.test/"), "want 1m or more"},
		{"two ways to come back", append(private, "--again", "--continuous", "http://a.test/"), "give one of them"},
		{"rounds without a round", append(private, "--every", "7d", "http://a.test/"), "add --again"},
		{"no time to fetch", append(private, "--fetch-timeout", "0s", "http://a.test/"), "want more than nothing"},
		{"a body of less than nothing", append(private, "--max-body", "-1", "http://a.test/"), "such as 64MiB"},
		{"a network that is none", append(private, "--allow-private=10.0.0.0/99", "http://a.test/"), "10.1.0.0/16"},
		{"WARC files of no size", append(private, "--warc-size", "0", "http://a.test/"), "want at least 1MiB"},
		{"a relief that is none", append(private, "--relief", "x", "http://a.test/"), "stretch, delay, optimal"},
		{"a flag that is not quite right", append(private, "--revisit-least", "1d", "http://a.test/"),
			"did you mean --revisit-"},
		{"no address for HTTP", []string{"crawl", "--allow-private", "--listen-http", "nowhere", "http://a.test/"},
			"want HOST:PORT or off"},
		{"a port that is none", []string{"crawl", "--allow-private", "--listen-http", "127.0.0.1:99999",
			"http://a.test/"}, "invalid port"},
		{"no seeds to add", []string{"seeds", "add"}, "give URLs or --seeds FILE"},
		{"no host to exclude", []string{"host", "exclude"}, "which host?"},
		{"no pages to revisit", []string{"revisit"}, "which pages?"},
		{"no time for a revisit", []string{"revisit", "http://a.test/*"}, "--now, --every 6h or --auto"},
		{"changed URLs and pages", []string{"revisit", "--from", "seeds.txt", "http://a.test/"}, "--from stands alone"},
		{"changed URLs and an order", []string{"revisit", "--from", "seeds.txt", "--now"}, "--from stands alone"},
		{"changed URLs that are none, by the line", []string{"revisit", "--from", "seeds.txt"}, "seeds.txt, line 3"},
		{"no changed URLs", []string{"revisit", "--from", "empty.txt"}, "empty.txt: no URLs"},
		{"a file of changed URLs that is not there", []string{"revisit", "--from", "none.txt"},
			"--from: open none.txt"},
		{"changed URLs while nothing runs", []string{"revisit", "--from", "changed.txt"}, "no crawl runs in crawl"},
		{"an odd time for a revisit", []string{"revisit", "x", "--every", "never"}, "want 10m, 12h, 7d or 2w"},
		{"a page that is no URL", []string{"page", "nonsense"}, `"nonsense" is no URL`},
		{"a reason of no URL", []string{"why", "http://["}, `"http://[" is no URL`},
		{"no host named", []string{"host"}, "which host?"},
		{"nothing to explain", []string{"why"}, "why what?"},
		{"no question", []string{"sql"}, "crawl holds no crawl"},
		{"nothing to compare", []string{"diff", "crawl"}, "relative URL"},
		{"no backup file", []string{"backup"}, "to which file?"},
		{"no key to use", []string{"key", "use"}, "henro key use ID"},
		{"no key to remove", []string{"key", "remove"}, "henro key remove ID"},
		{"no node for a key", []string{"key", "node"}, "henro key node NAME"},
		{"no node to shut out", []string{"key", "revoke"}, "henro key revoke NODE"},
		{"no key file to add to", []string{"key", "add"}, "--key"},
		{"two crawls to check", []string{"check", "a", "b"}, "of which crawl?"},
		{"no slave to drain", []string{"nodes", "drain"}, "which slave?"},
		{"an address that is none for files", []string{"nodes", "collect", "nowhere", "--listen", "x"},
			"want HOST:PORT"},
		{"a trace for no time", []string{"trace", "--for", "x"}, "want a span such as 30s"},
		{"a crawl that is not there, missed", []string{"missing", "typo"}, "crawl holds no crawl"},
		{"a crawl that is not there, backed up", []string{"backup", "--dir", "typo", "x.tar"}, "typo holds no crawl"},
		{"a crawl that is not there, compared with the live web", []string{"qa", "typo"},
			"typo holds no"}, // crawl, or WARC files: without a browser the state is asked
		{"an unknown flag of no command", []string{"--nonsense"}, "henro --help lists the flags"},
		{"help of a command that is not there", []string{"help", "crawll"}, "henro help lists both"},
		{"too much said", []string{"version", "2"}, "unknown command"},
		{"too much said to a verb", []string{"status", "now"}, "no crawl runs in now"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			_, err := command(t, c.arguments...)
			if config.Code(err) != config.ExitUsage {
				t.Fatalf("exit code %d: %v", config.Code(err), err)
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it says %q, want one line with %q", err, c.says)
			}
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("the directory was touched: %v, %v", entries, err)
	}
}

// Every command by itself, in an empty directory, where no crawl runs: it says on one line what it wants and how that
// is written, or that nothing runs, or it helps; and it leaves nothing behind.
func TestEveryCommandAloneSaysWhatItWants(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	does := map[string]bool{"nodes collect": true, "demo": true, "doctor": true} // something, by themselves
	var walk func(c *cobra.Command, path ...string)
	walk = func(c *cobra.Command, path ...string) {
		for _, child := range c.Commands() {
			walk(child, slices.Concat(path, []string{child.Name()})...)
		}
		if len(path) == 0 || does[strings.Join(path, " ")] {
			return
		}
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			arguments := slices.Clone(path)
			if asksMaster := c.Flags().Lookup("master"); asksMaster != nil {
				arguments = append(arguments, "--master", "127.0.0.1:1")
			}
			out, err := command(t, arguments...)
			switch code := config.Code(err); {
			case code == 0:
				if out == "" {
					t.Error("it says nothing")
				}
			case code == config.ExitUsage,
				code == config.ExitFailed && strings.Contains(err.Error(), "is it running?"):
				if strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
					t.Errorf("it says %q", err)
				}
			default:
				t.Errorf("exit code %d: %v", code, err)
			}
		})
	}
	root := newRootCommand()
	root.InitDefaultCompletionCmd()
	walk(root)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the directory was touched: %v, %v", entries, err)
	}
}

func TestADirectoryInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	state, err := store.OpenState(filepath.Join(dir, "state"), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	_, err = command(t, "crawl", "--allow-private", "--listen-http", "off", "--progress", "off", "--log-level", "error",
		"--dir", dir, "http://127.0.0.1:1/")
	if config.Code(err) != config.ExitUsage || !strings.Contains(err.Error(), "in use") {
		t.Errorf("exit code %d: %v", config.Code(err), err)
	}
}

// A crawl that does not know a page or a host is still a crawl, and a host is found as people write it.
func TestWhatACrawlDoesNotKnowIsSaid(t *testing.T) {
	dir := t.TempDir()
	state, err := store.OpenState(filepath.Join(dir, "state"), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	batch := store.NewBatch(time.Now())
	batch.Admit(store.Candidate{URL: "http://xn--wgv71a119e.test:8090/"})
	_, err = state.Partitions[state.PartitionOf("http://xn--wgv71a119e.test:8090")].Commit(batch)
	if err := errors.Join(err, state.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says      string
		arguments []string
	}{
		{"not found; henro why tells more", []string{"page", "--dir", dir, "http://xn--wgv71a119e.test:8090/a"}},
		{"not found; a port is part of its name", []string{"host", "--dir", dir, "日本語.test"}},
		{"not found; a port is part of its name", []string{"revisit", "--dir", dir, "--now", "日本語.test"}},
		{"", []string{"host", "--dir", dir, "日本語.test:8090"}},
		{"", []string{"host", "--dir", dir, "HTTP://日本語.test:8090/"}},
	} {
		out, err := command(t, c.arguments...)
		if err == nil && c.says == "" && strings.HasPrefix(out, "http://xn--wgv71a119e.test:8090\n") {
			continue
		}
		if err == nil || c.says == "" || !strings.Contains(err.Error(), c.says) ||
			config.Code(err) != config.ExitFailed {
			t.Errorf("%q: %s, %v", c.arguments, out, err)
		}
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.Parent() != nil && c.Parent().Name() == "completion" {
			return
		}
		if c.Example == "" || c.Short == "" {
			t.Errorf("%s has no example or no summary", c.CommandPath())
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(newRootCommand())
}

func TestHelpShowsTheFlagsOfEveryDayAndAllWhenAsked(t *testing.T) {
	flags := func(arguments ...string) (n int) {
		out, err := command(t, arguments...)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "--") || strings.HasPrefix(line, "  -h, --") {
				n++
			}
		}
		return n
	}
	few, all := flags("crawl", "--help"), flags("crawl", "--help", "all")
	has := 0
	c, _, _ := newRootCommand().Find([]string{"crawl"})
	c.Flags().VisitAll(func(*pflag.Flag) { has++ })
	if few < 20 || few > 26 || all != has {
		t.Errorf("help shows %d flags, and %d of %d when asked for all", few, all, has)
	}
}

func TestRepairMakesTheStateSmallAndTheIndexes(t *testing.T) {
	dir := t.TempDir()
	state, err := store.OpenState(filepath.Join(dir, "state"), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	state.Close()
	if out, err := command(t, "check", "--repair", dir); err != nil || !strings.Contains(out, "after") {
		t.Errorf("a state alone: %q, %v", out, err)
	}
	var work config.Work
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	work.Register(flags)
	if err := embedded.KeepAbout(dir, work, config.ArchiveInfo(), nil, flags); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{dir, filepath.Join(dir, "warc")} {
		if out, err := command(t, "check", "--repair", of); err != nil || !strings.Contains(out, "1 files") {
			t.Errorf("%s: %q, %v", of, out, err)
		}
	}
}

// TestStatusIsWatchedUntilTheCrawlDoesNotAnswer has a crawl answer three times, with ten pages more each time.
func TestStatusIsWatchedUntilTheCrawlDoesNotAnswer(t *testing.T) {
	answers := 0
	crawl := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers++; answers > 3 || r.URL.Path != "/api/status" {
			http.Error(w, "it has ended", http.StatusServiceUnavailable)
			return
		}
		s := master.Status{State: master.Running, PerSecond: 7, Totals: protocol.Totals{Pages: uint64(10 * answers)}}
		if err := json.NewEncoder(w).Encode(s); err != nil {
			t.Error(err)
		}
	}))
	defer crawl.Close()
	out, err := command(t, "status", "--watch", "1ms", "--master", strings.TrimPrefix(crawl.URL, "http://"))
	lines := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d running: (\d+) pages \((\d+)/s\)`).FindAllStringSubmatch(out, -1)
	if err == nil || len(lines) != 3 {
		t.Fatalf("it says %q, %v", out, err)
	}
	for i, line := range lines {
		if line[1] != strconv.Itoa(10*(i+1)) || (line[2] == "7") != (i == 0) {
			t.Errorf("answer %d: %s", i, line[0])
		}
	}
}

func TestTheVersionIsACommandToo(t *testing.T) {
	out, err := command(t, "version")
	flag, _ := command(t, "--version")
	if err != nil || out != flag || !strings.Contains(out, version) {
		t.Errorf("%q, and %q with the flag: %v", out, flag, err)
	}
}

func TestTheLogIsWrittenAboveTheLiveLine(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{out: &screen, live: true}
	log := p.above(&screen)
	fmt.Fprintln(log, "first")
	p.draw("42 pages")
	fmt.Fprintln(log, "second")
	log.Write(nil)
	p.draw("")
	fmt.Fprintln(log, "third")
	want := "first\n\r\x1b[K42 pages\r\x1b[Ksecond\n42 pages\r\x1b[Kthird\n"
	if screen.String() != want {
		t.Errorf("the screen got %q, want %q", &screen, want)
	}
}

func TestATraceOfAnIdleCrawlSaysSo(t *testing.T) {
	idle := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer idle.Close()
	out, err := command(t, "trace", "--master", idle.Listener.Addr().String())
	if err != nil || !strings.Contains(out, "nothing went wrong lately") {
		t.Errorf("%q, %v", out, err)
	}
}
