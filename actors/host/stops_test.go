package host

import (
	"testing"

	"henro/actors/stoplist"
	"henro/messages"
)

func TestWhatAVisitSaysOfItsFolder(t *testing.T) {
	for _, tt := range []struct {
		status uint32
		reason messages.Reason
		want   stoplist.Outcome
	}{
		{200, 0, stoplist.Good}, {206, 0, stoplist.Good}, {304, 0, stoplist.Good},
		{404, 0, stoplist.Missing}, {410, 0, stoplist.Missing},
		{400, 0, stoplist.Failing}, {500, 0, stoplist.Failing}, {502, 0, stoplist.Failing},
		{301, 0, stoplist.Silent}, {401, 0, stoplist.Silent}, {403, 0, stoplist.Silent}, {429, 0, stoplist.Silent},
		{503, 0, stoplist.Silent},
		{0, messages.Reason_TIMEOUT, stoplist.Slow},
		{0, messages.Reason_CONNECTION_LOST, stoplist.Failing}, {0, messages.Reason_MALFORMED, stoplist.Failing},
		{0, messages.Reason_HEADERS_TOO_LARGE, stoplist.Failing},
		{0, messages.Reason_DNS_NOT_FOUND, stoplist.Silent}, {0, messages.Reason_CONNECT_REFUSED, stoplist.Silent},
		{0, messages.Reason_CONNECT_TIMEOUT, stoplist.Silent}, {0, messages.Reason_TLS_FAILED, stoplist.Silent},
		{0, messages.Reason_ROBOTS_DENIED, stoplist.Silent}, {0, messages.Reason_ADDRESS_FORBIDDEN, stoplist.Silent},
	} {
		if got := StopOutcome(tt.status, tt.reason); got != tt.want {
			t.Errorf("status %d, %v: %v, want %v", tt.status, tt.reason, got, tt.want)
		}
	}
}

func TestWhatAVisitSaysByTheRuleOfTheThesis(t *testing.T) {
	for _, tt := range []struct {
		status uint32
		reason messages.Reason
		want   stoplist.Outcome
	}{
		{200, 0, stoplist.Good}, {304, 0, stoplist.Good}, {404, 0, stoplist.Missing}, {301, 0, stoplist.Moved},
		{307, 0, stoplist.Moved}, {0, messages.Reason_TIMEOUT, stoplist.Slow},
		{0, messages.Reason_CONNECT_TIMEOUT, stoplist.Slow}, {0, messages.Reason_CONNECT_REFUSED, stoplist.Silent},
	} {
		if got := thesisOutcome(tt.status, tt.reason); got != tt.want {
			t.Errorf("status %d, %v: %v, want %v", tt.status, tt.reason, got, tt.want)
		}
	}
}
