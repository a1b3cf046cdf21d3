package ring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func names(n int, seed uint64) []string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("pc%d-%x", i, rnd.Uint32()))
	}
	return all
}

func TestEveryPartitionHasOneOwnerAndNobodyTooMany(t *testing.T) {
	for _, partitions := range []int{1, 7, 8, 64, 1000} {
		for masters := 1; masters <= 12; masters++ {
			all := names(masters, uint64(masters))
			owners := Owners(partitions, all)
			count := map[string]int{}
			for _, o := range owners {
				count[o]++
			}
			if len(owners) != partitions || count[""] > 0 {
				t.Fatalf("%d partitions, %d masters: %v", partitions, masters, owners)
			}
			for name, n := range count {
				if n > (partitions+masters-1)/masters || !slices.Contains(all, name) {
					t.Errorf("%d partitions, %d masters: %s owns %d", partitions, masters, name, n)
				}
			}
		}
	}
	if Owners(8, nil) != nil || Owners(0, []string{"a"}) != nil {
		t.Error("owners of nothing")
	}
}

func TestTheOrderOfMastersDoesNotMatter(t *testing.T) {
	all := names(5, 3)
	want := Owners(64, all)
	slices.Reverse(all)
	if got := Owners(64, append(all, all[0])); !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, want)
	}
}

// TestOwnersAreAsEver keeps the assignment: nodes of different versions must agree.
func TestOwnersAreAsEver(t *testing.T) {
	if got, want := fmt.Sprint(Owners(8, []string{"m1", "m2", "m3"})), "[m3 m2 m3 m2 m1 m1 m1 m3]"; got != want {
		t.Errorf("owners %s, want %s", got, want)
	}
}

func TestLittleMovesWhenAMasterComesOrGoes(t *testing.T) {
	for _, masters := range []int{2, 3, 5, 9} {
		moved, must := 0, 0
		for seed := range uint64(100) {
			all := names(masters+1, seed)
			before, after := Owners(64, all[:masters]), Owners(64, all)
			for p := range before {
				if before[p] != after[p] {
					moved++
				}
			}
			must += 64 / (masters + 1)
		}
		if ratio := float64(moved) / float64(must); ratio > 1.7 {
			t.Errorf("from %d masters to one more: %.2f times as many partitions move as must", masters, ratio)
		}
	}
}
