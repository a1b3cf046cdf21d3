// Package crowdsim lets several masters lead a crowd of slaves, in virtual time and in one process.
//
//	go test ./.ci/lab/simulate/crowdsim -run TestACrowd -v -masters 1,3,5,9 -slaves 1000
//
// The masters are the real ones: Master, Hosts, Host, Revisit and Partitions of the one that leads, and its group of
// store/consensus with those that follow, over connections of memory on which each message takes as long as a network
// and a disk do. The slaves speak the real protocol, as package slave does when nothing is lost: they register, ask for
// work each second, report what 100 ms of visits brought, and keep leases until their end is stored. What they fetch is
// a model: hosts that all answer after 200 ms, with pages of 20 links.
//
// Messages and bytes are counted. Processor time is sampled and told apart by whose goroutine it was: that of messages
// to and from slaves is there (they are encoded, and decoded by the master), that of TCP and TLS is not.
package crowdsim
