package weburl

import (
	"strings"
)

// trackers are names of parameters that say where a visitor came from and never what the page is.
var trackers = map[string]bool{
	"gclid": true, "gclsrc": true, "gbraid": true, "wbraid": true, "dclid": true, "fbclid": true, "msclkid": true,
	"yclid":  true,
	"twclid": true, "ttclid": true, "igshid": true, "mc_cid": true, "mc_eid": true, "_ga": true, "_gl": true,
	"_hsenc": true,
	"_hsmi":  true, "mkt_tok": true, "oly_anon_id": true, "oly_enc_id": true, "vero_id": true, "wickedid": true,
	"s_cid":                true,
	"__twitter_impression": true, "_openstat": true, "gs_l": true, "srsltid": true,
}

var sessions = map[string]bool{"jsessionid": true, "phpsessid": true, "cfid": true, "cftoken": true,
	"aspsessionid": true}

// WithoutSession returns the URL without session identifiers: ;jsessionid=…, PHPSESSID, ASPSESSIONID…, CFID with
// CFTOKEN, /(S(…))/ of ASP.NET, a long sid. What it returns has none.
func (u URL) WithoutSession() URL {
	if u.s == "" {
		return u
	}
	path, query := u.Path(), u.Query()
	if strings.ContainsAny(path, ";(") {
		path = dropPathSession(path)
	}
	kept := make([]string, 0, 8)
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if !isSession(strings.ToLower(name), value) {
			kept = append(kept, parameter)
		}
	}
	query = strings.Join(kept, "&")
	if path == u.Path() && query == u.Query() {
		return u
	}
	if query != "" {
		path += "?" + query
	}
	bare, err := Parse(u.Host() + path)
	if err != nil { // dropping makes nothing longer
		return u
	}
	return bare
}

// isSession reports whether a parameter, its name in lower case, is a session identifier.
func isSession(name, value string) bool {
	return sessions[name] || strings.HasPrefix(name, "aspsessionid") || isToken(value) &&
		(name == "sid" || name == "sessionid" || name == "session_id" || name == "sessid" || name == "zenid" ||
			name == "oscsid")
}

// isToken reports whether a value looks made up by a machine: 16 or more letters, digits, hyphens and underscores.
func isToken(value string) bool {
	if len(value) < 16 {
		return false
	}
	for i := 0; i < len(value); i++ {
		if c := value[i]; class[c]&unreserved == 0 || c == '.' || c == '~' {
			return false
		}
	}
	return true
}

// dropPathSession removes ";jsessionid=…" up to the end of its segment, and segments "(S(…))" of ASP.NET.
func dropPathSession(path string) string {
	for {
		i := strings.Index(strings.ToLower(path), ";jsessionid=")
		if i < 0 {
			break
		}
		end := i + 1
		for end < len(path) && path[end] != '/' && path[end] != ';' {
			end++
		}
		path = path[:i] + path[end:]
	}
	if !strings.Contains(path, "/(") {
		return path
	}
	segments := strings.Split(path, "/")
	kept := segments[:0]
	for _, segment := range segments {
		if !isASPSession(segment) {
			kept = append(kept, segment)
		}
	}
	if len(kept) == 1 {
		return "/"
	}
	return strings.Join(kept, "/")
}

// isASPSession recognizes "(token)", "(S(token))" and "(A(token)S(token)F(token))", tokens being 24 letters and digits.
func isASPSession(segment string) bool {
	if len(segment) < 26 || segment[0] != '(' || segment[len(segment)-1] != ')' {
		return false
	}
	inner := segment[1 : len(segment)-1]
	if len(inner) == 24 {
		return isToken(inner)
	}
	for inner != "" {
		if len(inner) < 27 || inner[1] != '(' || inner[26] != ')' || !isToken(inner[2:26]) {
			return false
		}
		inner = inner[27:]
	}
	return true
}

// Tracks reports whether the name of a parameter says that it tells visitors apart and not pages: a session id, or what
// campaigns add.
func Tracks(name string) bool {
	name = strings.ToLower(strings.TrimPrefix(name, ";"))
	return isSession(name, "0123456789abcdef") || trackers[name] || strings.HasPrefix(name, "utm_") ||
		strings.HasPrefix(name, "hsa_")
}
