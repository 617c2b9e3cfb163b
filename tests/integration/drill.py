#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch drill` delays one rank for a while and says that it was named; it asks first, is undone by itself, and
leaves nothing."""

import json
import pathlib
import statistics

import stage

STEP_MS, DELAY_MS, AFTER_S, FOR_S, STEPS = 200, 150, 5, 8, 110
DRILL = ("--rank", "2", "--delay", f"{DELAY_MS}ms", "--every", "300ms", "--after", f"{AFTER_S}s", "--for", f"{FOR_S}s")
WORKLOAD = ("--ranks=4", f"--step-ms={STEP_MS}", "--elements=4096")


def leftovers():
    return set(pathlib.Path("/tmp").glob("rankwatch-drill-*"))


def is_named(failures):
    before = leftovers()
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "drill", "--yes", "--json", *DRILL, "--",
                         *stage.workload(*WORKLOAD, f"--steps={STEPS}"))
        status = job.wait(120)
        lines = [json.loads(line) for line in job.out.text().splitlines() if line.startswith("{")]
        print(job.err.text())
    verdict = next((line for line in lines if "named_after_ms" in line), None)
    played = next((line for line in lines if "step_ms" in line), None)
    if not failures.check(verdict and played, "there is a verdict, and the job came to its end", always=True):
        return
    failures.check(verdict["other"] is None, f"nobody else is named: {verdict['other']}", always=True)
    failures.check(verdict["over"] and FOR_S * 1000 / 300 / 3 < verdict["delays"] <= FOR_S * 1000 / 300 + 1,
                   f"it delayed {verdict['delays']} times and ended by itself", always=True)
    steps = played["step_ms"]
    failures.check(len(steps) == STEPS, "the job went on to its end")
    # Other tests run beside this one: steps are compared with those before the drill, and how soon it was named is only
    # printed.
    before_ms, after_ms = statistics.median(steps[5:20]), statistics.median(steps[-15:])
    failures.check(after_ms < before_ms + DELAY_MS / 2,
                   f"nothing of it stays: {before_ms:.0f} ms a step before, {after_ms:.0f} at the end")
    failures.check(verdict["named"] and verdict["finding"]["ranks"] == [2] and status == 0,
                   f"rank 2 was named (status {status}) after {verdict['named_after_ms']} ms")
    failures.check(leftovers() <= before, "no file is left")


def is_asked_for(failures):
    with stage.Stage() as play:
        ran = play.dir / "ran"
        job = play.start(stage.RANKWATCH, "drill", *DRILL, "--", "touch", ran)
        failures.check(job.wait(20) == 1 and not ran.exists() and "--yes" in job.err.text(),
                       "without consent nothing is run", always=True)


def who_is_not_there(failures):
    """A rank that the job has not, and no other rank is delayed for it."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "drill", "--yes", "--rank", "17", "--delay", "50ms", "--for", "5s", "--after",
                         "1ms", "--",
                         *stage.workload("--ranks=2", "--steps=6", "--step-ms=100"))
        status = job.wait(60)
        failures.check(status == 4 and "NOT named: no NCCL call of that rank" in job.err.text(), f"status {status}",
                       always=True)


def main():
    failures = stage.Failures(on_time=True)
    is_asked_for(failures)
    who_is_not_there(failures)
    is_named(failures)
    failures.end()


main()
