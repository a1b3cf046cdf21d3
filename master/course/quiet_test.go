package course

import (
	"testing"

	"henro/actors/protocol"
)

// One quiet survey proves nothing: what was on its way between two partitions may have been counted by neither.
func TestTheEndIsProvenByTwoQuietSurveysWithoutACommitBetween(t *testing.T) {
	r := surveys{partitions: 2}
	for i, step := range []struct {
		sentence string
		commits  uint64
		quiet    bool
		proven   bool
		again    bool
	}{
		{"something is left", 1, false, false, false},
		{"a first quiet survey", 1, true, false, true},
		{"a second, but something was committed", 2, true, false, true},
		{"something is left again", 2, false, false, false},
		{"a first one", 2, true, false, true},
		{"a second, and nothing was committed", 2, true, true, false},
	} {
		r.answers = map[int]*protocol.QuietReported{}
		r.number = uint64(i)
		r.take(&protocol.QuietReported{Partition: 0, Survey: r.number, Commits: 7})
		if !r.take(&protocol.QuietReported{Partition: 1, Survey: r.number, Commits: step.commits}) {
			t.Fatalf("%s: the survey is not complete", step.sentence)
		}
		if proven, again := r.prove(step.quiet); proven != step.proven || again != step.again {
			t.Errorf("%s: proven %v, again %v", step.sentence, proven, again)
		}
	}
	if r.take(&protocol.QuietReported{Survey: r.number - 1}) {
		t.Error("an answer to an earlier survey completes one")
	}
}
