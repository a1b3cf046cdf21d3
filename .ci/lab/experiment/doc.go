// Experiment repeats the experiments of the master's thesis of 2002 that henro's master and slaves descend from:
//
//	go run ./.ci/lab/experiment -dir /dev/shm/thesis     eleven minutes; leaves report.md, runs.csv and the figures
//
// There, a master handed task URLs with a link depth to 2, 5 or 10 slave PCs, each of which fetched one page after
// another from the Japanese web of the day: 6.9 s a page in the mean. Here the web is made up (fakeweb.ThesisOptions),
// and time runs Scale times as fast: a page takes 6.9 s / Scale, and 30 minutes of the thesis are 30 minutes / Scale.
// Everything else is the real thing: masters and slaves that find each other by gossip and speak over TCP, pages over
// HTTP, archives and state on disk. Tasks and stop list are those of the thesis (--frontier thesis, --stop-after 1). A
// slave has one connection, as it had then, and there is no politeness interval, which the thesis did not have either.
//
// Each lease is synced to the disk before it is handed out, so that many runs at a time wait for one disk: -dir is best
// in memory. The report says how the time of the slaves was spent, and how busy the processors were: where slaves are
// between two requests for more than some hundredths of the time, the machine is measured; take a lower -scale then.
//
// With -whole, tasks that are lent whole (--frontier thesis-whole) stand beside tasks that slaves share, and nothing
// else is measured.
//
// What was counted is what the thesis counted: pages parsed, links collected, and pages that belong on the stop list;
// and, from the access log of the web, how many pages were fetched twice, which the thesis names as the reason for its
// slaves' getting slower the more of them there were.
package main
