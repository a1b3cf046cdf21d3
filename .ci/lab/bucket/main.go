// Command bucket crawls real sites with slaves whose archive lives in a bucket, ends slaves, the master and the store
// at random moments, and measures that every capture is in the bucket once and none is missing.
//
//	bucket -stores DIR -bin DIR -sites DIR [-store rclone|versitygw|minio] [-kills N] [-seed N] [-dir DIR] [-disk 64m]
//	bucket -stores DIR -send CAPTURES     the memory of what sends so many, by how many were sent; nothing is killed
//
// -stores has the programs of .ci/lab/s3, which are not of henro's making, -sites what docs.sh serves. When so many
// processes died, the master is asked to end, and the slaves after it. Then the bucket is read by a client of its own
// into the folder of the crawl, and judged there: henro check must find every page that the state calls captured, each
// record and each index clean; no record may be in two objects; and nothing may be left with the slaves. Checkpoints
// that were copied half-way must be of the logs in the bucket, captures are proved from there, and what is altered
// there is named.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"

	"henro/.ci/lab/process"
	"henro/master"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

const (
	slaves      = 3
	bucketName  = "archive"
	folder      = "crawl"
	archive     = "s3://" + bucketName + "/" + folder
	key, secret = "henro-lab", "a-secret-of-the-lab"
	mostEnd     = 5 * time.Minute // for the slaves to send what is left
)

// lab is one crawl.
type lab struct {
	stores, sites, store, dir, bin string
	kills                          int
	seed                           uint64
	every                          time.Duration
	delay, size, disk              string
	slaveFlags, duckdb             string

	ctx                  context.Context
	rnd                  *rand.Rand
	group                process.Group
	gossip, actors, api  string
	at                   string // address of the store
	master, storeProcess *process.Process
	slaves               [slaves]*process.Process
	killed               map[string]int
	most                 int64 // bytes that a slave had on its disk at once, of which WARC files and their indexes
	mostWARC             int64
	mounted              []string

	sends   int // captures
	replays int
	builder *warc.Builder
	records []byte
}

func main() {
	l := &lab{killed: map[string]int{}}
	flag.StringVar(&l.stores, "stores", "", "folder of the stores")
	flag.StringVar(&l.sites, "sites", "", "what docs.sh serves")
	flag.StringVar(&l.bin, "bin", "", "folder of henro, henro-master and henro-slave")
	flag.StringVar(&l.store, "store", "rclone", "rclone, versitygw or minio")
	flag.IntVar(&l.kills, "kills", 30, "processes to kill")
	flag.Uint64Var(&l.seed, "seed", uint64(time.Now().UnixNano()), "of all randomness")
	flag.DurationVar(&l.every, "every", 4*time.Second, "mean time between two kills")
	flag.StringVar(&l.delay, "delay", "20ms", "politeness interval")
	flag.StringVar(&l.size, "size", "4MB", "--warc-size of the slaves")
	flag.StringVar(&l.disk, "disk", "", "a disk of this size for each slave (tmpfs; needs root), as 64m")
	flag.StringVar(&l.slaveFlags, "slave-flags", "", "more flags of the slaves, with spaces between them")
	flag.StringVar(&l.duckdb, "duckdb", "", "folder with duckdb.mjs, polars.mjs and what they need: they read the "+
		"tables meanwhile")
	flag.IntVar(&l.sends, "send", 0, "make and send so many captures instead, and measure memory")
	flag.IntVar(&l.replays, "replay", 0, "make and send so many captures, and measure how long replay takes for some")
	flag.StringVar(&l.dir, "dir", "", "keep what the crawl leaves here; default: removed unless something fails")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := l.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bucket: %v; everything is left in %s; repeat with -seed %d\n", err, l.dir, l.seed)
		os.Exit(1)
	}
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *lab) run(ctx context.Context) (err error) {
	temporary := l.dir == ""
	if temporary {
		if l.dir, err = os.MkdirTemp("", "henro-bucket"); err != nil {
			return err
		}
	}
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return err
	}
	l.ctx, l.rnd = ctx, rand.New(rand.NewPCG(l.seed, 1))
	if err := os.MkdirAll(l.path("store/"+bucketName), 0o755); err != nil {
		return err
	}
	l.group.Dir = l.dir
	defer func() {
		l.group.End()
		for _, disk := range l.mounted {
			err = errors.Join(err, syscall.Unmount(disk, 0))
		}
		if temporary && err == nil {
			err = os.RemoveAll(l.dir)
		}
	}()
	if l.sends > 0 {
		return l.send(l.sends)
	}
	if l.replays > 0 {
		return l.replay(l.replays)
	}
	for i := range slaves {
		if l.disk == "" {
			break
		}
		disk := l.path(fmt.Sprintf("slave%d", i))
		if err := errors.Join(os.MkdirAll(disk, 0o755),
			syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+l.disk)); err != nil {
			return fmt.Errorf("disk of a slave: %w", err)
		}
		l.mounted = append(l.mounted, disk)
	}
	began := time.Now()
	if err := l.start(); err != nil {
		return err
	}
	if err := l.murder(); err != nil {
		return err
	}
	if l.duckdb != "" {
		if err := l.engines(); err != nil {
			return err
		}
	}
	if err := l.end(); err != nil {
		return err
	}
	fmt.Printf("crawl     %s, seed %d, %v: killed %v; a slave had %.1f MB on its disk at most, %.1f MB of WARC files\n",
		l.store, l.seed, time.Since(began).Round(time.Second), l.killed, float64(l.most)/1e6, float64(l.mostWARC)/1e6)
	return errors.Join(l.judge(), l.proofs())
}

func (l *lab) start() error {
	for _, to := range []*string{&l.gossip, &l.actors, &l.api, &l.at} {
		var err error
		if *to, err = process.FreePort(); err != nil {
			return err
		}
	}
	if err := errors.Join(l.environment(), l.startStore(), l.startMaster()); err != nil {
		return err
	}
	for i := range l.slaves {
		if err := l.startSlave(i); err != nil {
			return err
		}
	}
	return nil
}

// environment says where the store is and who asks.
func (l *lab) environment() error {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
		"MINIO_ROOT_USER": key, "MINIO_ROOT_PASSWORD": secret, "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL": "http://" + l.at} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) startStore() (err error) {
	arguments := []string{"s3", "--addr", l.at, "--auth-key", key + "," + secret, "--config", os.DevNull, "--cache-dir",
		l.path("cache"), l.path("store")}
	switch l.store {
	case "versitygw":
		arguments = []string{"--access", key, "--secret", secret, "--port", l.at, "posix", l.path("store")}
	case "minio":
		arguments = []string{"server", "--quiet", "--address", l.at, l.path("store")}
	}
	l.storeProcess, err = l.group.Start("store", filepath.Join(l.stores, l.store), arguments...)
	return err
}

func (l *lab) startMaster() (err error) {
	flags, err := os.ReadFile(filepath.Join(l.sites, "flags.txt"))
	if err != nil {
		return err
	}
	arguments := append([]string{"--name", "master", "--gossip", l.gossip, "--actors", l.actors, "--listen-http", l.api,
		"--dir", l.path("crawl"), "--seeds", filepath.Join(l.sites, "seeds.txt"), "--allow-private", "--delay", l.delay,
		"--depth", "-1", "--fetch-timeout", "6s"}, strings.Fields(string(flags))...)
	l.master, err = l.group.Start("master", l.bin+"/henro-master", arguments...)
	return err
}

func (l *lab) startSlave(i int) (err error) {
	name := fmt.Sprintf("slave%d", i)
	l.slaves[i], err = l.group.Start(name, l.bin+"/henro-slave", append([]string{"--join", l.gossip, "--name", name,
		"--dir", l.path(name), "--gossip", "127.0.0.1:0", "--actors", "127.0.0.1:0", "--warc-size", l.size,
		"--archive", archive}, strings.Fields(l.slaveFlags)...)...)
	return err
}

// murder kills a process again and again, and starts it in its place up to three seconds later.
func (l *lab) murder() error {
	for i := range l.kills {
		if i == l.kills/2 {
			if err := l.keep(); err != nil {
				return err
			}
		}
		if err := l.wait(l.every/2 + time.Duration(l.rnd.Int64N(int64(l.every)))); err != nil {
			return err
		}
		var victim **process.Process
		var again func() error
		switch i := l.rnd.IntN(slaves + 3); {
		case i < slaves:
			victim, again = &l.slaves[i], func() error { return l.startSlave(i) }
		case i == slaves:
			victim, again = &l.master, l.startMaster
		default:
			victim, again = &l.storeProcess, l.startStore
		}
		if _, err := (*victim).Kill(); err != nil {
			return err
		}
		l.killed[strings.TrimRight((*victim).Name, "0123456789")]++
		if err := l.wait(time.Duration(l.rnd.Int64N(int64(3 * time.Second)))); err != nil {
			return err
		}
		if err := again(); err != nil {
			return err
		}
	}
	return l.wait(2 * l.every)
}

// wait lets time pass, and measures what slaves have on their disks.
func (l *lab) wait(d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		for i := range l.slaves {
			all, files := int64(0), int64(0)
			_ = filepath.WalkDir(l.path(fmt.Sprintf("slave%d", i)), func(name string, d fs.DirEntry, err error) error {
				if info, bad := os.Stat(name); err == nil && bad == nil && info.Mode().IsRegular() {
					if all += info.Size(); filepath.Base(filepath.Dir(name)) == "warc" {
						files += info.Size()
					}
				}
				return nil // what went meanwhile is not counted
			})
			l.most, l.mostWARC = max(l.most, all), max(l.mostWARC, files)
		}
	}
	return nil
}

// end asks the master to end, and the slaves.
func (l *lab) end() error {
	if !l.master.Running() && l.master.Code() != 0 {
		return fmt.Errorf("the master has ended: %s", l.master.LastWords())
	}
	if l.master.Running() {
		if err := l.master.AwaitWord(l.ctx, "master ready"); err != nil {
			return err
		}
		if s, err := l.status(); err == nil {
			fmt.Printf("state     %d pages and %d requisites until the master was asked to end\n", s.Totals.Pages,
				s.Totals.Requisites)
		}
		if err := l.master.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := l.master.AwaitEnd(l.ctx, mostEnd); err != nil {
			return err
		}
	}
	return process.EndSlaves(l.ctx, l.slaves[:]...)
}

func (l *lab) status() (*master.Status, error) {
	response, err := http.Get("http://" + l.api + "/api/status")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	s := &master.Status{}
	return s, json.NewDecoder(response.Body).Decode(s)
}

// judge reads the bucket.
func (l *lab) judge() error {
	for i := range l.slaves {
		left, err := filepath.Glob(l.path(fmt.Sprintf("slave%d/warc/*.warc.gz*", i)))
		if err != nil || len(left) > 0 {
			return fmt.Errorf("left with slave%d: %v %v", i, left, err)
		}
	}
	if err := l.fetch(); err != nil {
		return err
	}
	records, captures, err := l.once()
	if err != nil {
		return err
	}
	fmt.Printf("bucket    %d records, none in two objects; %d lines of indexes, none twice\n", records, captures)
	if err := l.tables(captures, 2); err != nil { // those of a pass that was cut off are there twice
		return err
	}
	for _, arguments := range [][]string{{"check", l.path("crawl")}, {"check", archive}, {"check", "--repair", archive},
		{"check", archive}} {
		out, err := exec.CommandContext(l.ctx, l.bin+"/henro", arguments...).CombinedOutput()
		fmt.Printf("henro %s\n%s", strings.Join(arguments, " "), indent(out))
		if err != nil || len(arguments) == 2 && !bytes.HasSuffix(out, []byte("clean\n")) {
			return fmt.Errorf("henro %v: %w", arguments, err)
		}
	}
	return errors.Join(l.tables(captures, 1), l.edges(), l.answers())
}

// keep copies the checkpoints that are in the bucket now, and waits for the first.
func (l *lab) keep() error {
	client, err := l.client()
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); err = l.wait(time.Second) {
		kept := 0
		for o := range client.ListObjects(l.ctx, bucketName, minio.ListObjectsOptions{Recursive: true,
			Prefix: folder + "/proof/"}) {
			log, is := strings.CutSuffix(o.Key, "/checkpoint")
			if is && client.FGetObject(l.ctx, bucketName, o.Key, l.path("kept-"+path.Base(log)),
				minio.GetObjectOptions{}) == nil {
				kept++
			}
		}
		if kept > 0 {
			return nil
		}
	}
	return cmp.Or(err, errors.New("no log came into the bucket until half-way, and for a minute more"))
}

// proofs compares the bucket with the checkpoints that were kept, proves captures, and has what is altered named.
func (l *lab) proofs() error {
	kept, err := filepath.Glob(l.path("kept-*"))
	if err != nil || len(kept) == 0 {
		return fmt.Errorf("no log came into the bucket until half-way: %w", err)
	}
	check := func(since string) (string, error) {
		out, err := exec.CommandContext(l.ctx, l.bin+"/henro", "check", "--since", since, archive).CombinedOutput()
		return string(out), err
	}
	for _, since := range kept {
		out, err := check(since)
		if err != nil || !strings.Contains(out, "nothing of ") || strings.Contains(out, "are in no log") {
			return fmt.Errorf("since %s: %w: %s", since, err, out)
		}
	}
	listed, err := exec.CommandContext(l.ctx, l.bin+"/henro", "sql", "--format", "tsv", "--", archive,
		"SELECT DISTINCT url FROM captures ORDER BY url").Output()
	urls := strings.Fields(string(listed))
	if err != nil || len(urls) < 100 {
		return fmt.Errorf("%d pages: %w", len(urls), err)
	}
	proved := 0
	for i := 1; i < len(urls); i += len(urls) / 50 {
		to := l.path("a.proof")
		out, err := exec.CommandContext(l.ctx, l.bin+"/henro", "prove", archive, urls[i], "-o", to).CombinedOutput()
		if err == nil {
			out, err = exec.CommandContext(l.ctx, l.bin+"/henro", "verify", to).CombinedOutput()
		}
		if err != nil {
			return fmt.Errorf("prove %s: %w: %s", urls[i], err, out)
		}
		proved++
	}
	altered, err := l.alter(func() (string, error) { return check(kept[0]) })
	fmt.Printf("proof     nothing was altered since %d checkpoints of half-way; %d captures proved; %d objects "+
		"altered or removed, each named\n", len(kept), proved, altered)
	return err
}

// alter alters and removes objects of the archive and its logs, each of which check must name, and puts them back.
func (l *lab) alter(check func() (string, error)) (altered int, err error) {
	client, err := l.client()
	if err != nil {
		return 0, err
	}
	var names []string
	for o := range client.ListObjects(l.ctx, bucketName, minio.ListObjectsOptions{Recursive: true,
		Prefix: folder + "/"}) {
		if strings.Contains(o.Key, "/proof/") || strings.HasSuffix(o.Key, ".warc.gz") {
			names = append(names, o.Key)
		}
	}
	put := func(name string, data []byte) error {
		_, err := client.PutObject(l.ctx, bucketName, name, bytes.NewReader(data), int64(len(data)),
			minio.PutObjectOptions{})
		return err
	}
	for i := range 12 {
		name := names[l.rnd.IntN(len(names))]
		o, err := client.GetObject(l.ctx, bucketName, name, minio.GetObjectOptions{})
		if err != nil {
			return altered, err
		}
		data, err := io.ReadAll(o)
		if err != nil {
			return altered, err
		}
		if i%2 == 0 {
			err = client.RemoveObject(l.ctx, bucketName, name, minio.RemoveObjectOptions{})
		} else {
			other := bytes.Clone(data)
			other[l.rnd.IntN(len(other))] ^= 1 << l.rnd.IntN(8)
			err = put(name, other)
		}
		if err != nil {
			return altered, err
		}
		// A log without its only checkpoint looks as one that is being brought: named, and damage after 15 minutes.
		out, err := check()
		young := strings.HasSuffix(name, "/checkpoint") && strings.Contains(out, name+" is not there:")
		if (err == nil && !young) || !strings.Contains(out, strings.TrimPrefix(name, folder+"/")) {
			return altered, fmt.Errorf("%s was altered, and is not named: %s", name, out)
		}
		if err := put(name, data); err != nil {
			return altered, err
		}
		altered++
	}
	return altered, nil
}

// tables reads the index and the Parquet of the bucket, by clients of others: every capture must be in a table, at most
// so many times.
func (l *lab) tables(captures, most int) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	var index struct{ Parts []bucket.Part }
	name := folder + "/" + bucket.IndexName
	if o, err := client.GetObject(l.ctx, bucketName, name, minio.GetObjectOptions{}); err == nil {
		text, _ := io.ReadAll(o) // there is none before the first pass
		if err := errors.Join(o.Close(), json.Unmarshal(text, &index)); err != nil && len(text) > 0 {
			return err
		}
	}
	indexed := 0
	for _, p := range index.Parts {
		indexed += len(p.Files)
	}
	all, files, err := rowsOf[place](l, "captures")
	if err != nil {
		return err
	}
	rows := map[place]int{}
	for _, at := range all {
		if rows[at]++; rows[at] > most {
			return fmt.Errorf("%v is %d times in the tables", at, rows[at])
		}
	}
	fmt.Printf("tables    %d captures in %d files of Parquet; %d WARC files in %d parts of the index\n", len(rows),
		files, indexed, len(index.Parts))
	if len(rows) != captures {
		return fmt.Errorf("%d captures are in the tables, of %d", len(rows), captures)
	}
	return nil
}

func indent(out []byte) string {
	return "          " + strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n          ") + "\n"
}

// fetch copies the bucket into the folder of the crawl, by a client of its own.
func (l *lab) fetch() error {
	client, err := l.client()
	if err != nil {
		return err
	}
	n, size := 0, int64(0)
	for o := range client.ListObjects(l.ctx, bucketName, minio.ListObjectsOptions{Prefix: folder + "/"}) {
		if o.Err != nil {
			return o.Err
		}
		name := filepath.Base(o.Key)
		if _, is := warc.CutSuffix(name); !is && !strings.HasSuffix(name, cdxj.Suffix) {
			continue
		}
		if err := client.FGetObject(l.ctx, bucketName, o.Key, l.path("crawl/warc/"+name),
			minio.GetObjectOptions{}); err != nil {
			return err
		}
		n, size = n+1, size+o.Size
	}
	fmt.Printf("bucket    %d files, %.1f MB\n", n, float64(size)/1e6)
	return nil
}

// once reads every record, of which none may come twice.
func (l *lab) once() (records, captures int, err error) {
	in := map[string]string{} // name of the object, by what must be in one
	files, err := warc.Files(l.path("crawl/warc"))
	for _, path := range files {
		name := filepath.Base(path)
		once := func(what string) error {
			if other, twice := in[what]; twice {
				return fmt.Errorf("%s is in %s and in %s", what, other, name)
			}
			in[what] = name
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return 0, 0, err
		}
		_, err = warc.Walk(f, func(e *warc.Entry) error {
			records++
			return once(e.Header.Get("WARC-Record-ID"))
		})
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, 0, err
		}
		index, err := os.ReadFile(cdxj.Path(path))
		if err != nil {
			return 0, 0, fmt.Errorf("a WARC file without its index: %w", err)
		}
		err = cdxj.Each(bytes.NewReader(index), cdxj.Parse, func(e cdxj.Entry) error {
			captures++
			return once(fmt.Sprint(e.Filename, " ", e.Offset))
		}, func(line int, err error) { fmt.Fprintln(os.Stderr, name, line, err) })
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
	}
	return records, captures, err
}
