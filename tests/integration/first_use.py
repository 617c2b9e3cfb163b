#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first_use.py PROGRAM collective|pair|plugin|late|order: NCCL connects at first use, on the host: who stays away then
keeps all others in their calls, and is named all the same. One who comes late leaves ordinary operations behind. One
who makes another communicator first than the others is in a circle with them, and nobody is named."""

import json
import sys

import stage

START_S = 10.0  # before anything repeats
STEPS_S = 3.0  # afterwards
SEEN_S = 2.0  # and so long until it is read and written

# Part, what, ranks, who stays away, does the communicator block, limit, options of `rankwatch run`.
HANGS = [
    ("collective", "collective", 3, 1, True, START_S, []),
    ("collective", "collective", 4, 2, False, START_S, []),
    ("pair", "pair", 4, 1, True, STEPS_S, []),
    ("pair", "pair", 4, 3, False, STEPS_S, []),
    # Without the interposer nobody sees what ncclCommGetAsyncError answers: NCCL's own thread shows that it is at work.
    ("plugin", "collective", 4, 1, False, START_S, ["--no-preload"]),
]
LATE_S = 6
LATE = [
    ("late", "collective", 3, 1, True, []),
    ("late", "collective", 3, 0, False, []),
    ("late", "pair", 4, 1, False, []),
    ("plugin", "collective", 3, 0, False, ["--no-preload"]),
]


def start(play, program, what, ranks, rank, seconds, blocking, options=()):
    arguments = [program, ranks, what, rank, seconds] + ([] if blocking else ["nonblocking"])
    return play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", *options, "--", *arguments,
                      SIM_CUDA_DEVICES=str(ranks))


def open_findings(job):
    return [(at_ns, line) for at_ns, line in job.out.json() if line.get("state") == "open"]


def stays_away_ns(job):
    return next((at_ns for at_ns, line in job.err.lines if "stays away" in line), None)


def check_hang(failures, program, what, ranks, rank, blocking, limit_s, options):
    name = f"{what}, {ranks} ranks, {'blocking' if blocking else 'not blocking'} {' '.join(options)}"
    with stage.Stage() as play:
        job = start(play, program, what, ranks, rank, 0, blocking, options)
        stage.wait_until(lambda: open_findings(job) or job.popen.poll() is not None, limit_s + 15)
        found, away_ns = open_findings(job), stays_away_ns(job)
        told = [(finding["kind"], finding["ranks"], finding["severity"]) for _, finding in found]
        if not failures.check(told == [("hang", [rank], "critical")], f"{name}: found {told}"):
            return
        at_ns, finding = found[0]
        after_s = (at_ns - away_ns) / 1e9
        failures.check(after_s <= limit_s + SEEN_S, f"{name}: named after {after_s:.2f} s (limit {limit_s + SEEN_S} s)",
                       timed=True)
        others = [other for other in range(ranks) if other != rank]
        failures.check(finding["late"]["waiting"] == others, f"{name}: waiting {finding['late']['waiting']}")
        # The boxes show what was until their last heartbeat: let that lie behind the limit, too.
        told_ns = at_ns + 1_000_000_000
        stage.wait_until(lambda: stage.time.monotonic_ns() > told_ns, 5)
        play.kill_everything()
        # A notice where the rank has never called anything: then its own plugin does not know which thread to look at.
        report = play.start(stage.RANKWATCH, "report", "--json", "--notices", play.boxes)
        report.wait(60)
        hangs = [line["ranks"] for _, line in report.out.json() if line.get("kind") in ("hang", "gone")]
        failures.check(hangs == [[rank]], f"{name}: the boxes tell {hangs}")


def check_late(failures, program, what, ranks, rank, blocking, options):
    name = f"{what}, {ranks} ranks, {'blocking' if blocking else 'not blocking'} {' '.join(options)}, {LATE_S} s late"
    with stage.Stage() as play:
        job = start(play, program, what, ranks, rank, LATE_S, blocking, options)
        status = job.wait(60)
        failures.check(status == 0, f"{name}: status {status}")
        dump = play.start(stage.RANKWATCH, "dump", play.boxes)
        dump.wait(60)
        operations = [line for _, line in dump.out.json() if line.get("part") == "operation"]
        failures.check(len(operations) >= ranks * 40, f"{name}: {len(operations)} operations")
        lost = [line for line in operations if "untracked" in line.get("flags", [])
                or "task" not in line.get("known", [])]
        failures.check(not lost, f"{name}: {len(lost)} operations without their task: {json.dumps(lost[:1])}")
        hangs = [line["ranks"] for _, line in open_findings(job) if line["kind"] == "hang" and line["ranks"] != [rank]]
        failures.check(not hangs, f"{name}: nobody but the late rank is named: {hangs}")


def check_order(failures, program):
    """Rank 1 waits for rank 0 where it went, and rank 0 for rank 1 where the others are."""
    with stage.Stage() as first, stage.Stage() as second:
        jobs = {blocking: start(play, program, "order", 4, 1, 0, blocking) for blocking,
                play in ((True, first), (False, second))}
        for blocking, job in jobs.items():
            stage.wait_until(lambda: open_findings(job) or job.popen.poll() is not None, 60)
            told = [(line["kind"], line["scope"], line["ranks"], line["standing"], line["late"]["waiting"],
                     line["confidence"])
                    for _, line in open_findings(job)]
            failures.check(told == [("hang", "job", [], "circle", [0, 1], "inconclusive")],
                           f"communicators in another order, {'' if blocking else 'not '}blocking: found {told}")


def main(program, part):
    failures = stage.Failures()
    for case in HANGS:
        if case[0] == part:
            check_hang(failures, program, *case[1:])
    for case in LATE:
        if case[0] == part:
            check_late(failures, program, *case[1:])
    if part == "order":
        check_order(failures, program)
    failures.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
