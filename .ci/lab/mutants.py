#!/usr/bin/env python3
"""Changes Host, Partition and Master in one place at a time, and names the test that fails.

    .ci/lab/mutants.py           all mutants; some minutes on two cores
    .ci/lab/mutants.py lease     those whose description has this word

A mutant is a file, the text in it, what takes its place, and what that breaks. Each is tested by
`go test ./actors/... ./master/... ./slave/...` alone, its own package first: whole crawls (cmd/henro) do not count.
The tree stays as it is: the compiler reads the changed file from elsewhere (go test -overlay).
Exit code 1: a mutant survived, or its text is not in the tree any more.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

MUTANTS = [
    ("actors/host/lend.go", "\tb.clock.polite.Allow(b.loan.lend.order.NotBefore)\n", "",
     "a host does not wait for others that share its clock"),
    ("actors/host/facts.go", "if fact.Seq != l.processed+1 {", "if fact.Seq <= l.processed {",
     "a fact is taken though the one before it is missing"),
    ("actors/host/loan.go", "\tl.announceAgain() // a Master", "\t// a Master",
     "a host is not announced to a Master that does not know that its lease is over"),
    ("actors/host/loan.go", "\tif !prepared.void {\n", "\tif true {\n",
     "a lease that ended while it was prepared is sent"),
    ("actors/host/robots.go", "\tr.failures = 0\n", "",
     "a robots.txt that is there again is still counted as failing"),
    ("actors/hosts/hosts.go", "\t\ta.stash = append(a.stash, message)\n", "",
     "what comes for a host that goes to rest is lost"),
    ("actors/groupcommit/groupcommit.go", "\tif g.Storing == nil {\n", "\tif true {\n",
     "a batch that failed is not tried again"),
    ("actors/partition/answers.go", "\t\tanswer.Lease = &lease\n", "\t\t_ = lease\n",
     "a Host that starts again does not get its lease"),
    ("actors/partition/partition.go", "\t\t\t\tdelete(p.open, m.Host.ID)\n", "", "a lease that ended stays open"),
    ("master/lending/lending.go", "if m.Boot < known.Boot &&", "if false && m.Boot < known.Boot &&",
     "an older boot is taken in while the newer is there"),
    ("master/lending/lending.go", "\t\td.early[m.Slave] = &early{from, m}\n", "",
     "a slave that registers before all leases are read is not answered"),
    ("slave/slave.go", "+turnover*len(s.ended)/askedKept", "",
     "no hosts are wanted in place of those whose leases end"),
    ("slave/slave.go", "+use.resting", "", "a host that rests takes the place of one that is asked"),
    ("slave/gate.go", "if g.free > 0 {", "if true {", "more requests are under way than there are connections"),
    ("slave/fetcher.go", "\t\tf.settings.client.Rests(f.task.Host, rest)\n\t\tf.leave(rests)\n",
     "\t\tf.settings.client.Rests(f.task.Host, rest)\n", "a host that rests is not counted"),
    ("slave/gate.go", "\t\tnext.called()\n", "", "a lease that waits for a connection is not called"),
    ("actors/politeness/politeness.go", "passedOver := s.next > 0 &&", "passedOver := s.next < 0 &&",
     "a host that is passed over keeps its timetable"),
    ("actors/politeness/options.go", "r := max(o.LeastRatio, 1) + 1", "r := max(o.LeastRatio, 1)",
     "S/C counts from the end of a request"),
    ("master/admit.go", "full := p.occupied+p.added >= float64(c)", "full := false && c > 0", "hosts are added until Σe exceeds C·τ"),
    ("master/admit.go", "!full && p.lost == 0", "!full", "hosts are added though others lose their timetable"),
    ("actors/politeness/politeness.go", "\tif asked <= bears {\n", "\tif true {\n",
     "a host that does not bear its timetable gives known pages half of its visits"),
    ("actors/host/queue.go", "turn = math.Mod(turn, 1) + part {", "turn = math.Mod(0, 1) {",
     "known pages get no turn while new ones wait"),
    ("master/lending/way.go", "\t\tname = t.slave\n", "",
     "a task that is lent whole is shared"),
    ("master/lending/way.go", "\t\t\td.tasks.reach(lease.Host, told)\n", "",
     "hosts that a task reaches go to any slave"),
    ("slave/walls/walls.go", "const wall = 3\n", "const wall = 4\n",
     "a wall takes a sign more"),
]

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def kill(file, old, new):
    """Returns the first test that fails with the change; "": none does."""
    path = os.path.join(ROOT, file)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"{file}: {old!r} is there {text.count(old)} times, want once")
    with tempfile.TemporaryDirectory() as scratch:
        changed, overlay = os.path.join(scratch, "changed.go"), os.path.join(scratch, "overlay.json")
        with open(changed, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        with open(overlay, "w", encoding="utf-8") as f:
            json.dump({"Replace": {path: changed}}, f)
        own = "./" + os.path.dirname(file)
        for packages in [own], ["./actors/...", "./master/...", "./slave/..."]:
            run = subprocess.run(["go", "test", "-failfast", "-overlay", overlay, *packages], cwd=ROOT,
                                 capture_output=True, text=True, check=False)
            if run.returncode == 0:
                continue
            # A test that ends by a panic is named in the trace of its goroutine.
            test = re.search(r"--- FAIL: (\S+)", run.stdout) or re.search(r"\.(Test\w+)\(", run.stdout)
            if not test or "[build failed]" in run.stdout:
                sys.exit(f"{file}: no test has failed:\n{run.stdout}{run.stderr}")
            return test[1]
    return ""


def main():
    survived = 0
    for file, old, new, breaks in MUTANTS:
        if len(sys.argv) > 1 and sys.argv[1] not in breaks:
            continue
        test = kill(file, old, new)
        survived += not test
        print(f"{'killed by ' + test if test else 'SURVIVED'}: {breaks} ({file})", flush=True)
    sys.exit(survived > 0)


if __name__ == "__main__":
    main()
