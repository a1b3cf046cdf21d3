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
	// ErrNotWhole is returned where the credential of a node is asked for what only the whole key can do.
	ErrNotWhole = errors.New("this file holds only what one node needs of the key: use the whole key")
	// ErrNoSuchKey is returned for an id that no key of the file has.
	ErrNoSuchKey = errors.New("not in this file: henro key list shows those that are")
	// ErrRevoked is returned for the certificate of a node that was revoked.
	ErrRevoked = errors.New("its certificate was revoked")
	// ErrOtherNode is returned where a name is not the one in the certificate.
	ErrOtherNode = errors.New("its certificate is of another node")
	// ErrAddressTaken is returned when another process listens where this one should.
	ErrAddressTaken = errors.New("address already in use")
	// ErrTooLong is returned when what a node has to say about itself does not fit into the gossip.
	ErrTooLong = errors.New("too long for the gossip")
)
