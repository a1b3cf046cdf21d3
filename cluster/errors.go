package cluster

import "errors"

var (
	// ErrKeyNeeded is returned when an address beyond loopback is to be bound without a key file.
	ErrKeyNeeded = errors.New("without a key only loopback addresses may be bound")
	// ErrKeyDamaged is returned for a key file that cannot be read as one: a wrong checksum, a wrong length, an unknown
	// version.
	ErrKeyDamaged = errors.New("damaged key file")
	// ErrKeyOpen is returned for a key file that every user of the machine can read.
	ErrKeyOpen = errors.New("every user can read it")
	// ErrAddressTaken is returned when another process listens where this one should.
	ErrAddressTaken = errors.New("address already in use")
	// ErrTooLong is returned when what a node has to say about itself does not fit into the gossip.
	ErrTooLong = errors.New("too long for the gossip")
)
