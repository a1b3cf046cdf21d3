package verdict

import (
	"errors"
	"fmt"
	"slices"

	"henro/store"
)

// SameStates checks the copies of a state in each of the directories, and compares what they hold.
func SameStates(dirs ...string) error {
	var first []string
	for _, dir := range dirs {
		report, err := store.Check(dir, func(_, _ uint64) {})
		if err == nil && len(report.Problems) > 0 {
			err = fmt.Errorf("%s: %s", dir, report.Problems[0])
		}
		if err != nil {
			return err
		}
		digests, err := digestsOf(dir)
		if err != nil {
			return err
		}
		if first == nil {
			first = digests
		} else if !slices.Equal(first, digests) {
			return fmt.Errorf("%s holds other than %s: %v, %v", dir, dirs[0], digests, first)
		}
	}
	return nil
}

func digestsOf(dir string) (digests []string, err error) {
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(dir, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	for _, p := range state.Partitions {
		sum, err := p.Digest()
		if err != nil {
			return nil, err
		}
		digests = append(digests, sum)
	}
	return digests, nil
}
