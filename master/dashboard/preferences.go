package dashboard

import (
	"net/http"
	"net/url"
	"strings"
)

// What a reader prefers is kept by the browser.
const (
	languageCookie = "henro-lang"
	themeCookie    = "henro-theme"
)

// themeOf is the theme that a reader chose; empty: as the system has it.
func themeOf(r *http.Request) string {
	cookie, err := r.Cookie(themeCookie)
	if err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}

// prefer keeps a choice and goes back: ?lang=ja, ?theme=dark, &back=/hosts.
func (d *Dashboard) prefer(w http.ResponseWriter, r *http.Request) {
	for field, cookie := range map[string]struct {
		name   string
		values []string
	}{"lang": {languageCookie, []string{"en", "ja"}}, "theme": {themeCookie, []string{"auto", "light", "dark"}}} {
		for _, value := range cookie.values {
			if r.URL.Query().Get(field) == value {
				http.SetCookie(w, &http.Cookie{Name: cookie.name, Value: value, Path: "/", MaxAge: 365 * 86400,
					HttpOnly: true, SameSite: http.SameSiteLaxMode})
			}
		}
	}
	http.Redirect(w, r, local(r.URL.Query().Get("back")), http.StatusSeeOther)
}

// local is a path of this dashboard, whatever is asked for: a link to here leads nowhere else.
func local(back string) string {
	u, err := url.Parse(back)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") ||
		strings.ContainsAny(back, "\\\r\n\t") {
		return "/"
	}
	return back
}

// said is where to go back to after something was done, with a parameter that says what.
func said(back, word string) string {
	u, err := url.Parse(local(back))
	if err != nil {
		return "/"
	}
	query := u.Query()
	query.Set("said", word)
	u.RawQuery = query.Encode()
	return u.RequestURI()
}
