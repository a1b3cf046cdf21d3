package archivist

import (
	"sync"

	"github.com/sirupsen/logrus"

	"henro/store/proof"
)

// openProof opens the log of what is stored; nil: there is none.
func (s *files) openProof() (*proof.Log, error) {
	if s.proofs == "" || s.proof != nil {
		return s.proof, nil
	}
	return proof.Open(proof.Options{Dir: s.proofs, Archive: s.o.Dir, Prefix: s.o.Prefix,
		Failed: func(file string, err error) {
			s.log.WithFields(logrus.Fields{"file": file, "err": err}).Warn("file is not logged; trying again")
		}})
}

// prove has what is on its way to the disk logged, until wait returns.
func (s *files) prove(items []*bindItem) (wait func()) {
	if s.proof == nil {
		return func() {}
	}
	var done sync.WaitGroup
	name, parts := s.writer.Name(), make([]proof.Part, 0, 3)
	done.Go(func() {
		for _, item := range items {
			parts = proof.AppendParts(parts[:0], item.order.Captures, item.order.Members)
			s.proof.Add(name, item.begin(), item.order.Records, parts)
		}
	})
	return done.Wait
}

// begin is the offset of all records of an order.
func (i *bindItem) begin() int64 {
	if c := i.order.Captures; len(c) > 0 {
		return i.Offset - c[0].Offset
	}
	return i.Offset
}
