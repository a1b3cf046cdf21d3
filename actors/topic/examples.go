package topic

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Example is a page that is about the topic.
type Example struct{ Title, Text string }

const (
	// exampleTerms are taken of all examples together. With 10 the words of one example decide, 100 are ordinary words
	exampleTerms = 30
	// exampleWeight is the sum of their weights: what a person would give, some ten terms of weight 1
	exampleWeight = 10
	// titled is how often a word in the title counts
	titled = 5
	// exampleHalfway is how often a word stands in a page of which it says half as much as it can
	exampleHalfway = 5
	// longWord is the length in letters from which words are taken to say all they can: shorter ones are more common
	longWord = 8
	// fewest is how often a word must stand in the examples
	fewest = 2
)

// characteristic returns the terms that example pages have in common, the best first: words that stand often in many
// of them and are not ordinary. Of Chinese characters these are pairs, of Katakana whole runs, of scripts like Thai
// runs of four; Hiragana is grammar.
func characteristic(examples []Example) []Term {
	scores, total, spelled := map[uint64]float64{}, map[uint64]int{}, map[uint64]string{}
	for i := range examples {
		counts := map[uint64]int{}
		take := func(text string, times int) {
			eachTerm(text, func(sum uint64, term string) {
				counts[sum] += times
				if _, known := spelled[sum]; !known {
					spelled[sum] = strings.ToLower(term)
				}
			})
		}
		take(examples[i].Text, 1)
		take(examples[i].Title, titled)
		for sum, n := range counts {
			scores[sum] += float64(n) / float64(n+exampleHalfway)
			total[sum] += n
		}
	}
	for sum, term := range spelled {
		if total[sum] < fewest || ordinary[sum] {
			delete(scores, sum)
			continue
		}
		if r, _ := utf8.DecodeRuneInString(term); !spaceless(r) {
			scores[sum] *= float64(min(utf8.RuneCountInString(term), longWord)) / longWord
		}
	}
	best := slices.SortedFunc(maps.Keys(scores), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(spelled[a], spelled[b]))
	})
	best = best[:min(len(best), exampleTerms)]
	var sum float64
	for _, at := range best {
		sum += scores[at]
	}
	terms := make([]Term, len(best))
	for i, at := range best {
		terms[i] = Term{spelled[at], exampleWeight * scores[at] / sum}
	}
	return terms
}

// eachTerm calls fn for each word of a text that could be a term.
func eachTerm(text string, fn func(sum uint64, term string)) {
	words := wordsOf(text)
	for i := 0; i < len(words); i++ {
		w := words[i]
		first, _ := utf8.DecodeRuneInString(text[w.at:w.end])
		if !spaceless(first) {
			if utf8.RuneCountInString(text[w.at:w.end]) > 2 && !unicode.IsDigit(first) {
				fn(w.sum, text[w.at:w.end])
			}
			continue
		}
		script, end := scriptOf(first), i+1
		for end < len(words) && words[end].at == words[end-1].end {
			r, _ := utf8.DecodeRuneInString(text[words[end].at:])
			if scriptOf(r) != script {
				break
			}
			end++
		}
		run := words[i:end]
		i = end - 1
		switch {
		case script == unicode.Katakana && len(run) > 1 && len(run) <= maxWords:
			gram(text, run, fn)
		case script == unicode.Han:
			for j := range len(run) - 1 {
				gram(text, run[j:j+2], fn)
			}
		case script == nil:
			for j := range len(run) - 3 {
				gram(text, run[j:j+4], fn)
			}
		}
	}
}

// gram calls fn for characters in a row.
func gram(text string, run []word, fn func(sum uint64, term string)) {
	term := text[run[0].at:run[len(run)-1].end]
	sum := uint64(fnvOffset)
	for i := range len(term) {
		sum = (sum ^ uint64(term[i])) * fnvPrime
	}
	fn(sum, term)
}

// scriptOf is the script of a character among those of Japanese; nil: another.
func scriptOf(r rune) *unicode.RangeTable {
	switch {
	case r == 'ー' || unicode.Is(unicode.Katakana, r):
		return unicode.Katakana
	case unicode.Is(unicode.Hiragana, r):
		return unicode.Hiragana
	case unicode.Is(unicode.Han, r):
		return unicode.Han
	}
	return nil
}

// ordinary are words of at least three letters that say nothing of what a page is about: the most frequent of English,
// German, French, Spanish, Italian, Portuguese, Dutch, Russian, Japanese and Chinese, and those of every web page.
var ordinary = func() map[uint64]bool {
	all := map[uint64]bool{}
	eachTerm(ordinaryWords, func(sum uint64, _ string) { all[sum] = true })
	return all
}()

const ordinaryWords = `
about above add added after again all allow allows along already also although always and another any anything are
around available back because become been before being below best better between both but call called came can
cannot case change come contain contains copy could current default describe described details did different does
doing done down due during each either else end enough etc even ever every example examples few find first following
follow for found from further general get give given goes going good had has have having help her here him his home
how however http https if important include included includes including information instead into its itself just
keep kind know large last later least left less let like likely list long look made mailto main make makes many may
means might more most much must name named need needed needs never new next non none not note nothing now number off
often old one only onto open optional order other our out over own page pages part per please possible previous
provide provided provides put rather read really reference right same section see seen set several shall she should
show shown simple simply since some something specific specified start still such support sure table take taken than
that the their them then there therefore these they thing this those three through thus time too top two type under
until upon use used useful user using usually value values various version very want was way well were what when
where whether which while who whose why will with within without work works would www yes yet you your aber alle als
auch auf aus bei beim bis damit dann das dass dem den denen der des die dies diese diesem diesen dieser dieses doch
durch ein eine einem einen einer eines ende etwa für gegen haben hat hier hinter ihre ihr immer ist jede jeder kann
kein keine können mehr mit muss nach nicht noch nur oder ohne sehr seine seit sich sie sind soll sowie über und uns
unter vom von vor war wenn werden wie wird wurde zum zur zwischen afin ainsi alors après aussi autre autres avant
avec bien car ceci cela celle celui ces cet cette ceux chaque comme comment dans deux doit donc dont elle elles
encore entre est être fait faire ici les leur leurs lors mais même moins notre nous ont par pas peu peut plus pour
quand que quel quelle qui sans ses ser soit son sont sous sur tous tout toute toutes très une vers vos votre vous
ahora algo algunos antes así aunque cada como con contra cual cuando del desde donde dos durante ella ellos era eso
esta estar este esto estos fue han hacer hacia hasta hay las los más mientras muy nada otra otro otros para pero
poco por porque pueden puede qué quien según sido sin sobre sus también tanto tiene tienen todo todos una uno usted
ver alla allo anche ancora che chi cosa così dal dalla degli dei della delle dello dopo dove essere fra gli hanno
loro molto nel nella nelle ogni oppure ora perché più poi prima quale quando quella quello questa queste questi
questo quindi sempre senza solo sono sul sulla tra tutti tutto ainda ali após aquele até com depois ela ele eles
essa esse está foi isso isto mas muito nas não nos onde pela pelo pode qual quem são sem seu seus sua suas também
tem ter uma você aan altijd ander andere bij dan dat deze dit door een elke gebruik geen goed heeft het hij hoe hun
kan kunnen maar meer men met moet naar niet nog nu of ook omdat onder ons te tot uit van veel voor waar wat wel
welke werd wordt worden zal zich zijn zonder без более был была были было быть вам все всех где для его если есть
еще затем здесь или имя как когда которая которые который можно может над них нужно она они при после раз так также
там тем того только том что чтобы это этого этой этом этот 場合 以下 以上 必要 使用 利用 可能 方法 自分 今回 同様 以外 以前 以降 一般 一部 他方 現在 最初
最後 次第 全部 全体 例外 表示 指定 参照 実際 可以 我们 如果 这个 一个 没有 进行 他们 因为 所以 自己 什么 以及 或者 其中 这些 通过 需要 已经 但是
`
