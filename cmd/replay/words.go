package replay

import (
	"fmt"
	"net/http"
	"strings"
)

// words are those of our own pages in one language.
type words struct {
	Lang string
	T    map[string][]string
}

// Say returns the words for a thing.
func (w words) Say(key string) string {
	if t := w.T[key]; len(t) > 0 {
		return t[0]
	}
	return key
}

// Counted returns a number with the words for so many things: the second form is for one.
func (w words) Counted(n int, key string) string {
	t := w.T[key]
	if n == 1 && len(t) > 1 {
		t = t[1:]
	}
	return fmt.Sprint(n, " ", t[0])
}

// wordsFor chooses Japanese or English, as the browser prefers.
func wordsFor(r *http.Request) words {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch primary, _, _ := strings.Cut(strings.ToLower(tag), "-"); primary {
		case "ja":
			return words{"ja", inJapanese}
		case "en":
			return words{"en", inEnglish}
		}
	}
	return words{"en", inEnglish}
}

var inEnglish = map[string][]string{
	"title": {"Archive"}, "search": {"Search"}, "search-hint": {"URL, host, or words of a URL"}, "hosts": {"Hosts"},
	"found": {"Pages found"}, "texts": {"In the text of pages"},
	"nothing": {"Nothing found."}, "empty": {"There is no capture in this archive yet."}, "more": {"More"},
	"files":      {"WARC files", "WARC file"},
	"incomplete": {"The search took too long and stopped here; continue with More."}, "calendar": {"Calendar"},
	"captures": {"captures", "capture"}, "capture": {"capture"},
	"of": {"of"}, "from": {"from"}, "until": {"until"}, "previous": {"Earlier capture"},
	"next":      {"Later capture"},
	"unchanged": {"unchanged"}, "unchanged-since": {"unchanged since"}, "raw": {"As sent by the server"},
	"all": {"All hosts"}, "more-that-day": {"that day"},
	"missing":         {"Not in this archive"},
	"missing-why":     {"This page was not captured. Nothing is fetched from the live web."},
	"missing-failed":  {"It could not be fetched:"},
	"missing-waiting": {"It is known to the crawl and was not fetched yet."},
	"missing-refused": {"A rule of the crawl keeps it out."},
	"missing-elsewhere": {"It was fetched. Its capture is not on disk yet or not in this folder, or the crawl does " +
		"not archive pages of its kind."},
	"missing-unknown": {"The crawl does not know this address: no page that it fetched links to it."},
	"missing-content": {"This capture says that its content is that of another one, which is not in this archive."},
	"near":            {"Nearest in the archive"}, "back": {"Back"}, "host": {"All pages of this host"},
	"ok": {"page"}, "moved": {"redirect"}, "bad": {"error"}, "page": {"page"},
	"weekdays": {"Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"},
	"months": {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
		"November", "December"},
}

var inJapanese = map[string][]string{
	"title": {"アーカイブ"}, "search": {"検索"}, "search-hint": {"URL、ホスト、または URL に含まれる語"}, "hosts": {"ホスト一覧"},
	"found": {"見つかったページ"}, "texts": {"本文に含むページ"},
	"nothing": {"見つかりませんでした。"}, "empty": {"このアーカイブにはまだ保存がありません。"}, "more": {"続き"}, "files": {"個の WARC ファイル"},
	"incomplete": {"時間がかかるため途中で止めました。「続き」で再開します。"}, "calendar": {"カレンダー"}, "captures": {"件の保存"},
	"capture": {"保存"}, "of": {"/"}, "from": {"最初"}, "until": {"最後"}, "previous": {"前の保存"}, "next": {"次の保存"},
	"unchanged": {"変更なし"}, "unchanged-since": {"次の時点から変更なし:"}, "raw": {"サーバーが送ったまま"}, "all": {"ホスト一覧"},
	"more-that-day": {"件がこの日にあります"},
	"missing":       {"このアーカイブにはありません"}, "missing-why": {"このページは保存されていません。現在のウェブからは何も取得しません。"},
	"missing-failed":    {"取得できませんでした:"},
	"missing-waiting":   {"URL は知られていますが、まだ取得されていません。"},
	"missing-refused":   {"収集の規則により対象外です。"},
	"missing-elsewhere": {"取得されました。保存がまだディスクにないか、このフォルダにないか、保存しない種類のページです。"},
	"missing-unknown":   {"この URL は知られていません。取得したどのページからもリンクされていません。"},
	"missing-content":   {"この保存の内容は別の保存と同じものですが、それがこのアーカイブにありません。"},
	"near":              {"アーカイブ内で最も近いもの"}, "back": {"戻る"}, "host": {"このホストの全ページ"},
	"ok": {"ページ"}, "moved": {"転送"}, "bad": {"エラー"}, "page": {"ページ"},
	"weekdays": {"月", "火", "水", "木", "金", "土", "日"},
	"months":   {"1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"},
}
