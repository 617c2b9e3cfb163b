#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two runs of one job name whose black boxes lie in different directories: neither tells what the other's ranks do."""

import stage

SIZES = ("--ranks=4", "--elements=1024", "--step-ms=20")
ELSEWHERE = "collects another job named"


def summary(job):
    return [line for line in job.err.text().splitlines() if "ranks" in line or "recorded" in line]


def findings(job):
    return [value["text"] for _, value in job.out.json() if value.get("kind")]


def main():
    failures = stage.Failures()
    with stage.Stage() as play, stage.Stage() as beside:
        other = beside.boxes
        first = play.start(stage.RANKWATCH, "run", "--findings", "-", "--",
                           *stage.workload("--ranks=4", "--steps=100000", "--step-ms=80", "--elements=1024", "--fault=never",
                                           "--fault-rank=2", "--fault-step=6", "--limit=20"))
        failures.check(stage.wait_until(lambda: findings(first), 30), "the first job's collector tells its hang")
        second = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*SIZES, "--steps=100"),
                            RANKWATCH_DIR=str(other), WORKLOAD_EVENTS=None)
        failures.check(second.wait(60) == 0, "the second job ended")
        failures.check(not findings(second), f"it tells nothing of the first: {findings(second)}")
        failures.check(second.err.text().count(ELSEWHERE) == 1, "one line says why")
        failures.check(any(str(other) in line and "recorded" in line for line in summary(second)),
                       f"its end says where it was recorded: {summary(second)}")
        own = play.start(stage.RANKWATCH, "run", "--job", play.dir.name + "-2", "--", *stage.workload(*SIZES, "--steps=100"),
                         RANKWATCH_DIR=str(other), WORKLOAD_EVENTS=None)
        own.wait(60)
        failures.check(any("4 of 4 ranks" in line for line in summary(own)), f"with a name of its own it is watched: {summary(own)}")
        first.wait(60)
        failures.check(any("4 of 4 ranks" in line for line in summary(first)), f"the first was watched alone: {summary(first)}")
        if failures.count:
            print(second.err.text(), own.err.text(), first.err.text())
    failures.end()


if __name__ == "__main__":
    main()
