#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""production.py DATA: what `rankwatch report` says of three production jobs that ByteDance published (timeline.py says
which; DATA is the directory `data` of their repository, fetched by whoever runs this), as they were traced, and played
again with one worker slowed down: each stage in turn, by 1.15 to 2 times. Each 8 GPUs are on a host of their own, whose
clock is hours ahead of that of the one before. Prints the table of docs/accuracy.md; fails if a healthy worker is
named, if the job's own slow worker is not, if a share is off by more than 3 points, or if less than two of three slowed
workers are named that cost what counts or more. Behind DATA: names of those to play (AR, SE, ST). production.py
published: the same, of the directory in RANKWATCH_TIMELINES. production.py: two small jobs that are made up here
instead, so that the way is tried where nothing was fetched. TEST_RANKWATCH: the command."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TIMELINE = pathlib.Path(__file__).with_name("timeline.py")
RANKWATCH = os.environ.get("TEST_RANKWATCH", "rankwatch")
COUNTS = 0.05  # of the time, as docs/analysis.md has it with the tolerance: from here on a slow worker should be named
SHARE_OFF = 0.03
HOST_GPUS = 8
# of a few replicas whose work differs one that is healthy is often the longest, too: the share is what it may cost
DIFFERS_ABOVE = 0.08
FACTORS = (1.15, 1.3, 1.5, 2)
# Their own slow worker, and by what its computations are brought to what its replicas take.
OWN = {"AR": (0, 0.42), "SE": None, "ST": None}
TIMES = {"AR": 3, "SE": 4, "ST": 4}  # what was sampled of a job is played so often
PUBLISHED = {"AR": 1 - 23.485 / 46.336}  # result-AR.json: the step as it was, and with all workers alike


def boxes_of(timeline, *options):
    """A directory of boxes, and what timeline.py says of it."""
    directory = tempfile.TemporaryDirectory(prefix="rankwatch-test.", dir="/dev/shm" if os.path.isdir("/dev/shm")
                                            else None)
    made = subprocess.run([sys.executable, TIMELINE, timeline, directory.name, "--host-gpus", str(HOST_GPUS), *options],
                          check=True, capture_output=True, text=True)
    return directory, json.loads(made.stdout)


def findings_of(directory):
    report = subprocess.run([RANKWATCH, "report", "--json", "--all", directory], capture_output=True, text=True)
    lines = [json.loads(line) for line in report.stdout.splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("kind") and line["severity"] != "notice"]


def play(timeline, *options):
    """(of the job, {rank: share of the time that it was last said to cost}, what else was said)."""
    directory, job = boxes_of(timeline, *options)
    with directory:
        findings = findings_of(directory.name)
    named = {rank: (finding["late"] or {}).get("lost_share") for finding in findings
             if finding["confidence"] != "inconclusive"
             for rank in finding["ranks"] if finding["kind"] == "straggler"}
    others = [finding["text"] for finding in findings if finding["kind"] != "straggler"]
    return job, named, others


class Table:
    def __init__(self):
        self.failures = self.counted = self.found = 0

    def row(self, name, slowed, costs, named, others, above=SHARE_OFF):
        wrong = set(named) - set(slowed)
        right = slowed and set(slowed) <= set(named)
        share = named.get(slowed[0]) if slowed else None
        verdict = "wrong" if wrong or others else "right" if right or not slowed else "missed"
        self.failures += verdict == "wrong"
        if share is not None:
            self.check(-SHARE_OFF <= share - costs <= above, f"{name}: its share is {costs:.1%}: {share:.1%}")
        if slowed and costs >= COUNTS:
            self.counted += 1
            self.found += verdict == "right"
        said = ", ".join(f"{rank}: {value:.1%}" if value is not None else f"{rank}" for rank,
                         value in sorted(named.items())) or "nobody"
        print(f"| {name} | {', '.join(map(str, slowed)) or 'nobody'} | {f'{costs:.1%}' if slowed else '–'} | {said} | "
              f"{verdict} |", flush=True)
        for text in others:
            print(f"  also: {text}")
        return share

    def check(self, right, what):
        if not right:
            print(f"FAILED {what}")
            self.failures += 1


def as_traced(table, name, timeline):
    _, named, others = play(timeline)
    own = OWN[name]
    _, at_home, _ = play(timeline, "--host-gpus", "0")
    table.check(at_home == named, f"{name}: as on one host: {at_home}, {named}")
    share = table.row(f"{name}, as traced", [own[0]] if own else [], PUBLISHED.get(name, 0), named, others)
    if own:
        table.check(share is not None, f"{name}: worker {own[0]} is named")


def slowed(table, name, timeline):
    times = ["--times", str(TIMES[name])]
    own = [f"--slow={OWN[name][0]}={OWN[name][1]}"] if OWN[name] else []
    job, named, others = play(timeline, *times, *own)
    usual_s = job["step_s"]
    table.row(f"{name}, played again" + (f", worker {OWN[name][0]} as the others" if own else ""), [], 0, named, others)
    for stage in range(job["stages"]):
        worker = stage * job["replicas"] + (stage + 1) % job["replicas"]
        for factor in FACTORS:
            job, named, others = play(timeline, *times, *own, f"--slow={worker}={factor}")
            table.row(f"{name}, stage {stage}, {factor} times", [worker], 1 - usual_s / job["step_s"], named, others)


def made_up(directory, slow, uneven=0):
    """A timeline of two stages with four replicas, of which one worker may be slow; each step's sequences differ by up
    to `uneven`."""
    lengths = random.Random(1)
    events = [{"name": "thread_name", "ph": "M", "pid": replica, "tid": tid,
               "args": {"name": f"PP rank {tid}, TP rank 0, compute"}}
              for replica in range(4) for tid in range(2)]

    def add(replica, stage, name, ts, ms, step, sequence=0):
        events.append({"name": name, "ph": "X", "pid": replica, "tid": stage, "ts": ts * 1e3, "dur": ms * 1e3,
                       "args": {"step": step, "seq_id": sequence, "mb_id": sequence}})

    at = 0
    for step in range(160):
        ends = []
        for replica in range(4):
            length = 1 + uneven * lengths.random()
            first_ms, second_ms = (100 * length * (slow if (stage, replica) == (1, 2) else 1) for stage in range(2))
            now = at + 10
            free = now
            for batch in range(2):
                add(replica, 0, "forward-compute", now, first_ms, step, batch)
                now += first_ms
                begin = max(now, free)
                add(replica, 0, "forward-send", begin, 1, step, batch)
                add(replica, 1, "forward-recv", begin, 1, step, batch)
                add(replica, 1, "forward-compute", begin + 1, second_ms, step, batch)
                free = begin + 1 + second_ms
                now = begin + 1
            ends.append(free)
        for replica in range(4):
            for stage in range(2):
                add(replica, stage, "params-all-gather", at, 5, step)
                add(replica, stage, "grads-reduce-scatter", max(ends) + 1, 5, step)
                add(replica, stage, "optimizer-clip-main-grad", max(ends) + 7, 1, step)
        at = max(ends) + 10
    (directory / "meta-made.yaml").write_text("tp_size: 1\ndsp_size: 1\n")
    timeline = directory / "timeline-made.json"
    timeline.write_text(json.dumps(events))
    return timeline


def published():
    """Where the timelines lie; None: nobody asked for them."""
    if len(sys.argv) < 2:
        return None
    if sys.argv[1] != "published":
        return pathlib.Path(sys.argv[1])
    if "RANKWATCH_TIMELINES" not in os.environ:
        print("skipped: RANKWATCH_TIMELINES does not name the directory `data` of "
              "github.com/ByteDance-Seed/StragglerAnalysis")
        sys.exit(77)
    return pathlib.Path(os.environ["RANKWATCH_TIMELINES"])


def main():
    table, data = Table(), published()
    print("| job | slow | costs | named | |\n|---|---|---|---|---|")
    if data:
        for name in sys.argv[2:] or OWN:
            timeline = data / f"timeline-{name}.json.gz"
            as_traced(table, name, timeline)
            slowed(table, name, timeline)
        table.check(table.found * 3 >= table.counted * 2, "two of three are named")
        print(f"named: {table.found} of {table.counted} that cost {COUNTS:.0%} or more")
    else:
        with tempfile.TemporaryDirectory(prefix="rankwatch-test.") as directory:
            for kind, slow, uneven in (("made up", 1.6, 0), ("made up, of sequences that differ", 1.8, 1)):
                usual, named, others = play(made_up(pathlib.Path(directory), 1, uneven))
                table.row(kind, [], 0, named, others)
                for again, first, options in (("", slow, ()), (", played again", 1, (f"--slow=6={slow}",))):
                    job, named, others = play(made_up(pathlib.Path(directory), first, uneven), *options)
                    share = table.row(f"{kind}{again}, {slow} times", [6], 1 - usual["step_s"] / job["step_s"], named,
                                      others,
                                      DIFFERS_ABOVE if uneven else SHARE_OFF)
                    table.check(share is not None, "it is named")
    sys.exit(1 if table.failures else 0)


if __name__ == "__main__":
    main()
