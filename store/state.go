package store

// State is all partitions of one crawl.
type State struct {
	Partitions []*Partition
}

// OpenState opens the state in a directory, creating it when the directory holds none.
func OpenState(dir string, o Options) (*State, error) { return nil, errUnwritten }

// PartitionOf says which partition a host, "scheme://name[:port]", belongs to. All hosts of a registrable domain share one.
func (s *State) PartitionOf(host string) int { return 0 }

// Close closes all partitions.
func (s *State) Close() error { return errUnwritten }
