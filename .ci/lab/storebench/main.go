// Command storebench measures the state store, and draws what it measured. docs/measured/state.md says what came out.
//
//	go run ./.ci/lab/storebench queue  -n 17500000 -resolution hier -buffers 100,10,3,1,0.3,0.1
//	go run ./.ci/lab/storebench keyed  -n 17500000 -batches 10000,1000
//	go run ./.ci/lab/storebench commit -n 17500000 -buffers 1,0.1
//	go run ./.ci/lab/storebench stable -n 1000000 -visits 8000000
//	go run ./.ci/lab/storebench seen   -n 50000000 -batches 1000,10000,50000 -files 4
//	go run ./.ci/lab/storebench zstd   -in URLS
//	go run ./.ci/lab/storebench crash  -rounds 100
//	go run ./.ci/lab/storebench start  -n 10000000
//	go run ./.ci/lab/storebench fill   -n 100000000 -files 8
//	go run ./.ci/lab/storebench admit  -n 75000 -visits 5600 -batches 35,140,560,2800
//	go run ./.ci/lab/storebench spread -n 25000 -lent 64 -gather 8 -batches 250,1000
//	go run ./.ci/lab/storebench plot   -in docs/state.tsv -out docs
//
// Results are lines of tab-separated values, the column names first.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench is what the subcommands share.
type bench struct {
	flags      *flag.FlagSet
	dir        string
	n          int
	visits     int
	seed       uint64
	resolution string
	buffers    string
	batches    string
	rounds     int
	files      int
	keep       bool
	every      int
	links      int
	lent       int
	gather     int
	in, out    string
	profile    string
}

func main() {
	commands := map[string]func(*bench) error{
		"queue": queueBench, "keyed": keyedBench, "commit": commitBench, "stable": stableBench, "seen": seenBench,
		"zstd": zstdBench, "crash": crashBench, "load": crashLoad, "open": openChild, "plot": plot,
		"start": startBench, "fill": fillBench, "admit": admitBench, "spread": spreadBench,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr,
			"usage: storebench queue|keyed|commit|stable|seen|zstd|crash|start|fill|admit|plot [flags]")
		os.Exit(2)
	}
	b := &bench{flags: flag.NewFlagSet(os.Args[1], flag.ExitOnError)}
	b.flags.StringVar(&b.dir, "dir", "", "where the files go; default a new folder that is deleted")
	b.flags.IntVar(&b.n, "n", 1_000_000, "URLs")
	b.flags.IntVar(&b.visits, "visits", 400_000, "visits to measure")
	b.flags.Uint64Var(&b.seed, "seed", 1, "seed")
	b.flags.StringVar(&b.resolution, "resolution", "hier", "hier, minute, hour, day")
	b.flags.StringVar(&b.buffers, "buffers", "10,1,0.1", "write buffers in MB, in this order")
	b.flags.StringVar(&b.batches, "batches", "10000,1000", "operations per commit")
	b.flags.IntVar(&b.rounds, "rounds", 100, "kills")
	b.flags.IntVar(&b.files, "files", 1, "files written at the same time")
	b.flags.BoolVar(&b.keep, "keep", false, "keep the files")
	b.flags.IntVar(&b.every, "every", 50, "each so many URLs was visited")
	b.flags.IntVar(&b.links, "links", 12, "links of a page that was visited")
	b.flags.IntVar(&b.lent, "lent", 64, "hosts under lease at once")
	b.flags.IntVar(&b.gather, "gather", 0, "URLs of other hosts gather, so many a host; 0: none; -1: until it is lent")
	b.flags.StringVar(&b.in, "in", "", "results to draw")
	b.flags.StringVar(&b.out, "out", ".", "where the drawings go")
	b.flags.StringVar(&b.profile, "cpuprofile", "", "write a CPU profile of the measured part")
	b.flags.Parse(os.Args[2:])
	if err := b.run(commands[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, "storebench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(command func(*bench) error) error {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "storebench")
		if err != nil {
			return err
		}
		b.dir = dir
		if !b.keep {
			defer os.RemoveAll(dir)
		}
	}
	return command(b)
}

// profiled runs the measured part, under the profiler if asked for.
func (b *bench) profiled(fn func() error) error {
	if b.profile == "" {
		return fn()
	}
	f, err := os.Create(b.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer func() { pprof.StopCPUProfile(); f.Close() }()
	return fn()
}

// meter measures wall clock, processor time and bytes written between two moments.
type meter struct {
	start   time.Time
	cpu     time.Duration
	written uint64
}

func startMeter() meter { return meter{time.Now(), cpuTime(), bytesWritten()} }

// per divides what passed since the start by n: microseconds, microseconds of processor, bytes written.
func (m meter) per(n int) (us, cpu, written float64) {
	f := float64(max(n, 1))
	return float64(time.Since(m.start).Microseconds()) / f, float64((cpuTime() - m.cpu).Microseconds()) / f,
		float64(bytesWritten()-m.written) / f
}

// bytesWritten is what the process gave to write calls: the pages of bbolt.
func bytesWritten() uint64 {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, _ := strconv.ParseUint(v, 10, 64)
			return n
		}
	}
	return 0
}

// peakMemory is the largest resident set of the process so far, in bytes: heap and mapped file pages together.
func memory(field string) uint64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

func numbers(list string) ([]float64, error) {
	var all []float64
	for _, s := range strings.Split(list, ",") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", list, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// median of a list, which it sorts.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

func row(columns ...any) {
	parts := make([]string, len(columns))
	for i, c := range columns {
		switch v := c.(type) {
		case float64:
			parts[i] = strconv.FormatFloat(v, 'f', 3, 64)
		case time.Duration:
			parts[i] = v.Round(10 * time.Microsecond).String()
		default:
			parts[i] = fmt.Sprint(v)
		}
	}
	fmt.Println(strings.Join(parts, "\t"))
}

func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
