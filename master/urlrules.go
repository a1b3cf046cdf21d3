package master

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"henro/actors/console"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/actors/urlrules"
	"henro/store"
)

// URLRulePosted is the body of POST /api/url-rules.
type URLRulePosted struct {
	Host string `json:"host"` // scheme://name[:port], or a name
	Rule string `json:"rule"` // as GET /api/url-rules names it
	Word string `json:"word"` // apply, forget, or learn: the pages decide
}

// OrderURLRule says of a URL rule of a host whether it holds, whatever its pages show.
func (n *Node) OrderURLRule(ctx context.Context, posted URLRulePosted) (URLRulePosted, error) {
	rule, err := urlrules.ParseRule(posted.Rule)
	if err != nil {
		return posted, fmt.Errorf("rule %w", err)
	}
	word := urlrules.Word(posted.Word)
	switch {
	case word == "learn":
		word = ""
	case word != urlrules.Apply && word != urlrules.Forget:
		return posted, fmt.Errorf("%q: want apply, forget or learn", posted.Word)
	}
	if n.Options().Hosts.URLRules == host.NoURLRules {
		return posted, errors.New("this crawl has no URL rules: it runs with --url-rules off")
	}
	found, err := n.Reading().Host(posted.Host)
	if err != nil {
		return posted, err
	}
	posted.Host = found.Name
	answer, err := Ask[*protocol.OrderDone](ctx, n, &protocol.Ordered{Host: found.Name,
		Order: &protocol.SetURLRule{Rule: rule, Word: word}})
	if err == nil {
		err = answer.Err
	}
	return posted, err
}

// postURLRule answers with the URLRulePosted, once it is on disk.
func (n *Node) postURLRule(w http.ResponseWriter, r *http.Request) {
	var posted URLRulePosted
	if !read(w, r, "the rule", &posted) {
		return
	}
	done, err := n.OrderURLRule(r.Context(), posted)
	switch {
	case errors.Is(err, store.ErrNotFound):
		console.Fail(w, http.StatusNotFound, err)
	case err != nil:
		console.Fail(w, http.StatusBadRequest, err)
	default:
		reply(w, done, nil)
	}
}
