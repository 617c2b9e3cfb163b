#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills all ranks, the launcher and the collector with SIGKILL at random moments; every time `rankwatch report` must
name the operation that was in flight, who had joined it and who had not. In every second round one rank dies first, and
the others wait for it when they are killed. Rounds: 4, or 100 with RANKWATCH_TEST_LONG=1."""

import os
import random
import time

import flights
import stage

ROUNDS = 100 if stage.LONG else 4
# Operations of 64 KiB and more, over all ranks, are followed on the GPU one by one; of smaller ones in a row nobody
# knows which of those that all hosts have called had ended.
WORKLOAD = ("--ranks=8", "--steps=100000", "--step-ms=150", "--elements=16384", "--grace=60")

PHASES = ("connect", "enqueued", "launched", "running", "done")


def ask(play, *arguments):
    process = play.start(stage.RANKWATCH, *arguments, play.boxes)
    status = process.wait(60)
    return status, [value for _, value in process.out.json()], process.err.text()


def kill_first(failures, play, name, rank):
    """Kills one rank, and returns when it is told by what was in flight: before that the others may be killed on their
    way to an operation, and are behind as truly as the one that died first."""
    stage.kill(play.rank_pids()[rank])
    told = stage.wait_until(lambda: is_told(rank, play), 30, step=0.2)
    if not failures.check(told, f"{name}: where rank {rank} was, while the others wait for it"):
        print(ask(play, "report", "--json"), ask(play, "dump", "--header", "--comms"), sep="\n")


def kill_job(play, dice):
    pids = play.pids()
    dice.shuffle(pids)
    for pid in pids:
        stage.kill(pid)
    play.kill_everything()


def is_told(rank, play):
    """As the only one that is missing, or as one of those who are farthest behind in what was in flight: a rank that
    died while its GPU was in the operation that everybody is in looks like the others, as the boxes of ranks that die
    within a second tell no more. Before the first operation only the text tells, while the others live."""
    flights_now = [value["flight"] for value in ask(play, "report", "--json")[1] if value.get("flight")]
    if not flights_now:
        process = play.start(stage.RANKWATCH, "report", play.boxes)
        process.wait(60)
        return f"missing rank {rank}" in map(str.strip, process.out.text().splitlines())
    return any(stands_back(rank, flight) for flight in flights_now)


def stands_back(rank, flight):
    phases = {entry["rank"]: PHASES.index(entry["phase"]) for entry in flight["joined"]}
    if flight["missing"]:
        return [entry["rank"] for entry in flight["missing"]] == [rank]
    return phases[rank] < PHASES.index("done") and phases[rank] == min(phases.values())


def play_round(failures, number, dice):
    first = dice.randrange(stage.RANKS) if number % 2 else None
    with stage.Stage() as play:
        # On a busy machine the budget leaves operations without GPU progress, and nobody knows which of those had
        # ended.
        job = play.start(stage.RANKWATCH, "run", "--", *stage.workload(*WORKLOAD), RANKWATCH_GPU_TIME="watermark")
        ready = stage.wait_until(lambda: len(list(play.boxes.rglob("*.rwbox"))) == stage.RANKS, 60)
        if not failures.check(ready, f"round {number}: every rank has a black box"):
            print(job.err.text())
            return
        time.sleep(dice.uniform(0.2, 3.0))
        if first is not None:
            kill_first(failures, play, f"round {number}", first)
        kill_job(play, dice)
        told = first is None or is_told(first, play)
        status, report, said = ask(play, "report", "--json")
        dump_status, dump, dump_said = ask(play, "dump", "--header", "--operations", "--comms")
    truth, named = flights.oldest_in_flight(dump), flights.reported(report)
    failures.check(status == 0 and dump_status == 0,
                   f"round {number}: report ends with {status}, dump with {dump_status}")
    right = failures.check(named == truth, f"round {number}: report names what was in flight: {named}")
    if not right:
        print(f"the boxes say: {truth}\n{said}\n{dump_said}")
    # else it died before the first operation
    if first is not None and any(line["part"] == "operation" for line in dump):
        failures.check(truth and told, f"round {number}: where rank {first} was, who died first")


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
