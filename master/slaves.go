package master

import (
	"context"
	"fmt"

	"henro/master/lending"
	"henro/store"
)

// Drain takes the hosts of a slave back and lends it none, or lends it some again; store.ErrNotFound: no slave has the
// name.
func (n *Node) Drain(ctx context.Context, slave string, on bool) (*lending.SlaveStatus, error) {
	var order any = &lending.ResumeSlave{Slave: slave}
	if on {
		order = &lending.DrainSlave{Slave: slave}
	}
	answer, err := Ask[*lending.SlaveAnswered](ctx, n, order)
	if err == nil && answer.Slave == nil {
		err = fmt.Errorf("no slave %q was ever here (henro nodes lists them): %w", slave, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return answer.Slave, nil
}
