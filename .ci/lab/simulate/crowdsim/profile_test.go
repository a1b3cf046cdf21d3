package crowdsim

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"runtime/pprof"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// nodeLabel is the label of goroutines that says whose work they do.
const nodeLabel = "node"

// workOf marks what is done from now on in a goroutine, and in those that it starts, as the work of a node.
func workOf(node string) context.Context {
	return pprof.WithLabels(context.Background(), pprof.Labels(nodeLabel, node))
}

// profile samples processor time, by node. Its goroutines live outside of bubbles, whose time would stand still.
type profile struct {
	turns   chan func()
	done    chan struct{}
	written bytes.Buffer
	err     error
}

// newProfile is to be called outside of a bubble, as is end.
func newProfile() *profile {
	p := &profile{turns: make(chan func()), done: make(chan struct{})}
	go func() {
		for turn := range p.turns {
			turn()
			p.done <- struct{}{}
		}
	}()
	return p
}

func (p *profile) start() {
	p.turns <- func() { p.err = pprof.StartCPUProfile(&p.written) }
	<-p.done
}

func (p *profile) stop() {
	p.turns <- pprof.StopCPUProfile
	<-p.done
}

// end returns the processor time of each node from start to stop; that of "" is of goroutines without a label, which
// collect garbage and look for work.
func (p *profile) end() (map[string]time.Duration, error) {
	close(p.turns)
	if p.err != nil {
		return nil, p.err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(p.written.Bytes()))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, err
	}
	return timesByNode(b)
}

// Fields of profile.proto of github.com/google/pprof.
const (
	profileSample, profileString = 2, 6
	sampleValue, sampleLabel     = 2, 3
	labelKey, labelString        = 1, 2
)

var errProfile = errors.New("a profile that cannot be read")

// timesByNode reads a profile of package runtime/pprof, whose second value is in nanoseconds.
func timesByNode(b []byte) (map[string]time.Duration, error) {
	type sample struct {
		key, text uint64
		value     []uint64
	}
	var samples []sample
	var texts []string
	err := fields(b, func(number protowire.Number, v uint64, in []byte) error {
		switch number {
		case profileString:
			texts = append(texts, string(in))
		case profileSample:
			var s sample
			err := fields(in, func(number protowire.Number, v uint64, in []byte) error {
				switch number {
				case sampleValue:
					if in == nil { // a few are not packed
						s.value = append(s.value, v)
					}
					for len(in) > 0 {
						v, n := protowire.ConsumeVarint(in)
						if n < 0 {
							return errProfile
						}
						s.value, in = append(s.value, v), in[n:]
					}
				case sampleLabel:
					return fields(in, func(number protowire.Number, v uint64, _ []byte) error {
						switch number {
						case labelKey:
							s.key = v
						case labelString:
							s.text = v
						}
						return nil
					})
				}
				return nil
			})
			samples = append(samples, s)
			return err
		}
		return nil
	})
	times := map[string]time.Duration{}
	for _, s := range samples {
		if len(s.value) < 2 || s.text >= uint64(len(texts)) || s.key >= uint64(len(texts)) {
			return nil, errProfile
		}
		node := ""
		if texts[s.key] == nodeLabel {
			node = texts[s.text]
		}
		times[node] += time.Duration(s.value[1])
	}
	return times, err
}

// fields calls fn for the fields of a message: with their value, or with their bytes.
func fields(b []byte, fn func(number protowire.Number, v uint64, in []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errProfile
		}
		b = b[n:]
		var v uint64
		var in []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			in, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errProfile
		}
		if err := fn(number, v, in); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
