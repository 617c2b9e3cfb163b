#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills all ranks, the launcher and the collector with SIGKILL at random moments; every time `rankwatch report` must name
the operation that was in flight, who had joined it and who had not. In every second round one rank dies first, and the
others wait for it when they are killed. Rounds: 4, or 100 with RANKWATCH_TEST_LONG=1."""

import os
import random
import time

import flights
import stage

ROUNDS = 100 if stage.LONG else 4
# Operations of 64 KiB and more, over all ranks, are followed on the GPU one by one; of smaller ones in a row nobody knows which of
# those that all hosts have called had ended.
WORKLOAD = ("--ranks=8", "--steps=100000", "--step-ms=150", "--elements=16384", "--grace=60")


def ask(play, *arguments):
    process = play.start(stage.RANKWATCH, *arguments, play.boxes)
    status = process.wait(60)
    return status, [value for _, value in process.out.json()], process.err.text()


def kill_job(play, first, dice):
    if first is not None:
        stage.kill(play.rank_pids()[first])
        stage.wait_until(lambda: is_told(first, ask(play, "report", "--json")[1]), 30, step=0.2)
    pids = play.pids()
    dice.shuffle(pids)
    for pid in pids:
        stage.kill(pid)
    play.kill_everything()


def is_told(rank, report):
    """As gone, as missing, or as the only one that is behind in what was in flight. A rank that died while its GPU was in the
    operation that everybody is in looks like them: the boxes of ranks that die within a second tell no more. Then nobody may
    be missing or behind."""
    if any(value.get("kind") == "gone" and value["ranks"] == [rank] for value in report):
        return True
    for flight in (value["flight"] for value in report if value.get("flight")):
        phases = {entry["rank"]: entry["phase"] for entry in flight["joined"]}
        behind = [number for number, phase in phases.items() if phase in ("enqueued", "launched")]
        missing = [entry["rank"] for entry in flight["missing"]]
        if rank in missing or behind == [rank]:
            return True
        if not missing and len(phases) == stage.RANKS and set(phases.values()) == {"running"}:
            return True
    return False


def play_round(failures, number, dice):
    first = dice.randrange(stage.RANKS) if number % 2 else None
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--", *stage.workload(*WORKLOAD))
        ready = stage.wait_until(lambda: len(list(play.boxes.rglob("*.rwbox"))) == stage.RANKS, 60)
        if not failures.check(ready, f"round {number}: every rank has a black box"):
            print(job.err.text())
            return
        time.sleep(dice.uniform(0.2, 3.0))
        kill_job(play, first, dice)
        status, report, said = ask(play, "report", "--json")
        dump_status, dump, dump_said = ask(play, "dump", "--header", "--operations", "--comms")
    truth, named = flights.oldest_in_flight(dump), flights.reported(report)
    failures.check(status == 0 and dump_status == 0, f"round {number}: report ends with {status}, dump with {dump_status}")
    right = failures.check(named == truth, f"round {number}: report names what was in flight: {named}")
    if not right:
        print(f"the boxes say: {truth}\n{said}\n{dump_said}")
    if first is not None and any(line["part"] == "operation" for line in dump):  # else it died before the first operation
        failures.check(truth and is_told(first, report), f"round {number}: where rank {first} was, who died first")


def main():
    seed = int(os.environ.get("RANKWATCH_TEST_SEED", random.randrange(1 << 30)))
    print(f"RANKWATCH_TEST_SEED={seed}")
    dice = random.Random(seed)
    failures = stage.Failures()
    for number in range(ROUNDS):
        play_round(failures, number, dice)
    failures.end()


if __name__ == "__main__":
    main()
