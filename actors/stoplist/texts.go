package stoplist

// textsKept is how many texts of one host are counted at once.
const textsKept = 16

// texts counts the texts that a host gives most often, without keeping all of them (Misra and Gries, Finding repeated
// elements, 1982): a text that is more than one in textsKept+1 of all is always among those kept, and never counted
// above what it is.
type texts struct {
	kept   [textsKept]uint64
	counts [textsKept]uint16
}

// count counts a text and returns how often it was seen, at least.
func (t *texts) count(text uint64) int {
	free := -1
	for i, kept := range t.kept {
		switch {
		case t.counts[i] == 0:
			free = i
		case kept == text:
			t.counts[i] = min(t.counts[i]+1, 1<<15)
			return int(t.counts[i])
		}
	}
	if free >= 0 {
		t.kept[free], t.counts[free] = text, 1
		return 1
	}
	for i := range t.counts {
		t.counts[i]--
	}
	return 1
}
