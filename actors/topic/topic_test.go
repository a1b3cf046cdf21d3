package topic_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"henro/actors/topic"
)

func made(t *testing.T, text string) *topic.Topic {
	t.Helper()
	about, err := topic.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return about
}

func TestTermsAreFoundAsPeopleReadThem(t *testing.T) {
	about := made(t, "# what I look for\ndatabase\nquery planner weight=3\nデータベース\n索引\nSQL\nБаза\n")
	for text, want := range map[string]string{
		"The Databases of a city":                   "database",
		"a query-planner, and a planner of queries": "query planner",
		"PostgreSQL":                                  "",
		"http://h.test/sql/query_planner.html#x":      "query planner, SQL",
		"リレーショナルデータベースの索引":                            "データベース, 索引",
		"データの索 引ベース":                                  "索引",
		"データ":                                         "",
		"SQLS, ßQLS":                                  "SQL",
		"баЗа данных":                                 "База",
		"a DATABASE about databases, and a database.": "database",
		"": "",
	} {
		if got := topic.Words(about.Found(text)); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestPagesAreScoredByHowMuchTheySay(t *testing.T) {
	about := made(t, "database\nindex\n索引")
	filler := func(n int) string { return strings.Repeat("word ", n) }
	rising := []string{filler(400), filler(2000) + "database", filler(399) + "database", "database " + filler(20),
		filler(300) + strings.Repeat("database ", 10), filler(300) + strings.Repeat("database index ", 10),
		strings.Repeat("database index 索引 ", 10)}
	last := -1.0
	for _, text := range rising {
		score := about.Read("", []byte(text)).Score
		if score <= last || score < 0 || score >= 1 {
			t.Errorf("%.40q… scores %v after %v", text, score, last)
		}
		last = score
	}
	// one occurrence in a page of ordinary length: X = 2.2 / 2.2
	if score := about.Read("", []byte(filler(399)+"database")).Score; math.Abs(score-1.0/3) > 1e-9 {
		t.Errorf("one of 400 words scores %v", score)
	}
}

func TestLinksInheritAndTunnelsEnd(t *testing.T) {
	about := made(t, "database")
	named, plain := about.Link(0.6, "Databases", "http://h.test/a", 0), about.Link(0.6, "next", "http://h.test/b", 0)
	if math.Abs(named-(0.3+1.0/3)) > 1e-9 || math.Abs(plain-0.3) > 1e-9 {
		t.Errorf("a link with the word has %v, one without %v", named, plain)
	}
	handed, given := 0.6, 0.0
	for range 4 { // through pages that say nothing of it
		given = about.Link(handed, "next", "http://h.test/", 0)
		if next := about.HandedOn(0, given); next >= handed || next <= 0 {
			t.Errorf("%v is handed on after %v", next, handed)
		} else {
			handed = next
		}
	}
	for band := range 255 {
		if about.Band(about.Score(uint8(band))) != uint8(band) {
			t.Errorf("band %d is not what its score gives", band)
		}
	}
	if about.Band(2) != 0 || about.Band(-1) != 254 {
		t.Error("scores out of range have bands out of range")
	}
}

func TestTopicsTravel(t *testing.T) {
	about := made(t, "database weight=2\n索引")
	text, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	var again topic.Topic
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	page := []byte("a database with 索引")
	if after, before := again.Read("", page).Score, about.Read("", page).Score; after != before || before == 0 {
		t.Errorf("%s scores %v, before %v", text, after, before)
	}
}

func TestTopicsThatMakeNoSense(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---", "a weight=0", "a weight=-1", "a weight=x", "weight=2",
		"a weight=NaN", "a b c d e f g h i", "\xff\xfe", strings.Repeat("a\n", 1001)} {
		if _, err := topic.Parse([]byte(text)); err == nil {
			t.Errorf("%.20q is taken", text)
		}
	}
}

func TestTextAroundLinksCountsForLess(t *testing.T) {
	about := made(t, "database\nindex weight=2")
	text := []byte("Paper of all kinds. A database for you, with an index and another index, and more paper.")
	reading := about.Read("", text)
	part := func(from, to string) uint8 {
		return reading.Part(strings.Index(string(text), from), strings.Index(string(text), to))
	}
	if got := part("Paper", "A database"); got != 0 {
		t.Errorf("text without a term has %d", got)
	}
	one, both := part("Paper", "with"), part("for you", "more")
	if one != 170 || both != 204 { // 1/1.5 and 2/2.5 of 255
		t.Errorf("text with one term has %d, with the heavier one twice %d", one, both)
	}
	plain, around := about.Link(0.6, "next", "http://h.test/b", 0), about.Link(0.6, "next", "http://h.test/b", one)
	named := about.Link(0.6, "Databases", "http://h.test/b", one)
	if math.Abs(around-(0.3+0.1*170/255)) > 1e-9 || !(plain < around && around < named) {
		t.Errorf("a link has %v, with a term around it %v, with a term in it %v", plain, around, named)
	}
	if named != about.Link(0.6, "Databases", "http://h.test/b", 0) {
		t.Error("a link with a term goes by the text around it")
	}
}

func TestWordsOfExamplesAreTheTopic(t *testing.T) {
	examples := []topic.Example{
		{Title: "Squids and ink",
			Text: strings.Repeat("The giant squid and its tentacles are very large, and they have large eyes. ", 3)},
		{Title: "イカの話", Text: "ダイオウイカの触腕は長い。触腕で魚を捕る。ダイオウイカは深海にいる。魚も深海にいる。The squid."},
	}
	about, err := topic.Parse([]byte("mollusc weight=3"), examples...)
	if err != nil {
		t.Fatal(err)
	}
	terms := about.Terms()
	for _, want := range []string{"mollusc weight=3.00\n", "squid", "tentacle", "ink weight", "ダイオウイカ", "触腕", "深海"} {
		if !strings.Contains(terms, want) {
			t.Errorf("%q is no term: %s", want, terms)
		}
	}
	for _, ordinary := range []string{"the ", "and ", "they", "have", "very", "は", "にいる"} {
		if strings.Contains(terms, ordinary) {
			t.Errorf("%q is a term: %s", ordinary, terms)
		}
	}
	same, err := topic.Parse([]byte(terms))
	if err != nil || same.Terms() != terms {
		t.Errorf("the list of terms is read as %v, %v", same, err)
	}
	for better, worse := range map[string]string{"a squid with tentacles": "a tanker with pipes", "深海のイカ": "山の鳥"} {
		if about.Read("", []byte(better)).Score <= about.Read("", []byte(worse)).Score {
			t.Errorf("%q scores no better than %q", better, worse)
		}
	}
	if _, err := topic.Parse(nil, topic.Example{Text: "the and of"}); err == nil {
		t.Error("a page of ordinary words is taken")
	}
}

// What a page of 6 kB and a link cost: nothing is allocated for words that begin no term.
func BenchmarkTopic(b *testing.B) {
	about, err := topic.Parse([]byte("database\nsql\nsqlite\nquery planner\ntable\ntransaction\nindex\nrow\n"))
	if err != nil {
		b.Fatal(err)
	}
	const line = "Statements that are planned again see settings of their own; others keep those of a table. "
	text := []byte(strings.Repeat(line, 67))
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			about.Read("Settings", text)
		}
	})
	b.Run("link", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			about.Link(0.5, "Setting Parameters", "http://postgres.docs.test:8080/config-setting.html", 0)
		}
	})
}
