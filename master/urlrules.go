package master

import (
	"context"

	"henro/actors/host"
	"henro/actors/protocol"
	"henro/actors/urlrules"
)

// URLRulePosted is the body of POST /api/url-rules.
type URLRulePosted struct {
	Host string `json:"host"` // scheme://name[:port], or a name
	Rule string `json:"rule"` // as GET /api/url-rules names it
	Word string `json:"word"` // apply, forget, or learn: the pages decide
}

// OrderURLRule says whether a URL rule of a host holds, whatever the pages show. It returns the order once it is on
// disk.
func (n *Node) OrderURLRule(ctx context.Context, posted *URLRulePosted) (*URLRulePosted, error) {
	rule, err := urlrules.ParseRule(posted.Rule)
	if err != nil {
		return nil, wrong("rule %w", err)
	}
	word := urlrules.Word(posted.Word)
	switch {
	case word == "learn":
		word = ""
	case word != urlrules.Apply && word != urlrules.Forget:
		return nil, wrong("%q: want apply, forget or learn", posted.Word)
	}
	if n.Options().Hosts.URLRules == host.NoURLRules {
		return nil, wrong("this crawl has no URL rules: it runs with --url-rules off")
	}
	found, err := n.Reading().Host(posted.Host)
	if err != nil {
		return nil, err
	}
	posted.Host = found.Name
	answer, err := Ask[*protocol.OrderDone](ctx, n, &protocol.Ordered{Host: found.Name,
		Order: &protocol.SetURLRule{Rule: rule, Word: word}})
	if err == nil && answer.Err != nil {
		err = misuse{answer.Err}
	}
	return posted, err
}
