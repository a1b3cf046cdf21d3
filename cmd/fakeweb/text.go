package fakeweb

import (
	"strings"
	"sync"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// corpus is a stock of paragraphs and titles in one encoding, from which pages are put together by copying: that is
// what makes a page cost microseconds. It depends on nothing but the encoding.
type corpus struct {
	paragraphs [paragraphCount][]byte
	titles     [titleCount][]byte
	words      [8][]byte // japaneseWords
	folder     []byte    // japaneseFolder
	phrases    phrases
}

// phrases are the fixed words of a page.
type phrases struct {
	lang                                                         []byte
	home, today, counter, edition, footer, notFound, wrong, next []byte
}

const (
	paragraphCount = 512
	titleCount     = 256
)

// The stocks are built at their first use: 0.5 ms each.
var corpora = [4]func() *corpus{
	Latin:    sync.OnceValue(func() *corpus { return build(nil, english) }),
	UTF8:     sync.OnceValue(func() *corpus { return build(nil, nihongo) }),
	EUCJP:    sync.OnceValue(func() *corpus { return build(japanese.EUCJP, nihongo) }),
	ShiftJIS: sync.OnceValue(func() *corpus { return build(japanese.ShiftJIS, nihongo) }),
}

func texts(c Charset) *corpus { return corpora[c]() }

// grammar makes sentences of one language.
type grammar struct {
	lang                            string
	sentence                        func(r *random) string
	title                           func(r *random) string
	between                         string // between sentences
	home, today, counter, edition   string
	footer, notFound, wrong, onward string
}

func build(enc encoding.Encoding, g grammar) *corpus {
	encode := func(s string) []byte {
		if enc == nil {
			return []byte(s)
		}
		b, err := enc.NewEncoder().Bytes([]byte(s))
		if err != nil {
			panic("fakeweb: the stock of texts holds a character outside its encoding: " + err.Error())
		}
		return b
	}
	c := &corpus{folder: encode(japaneseFolder), phrases: phrases{
		lang: encode(g.lang), home: encode(g.home), today: encode(g.today), counter: encode(g.counter),
		edition: encode(g.edition),
		footer:  encode(g.footer), notFound: encode(g.notFound), wrong: encode(g.wrong), next: encode(g.onward),
	}}
	for i, word := range japaneseWords {
		if enc != nil || g.lang == "ja" {
			c.words[i] = encode(word)
		}
	}
	r := random(0x68656e726f)
	for i := range c.titles {
		c.titles[i] = encode(g.title(&r))
	}
	for i := range c.paragraphs {
		var b strings.Builder
		b.WriteString("<p>")
		for n := 2 + r.below(4); n > 0; n-- {
			b.WriteString(g.sentence(&r))
			if n > 1 {
				b.WriteString(g.between)
			}
		}
		b.WriteString("</p>\n")
		c.paragraphs[i] = encode(b.String())
	}
	return c
}

func one(r *random, words string) string {
	list := strings.Fields(words)
	return list[r.below(len(list))]
}

const (
	nouns = `pilgrim temple river mountain harbour village museum garden library market station bridge festival
		letter archive lantern road forest island teacher student engineer council report recipe weather
		railway museum theatre painter novel kitchen meadow orchard valley coast ferry printer journal atlas
		window carpenter choir harvest winter summer`
	adjectives = `old quiet narrow public famous small distant green careful early wooden patient bright
		forgotten local steep annual modest open unusual northern southern heavy gentle hidden useful clear
		crowded yearly plain`
	verbs = `describes follows reaches opens repairs visits measures remembers crosses announces collects
		explains invites records replaces keeps joins compares translates paints finds counts leaves shows welcomes`
	adverbs = `slowly again today nearby carefully every_year at_dawn in_spring without_haste before_noon after_the_rain
		by_boat on_foot in_the_evening once_more`

	basho     = `四国 京都 奈良 高松 松山 徳島 高知 東京 大阪 北海道 九州 瀬戸内海 山の上 川の近く 駅前 港町`
	meishi    = `お寺 遍路道 図書館 博物館 市場 お祭り 学校 研究室 新聞 手紙 鉄道 公園 庭園 温泉 料理 天気 地図 写真 音楽 歴史 計算機 記録 旅人 先生 学生 職人`
	keiyo     = `古い 静かな 小さな 有名な 新しい 美しい 長い 便利な 大切な 珍しい 明るい 不思議な 豊かな 急な 広い`
	doushi    = `訪れました 紹介します 見学できます 調べています 修理しました 思い出します 案内しています 集めています 開きました 伝えています 比べました 楽しめます 守っています`
	toki      = `今日は 毎年 春になると 夏の間 秋には 冬の朝 昨日 来月 夕方 雨の日に 昔から 最近`
	setsuzoku = `また、 そして、 しかし、 さらに、 ところで、 なお、`
)

var english = grammar{
	lang: "en", between: " ", home: "Home", today: "Today is", counter: "Visitors so far:", edition: "Edition",
	onward: "next month",
	footer: "Made up for tests; nothing here is true.", notFound: "Page not found", wrong: "Something went wrong",
	title: func(r *random) string { return "The " + one(r, adjectives) + " " + one(r, nouns) },
	sentence: func(r *random) string {
		s := "The " + one(r, adjectives) + " " + one(r, nouns) + " " + one(r, verbs) + " the " + one(r, nouns)
		if r.next()&1 == 0 {
			s += " of the " + one(r, adjectives) + " " + one(r, nouns)
		}
		return s + " " + strings.ReplaceAll(one(r, adverbs), "_", " ") + "."
	},
}

var nihongo = grammar{
	lang: "ja", between: "", home: "ホーム", today: "本日は", counter: "来訪者数", edition: "改訂", onward: "翌月",
	footer: "試験用の架空のページです。", notFound: "ページが見つかりません", wrong: "エラーが発生しました",
	title: func(r *random) string { return one(r, basho) + "の" + one(r, keiyo) + one(r, meishi) },
	sentence: func(r *random) string {
		s := one(r, toki) + one(r, basho) + "の" + one(r, keiyo) + one(r, meishi) + "を" + one(r, doushi) + "。"
		if r.next()&3 == 0 {
			s = one(r, setsuzoku) + s
		}
		return s
	},
}
