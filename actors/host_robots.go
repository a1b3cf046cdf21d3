package actors

import (
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/robots"
	"henro/messages"
	"henro/messages/weburl"
)

// A robots.txt that redirects to another host is asked for there, in that host's own time (RFC 9309 2.3.1.2): the Host
// sends its question to the other Host, which answers from what it knows, or once it has asked. A chain of such
// redirects is a chain of questions, ended after maxRobotsChain.
type (
	robotsAsked struct {
		asker string
		hops  int
	}
	robotsTold struct {
		rules  *robots.Rules
		bytes  []byte
		reason messages.Reason
	}
	robotsLate struct{} // no answer came
)

const maxRobotsChain = 5

// robotsAgain is how long an answer is awaited until the question is sent again: the Host that was asked may have
// failed over it.
const robotsAgain = time.Minute

// hearOfRobots takes what other hosts ask and tell, in any state.
func (h *Host) hearOfRobots(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *robotsAsked:
		h.answerRobots(ctx, m)
	case *robotsTold:
		h.hearRobots(ctx, m)
	case *robotsLate:
		if h.waitsForRobots() {
			h.sendRobotsAsked(ctx)
		}
	}
}

// askRobots asks the host that robots.txt redirects to. A file of another name is no host's rules: it counts as
// unavailable.
func (h *Host) askRobots(ctx actor.Context, location string) {
	to, err := weburl.Parse(location)
	if err != nil || to.RequestURI() != "/robots.txt" || h.askedHops >= maxRobotsChain || h.waitsForRobots() {
		h.allowAll(ctx)
		return
	}
	h.robotsAt = to.Host()
	h.sendRobotsAsked(ctx)
}

func (h *Host) sendRobotsAsked(ctx actor.Context) {
	ctx.Send(ctx.Parent(), &ToHost{Host: h.robotsAt, Message: &robotsAsked{asker: h.name, hops: h.askedHops + 1}})
	h.timer.After(ctx, robotsAgain, &robotsLate{})
}

func (h *Host) waitsForRobots() bool { return h.robotsAt != "" }

func (h *Host) allowAll(ctx actor.Context) {
	rules := robots.AllowAll()
	bytes, err := rules.MarshalBinary()
	if err != nil {
		panic(err)
	}
	h.settleRobots(ctx, rules, bytes, messages.Reason_NONE)
}

// answerRobots tells another host the rules here, at once or when they are known.
func (h *Host) answerRobots(ctx actor.Context, m *robotsAsked) {
	if h.robots != nil {
		ctx.Send(ctx.Parent(), &ToHost{Host: m.asker, Message: &robotsTold{rules: h.robots, bytes: h.record.Robots}})
		return
	}
	if strings.EqualFold(m.asker, h.robotsAt) { // a circle
		h.allowAll(ctx)
		return
	}
	if !slices.Contains(h.askers, m.asker) {
		h.askers = append(h.askers, m.asker)
	}
	h.askedHops = max(h.askedHops, m.hops)
	h.wanted = true
}

// answerAskers tells the hosts that wait for the rules here what was found.
func (h *Host) answerAskers(ctx actor.Context, rules *robots.Rules, bytes []byte, reason messages.Reason) {
	for _, asker := range h.askers {
		ctx.Send(ctx.Parent(), &ToHost{Host: asker, Message: &robotsTold{rules: rules, bytes: bytes, reason: reason}})
	}
	h.askers, h.wanted = nil, false
}

// hearRobots takes the rules of the host that robots.txt redirected to.
func (h *Host) hearRobots(ctx actor.Context, m *robotsTold) {
	if !h.waitsForRobots() {
		return
	}
	h.robotsAt = ""
	h.settleRobots(ctx, m.rules, m.bytes, m.reason)
}
