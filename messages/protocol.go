package messages

// Protocol is the number of the conversation that this package holds: nodes show it in the gossip, and two speak with
// each other when theirs differ by one at most, so that a cluster is renewed node by node. It grows by one when a
// message or a field of an older version can no longer be understood; a new field that may be missing does not change
// it. What was there before numbers is 1.
const Protocol = 1
