package walls

import (
	"strings"
	"testing"
)

// Of a page of which no vendor's words are known its shape says what it is, and hints in any language of which kind.
// Each of these is none when one of its signs is taken away.
func TestAWallIsKnownByItsShape(t *testing.T) {
	const guard = "<title>Guard</title><p>Your visit looks like an attack.</p>"
	const reloads = "<script>document.cookie='a=1';location.reload()</script>"
	choice := "<p>Cookies of partners, personalised.</p>"
	more := "<p>Accept, or subscribe; your privacy counts.</p>" + strings.Repeat("<p>One sentence more of it.</p>", 28)
	const site = "<a href=/a>a</a><a href=/b>b</a>"
	here := at("https://auth.example.org/start?next=%2Fa%2Fstory.html")
	tests := []struct {
		name string
		page *Page
		want Kind
	}{
		{"a status, two ideas, few words", page("<p>The firewall has blocked it.</p>", status(403)), Challenge},
		{"a status and one idea", page("<title>403 Forbidden</title><h1>403 Forbidden</h1>", status(403)), None},
		{"two ideas and nothing else", page("<p>The firewall has blocked it.</p>"), Challenge},
		{"two ideas and something else",
			page("<p>The firewall has blocked it. " + strings.Repeat("It did. ", 10)), None},
		{"an application that wants scripts", page("<noscript>Your browser has no JavaScript, or blocked it." +
			"</noscript><div id=root></div><script src=/x></script>"), None},
		{"to be paid for", page("<h1>402</h1>", status(402)), LogIn},
		{"three ideas and nothing else", page("<p>The firewall has blocked robots.</p>"), Challenge},
		{"three ideas and the way to the site", page("<p>The firewall has blocked robots.</p><a href=/b>b</a>"), None},
		{"three ideas and a way that walls have too",
			page("<p>The firewall has blocked robots.</p><a href=/help>Help</a>"), Challenge},
		{"three ideas in many words", page("<p>The firewall has blocked robots.</p><p>" +
			strings.Repeat("It did so on Monday. ", 25)), None},
		{"who asked", page(guard+"<p>Your IP: 192.0.2.7</p>", status(403)), Challenge},
		{"a form, two ideas",
			page("<form><p>Room number <input name=r> Voucher code <input name=v> Wi-Fi</form>"), LogIn},
		{"Korean", page("<title>안내</title><p>도메인 소유자는 호스팅 설정을 확인해 주세요.</p>"), Parked},
		{"Russian", page("<p>Домен не продлён, владелец может продлить хостинг.</p>"), Parked},
		{"a script that sets a cookie and comes again", page(reloads), Challenge},
		{"a script that goes elsewhere", page("<script>location.replace('/b')</script>"), None},
		{"scripts alone, refused", page("<script src=/x></script>", status(403)), Challenge},
		{"scripts alone: an application", page("<div id=root></div><script src=/x></script>"), None},
		{"a status without a meaning", page("<script src=/x></script>", status(247)), Challenge},
		{"a name is to be given", page("<h1>401</h1>", status(401)), LogIn},
		{"too much asked", page("<h1>429</h1>", status(429)), RateLimit},
		{"a page for logging in that leads back", page("<div id=app></div>", here, redirected), LogIn},
		{"it was asked for", page("<div id=app></div>", here), None},
		{"what is not there", page("<p>The firewall has blocked robots.</p>", status(404)), None},
		{"a long question for consent", page(choice + more), Consent},
		{"it is laid out as content", page(choice + more + "<ol><li>One"), None},
		{"it speaks of it and leads to its site", page(choice + more + site), None},
		{"a page with such a title that leads to its site",
			page("<title>Cookie consent</title>" + choice + more + site), None},
		{"fewer ideas in as many words", page(strings.ReplaceAll(choice, "partners", "friends") +
			strings.ReplaceAll(more, "privacy", "coffee")), None},
		{"a page about cookies that was asked for", page(choice+more, at("https://example.org/cookies")), None},
		{"led to a page for consent", page("<p>Cookies of partners.</p>"+site,
			at("https://consent.example.org/x"), redirected), Consent},
		{"led to a page for logging in that says so", page("<p>Please log in.</p>",
			at("https://example.org/login"), redirected), LogIn},
		{"a cookie is set and the page comes again, refused", page("<p>Ein Satz.</p>"+reloads, status(403)), Challenge},
		{"a cookie is set and the page comes again", page("<p>Ein Satz.</p>" + reloads), None},
		{"led to a page for logging in that is bare", page("<p>Welcome.</p>"+site,
			at("https://example.org/login"), redirected), LogIn},
		{"led to a long one that says so", page("<p>Please log in.</p>"+strings.Repeat("<p>We met on Monday.</p>", 60),
			at("https://example.org/login"), redirected), LogIn},
		{"led to a long one that does not", page(strings.Repeat("<p>We met on Monday.</p>", 60),
			at("https://example.org/login"), redirected), None},
		{"a question about a challenge", page("<title>Just a moment...</title><p>Checking your browser, it says.</p>" +
			site), None},
		{"the challenge", page("<title>Just a moment...</title><p>Checking your browser, it says.</p>"), Challenge},
		{"a thread, to be answered by members", page("<h1>Oak</h1><form><input type=password></form>" +
			"<p>You must be logged in to reply.</p>" + site), None},
		{"what members read", page("<form><input type=password></form><p>You must be logged in.</p>"), LogIn},
		{"frames that prove something", page("<script src=/x></script><iframe src=/y></iframe>",
			status(428)), Challenge},
		{"accepted, and nothing said", page("<meta http-equiv=refresh content='1;/x'>",
			status(202)), Challenge},
		{"denied to who is not logged in", page("<title>Login required</title><p>Please log in to view it.</p>"+site,
			status(403)), LogIn},
		{"denied to all", page("<title>Members</title><p>Please log in to view it.</p>"+site, status(403)), None},
		{"about domains that are sold", page("<title>Domain kaufen</title><p>Diese Domain steht zum Verkauf: so " +
			"liest, wer eine der kurzen sucht, die fast alle vergeben sind. Der Preis ist selten das letzte Wort, " +
			"und wer wartet, zahlt oft weniger.</p>"), None},
		{"the domain is sold", page("<p>Diese Domain steht zum Verkauf. Wer sie will, fragt bei uns an, und wir "+
			"nennen einen Preis, der für example.org angemessen ist; er ist selten das letzte Wort. Domain kaufen</p>",
			at("https://example.org/")), Parked},
		{"a form beside what the page is for", page("<h1>Regatta</h1><form><input type=password></form>" +
			site), None},
		{"a form and a way to one page", page("<h1>Regatta</h1><form><input type=password></form><a href=/a>a</a>"),
			LogIn},
		{"what a wall says, quoted", page("<p>Two words, then “this firewall has blocked robots, it says”: so it " +
			"began."), None},
		{"what a wall says", page("<p>Two words, then this firewall has blocked robots, it says: so it began."),
			Challenge},
		{"a short quotation names a button", page("<p>The firewall has “blocked robots”, press “on”."), Challenge},
		{"a quotation without an end", page("<p>The “firewall has blocked robots, all of them here."), Challenge},
		{"two quotations", page("<p>“This firewall has blocked us”, “all robots are like that here”."), None},
		{"a long quotation is a text", page("<p>“This firewall has blocked robots, it says”. “This firewall has " +
			"blocked us" + strings.Repeat(", as bots", 26) + "”, please."), Challenge},
		{"a question that quotes a challenge",
			page("<title>Just a moment</title><p>“Enable JavaScript and cookies to " +
				"continue”. " + strings.Repeat("What does it want of me? ", 30)), None},
		{"a thread for members, in order", page("<form><input type=password></form><p>You must be logged in.<ol><li>" +
			strings.Repeat("Ask the harbour. ", 9)), LogIn},
		{"a list of two ideas", page("<p>The firewall has blocked it.</p><ol><li>x</ol>"), None},
		{"a list of three", page("<p>The firewall has blocked robots.</p><ol><li>x</ol>"), Challenge},
		{"about what was asked for", page("<title>Cookie consent</title><p>We use cookies. Accept all.",
			at("https://example.org/cookies")), None},
		{"who leads to it asks", page("<title>Cookie consent</title><p>We use cookies. Accept all.",
			at("https://example.org/cookies"), redirected), Consent},
		{"a form that was asked for", page("<form><p>Prove that no robot, but a human, is writing.</form>",
			at("https://example.org/contact")), None},
		{"a status of one that is overloaded", page("<p>Overhaul.", status(503)), None},
		{"the same with a word of why", page("<p>Overhaul of the firewall.", status(503)), Challenge},
		{"broken by a status", page("<p>Overhaul.", status(500)), None},
		{"a captcha and a button", page("<form><div class=g-recaptcha></div><button>Go</button></form>"), Captcha},
		{"a captcha and a button, of a form that was asked for", page("<form><textarea></textarea><div class="+
			"g-recaptcha></div><button>Go</button></form>", at("https://example.org/contact")), None},
		{"nothing is found", page("<p>Zu Ihrer Anfrage wurde nichts gefunden. Versuchen Sie andere Wörter."), None},
		{"it asks for patience", page("<p>Zu Ihrer Anfrage wurde nichts geladen. Versuchen Sie es wieder."), RateLimit},
		{"a captcha and words",
			page("<form><div class=g-recaptcha></div><button>Send a letter now</button></form>"), None},
		{"the start of the site by its name",
			page("<p>The firewall has blocked robots.</p><a href=/index.php>Start</a>"), Challenge},
		{"words inside of others", page("<p>Snow in December may prevent it."), None},
		{"the words", page("<p>Ember, robot."), Challenge},
		{"the words, one in the title", page("<title>Ember</title><p>Robot."), Challenge},
		{"a form below its name", page("<title>Signin</title>" + form + site), LogIn},
		{"a form below another", page("<title>Assigning</title>" + form + site), None},
		{"the second of some scripts", page("<title>Second</title><p>Scripts", redirected,
			at("https://example.org/queue/scripts?of=/a")), None},
		{"what is broken",
			page("<p>Error: contact the administrator, request id 1234567890abcdef</p>", status(500)), None},
	}
	for _, tt := range tests {
		if got := Look(tt.page); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What counts beside ideas, and what tells content that has as many: each is the other when the sign is taken away.
func TestASignMakesUpForAnIdea(t *testing.T) {
	const said = "<p>The firewall has blocked robots. "
	rest := strings.Repeat("It did so once more. ", 6)
	const sets = "<script>document.cookie='a=1'</script>"
	const reloads = "<script>document.cookie='a=1';location.reload()</script>"
	const password = "<form onsubmit='return false'><input type=password></form>"
	tests := []struct {
		name string
		page *Page
		want Kind
	}{
		{"for who has no scripts", page("<noscript>Enable JavaScript.</noscript>" + reloads), Challenge},
		{"neither a title nor a text", page(sets), Challenge},
		{"a title", page("<title>Metronome</title>" + sets), None},
		{"a status that has no name", page("<p>The firewall.", status(999)), Challenge},
		{"one that has a name", page("<p>The firewall.", status(409)), None},
		{"a status for countries", page("<p>For legal reasons.", status(451)), Consent},
		{"an address that says so", page("<p>The firewall.", redirected, at("https://example.org/blocked")), Challenge},
		{"one that was asked for", page("<p>The firewall.", at("https://example.org/blocked")), None},
		{"a vendor's field", page("<p>It is forbidden.", status(403), field("Server", "ddos-guard")), Challenge},
		{"another field", page("<p>It is forbidden.", status(403), field("Server", "nginx")), None},
		{"a title that says so", page("<title>Access denied</title><p>The firewall has done it. " + rest), Challenge},
		{"one that says nothing", page("<title>A forbidden door</title><p>The firewall has done it. " + rest), None},
		{"five ideas, said to nobody", page("<p>The firewall of the network has blocked robots: attacks, browser, " +
			"administrator. " + rest), Challenge},
		{"a vendor's address", page("<p>Hello.", redirected, at("https://example.org/a?x5secdata=1")), Challenge},
		{"that was asked for", page("<p>Hello.", at("https://example.org/a?x5secdata=1")), None},
		{"a way to register", page(said + "</p><a href='/m.php?mod=register'>New here</a>"), Challenge},
		{"another way", page(said + "</p><a href='/m.php?mod=show'>New here</a>"), None},
		{"the domain is gone", page("<p>A domain, its owner, its renewal."), Parked},
		{"its owner leads to the start", page("<p>A domain, its owner, its renewal.</p><a href=/>All posts</a>"), None},
		{"scripts make it, and it says what for", page("<noscript>" + said + "</noscript><script>fetch('/a')</script>"),
			Challenge},
		{"it goes on", page("<p>It is forbidden.<script>location.replace('/b')", status(403)), Challenge},
		{"it speaks to its reader", page(said + rest + "Contact your provider."), Challenge},
		{"it does not", page(said + rest + "Contact a provider."), None},
		{"it is laid out", page(said + rest + "Contact your provider.<ol><li>x</ol>"), None},
		{"the way to the start of the site", page(said + "</p><a href=/>Home</a>"), Challenge},
		{"it was asked for", page(said, at("https://example.org/contact.html")), None},
		{"a phrase around it", page("<p>The firewall has blocked it. " + rest + "Protected by us, it is your way."),
			Challenge},
		{"a form that stays here", page("<p>A tool." + password), None},
		{"a form that stays here, and asks for a member", page("<p>Members: password." + password), LogIn},
	}
	for _, tt := range tests {
		if got := Look(tt.page); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A letter of two bytes is one letter, of three two: text in no alphabet counts as longer than its letters.
func TestLettersAreCounted(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abcdef": 6, "абв": 3, "日本語": 6, "日本語ab語абв?": 14} {
		if got := letters([]byte(text), max(4, len(text)/2)); got != want {
			t.Errorf("%q has %d letters, want %d", text, got, want)
		}
	}
}
