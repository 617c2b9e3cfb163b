#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""missing_in_group.py FIRST_USE: A rank stops before it has used a communicator of its tensor parallel group: those
that have come to it wait in ncclCommInitRank, all others wait for these, and NCCL has reported the members of none of
these communicators. The one that stopped is named, and nobody else. The same of a rank that does not come to the split
of the world's communicator, for which all others wait in ncclCommSplit; and of communicators that do not block, where
they have returned from that and ask again and again whether NCCL has done it."""

import contextlib
import os
import sys

import stage

LATE = 5
WORKLOAD = ("--ranks=8", "--mesh=fsdp=2,tp=4", "--steps=20", "--elements=1024", f"--fault-rank={LATE}", "--limit=120")
ALL = [0, 1, 2, 3, 4, 6, 7]
NAMED_S = 60  # after 10 s of waiting


def plays(first_use):
    """How each is played, what the missing rank does instead, who waits, and what the report says of them."""
    return [
        (stage.workload(*WORKLOAD, "--fault=never", "--fault-step=1"), "futex(2)", [4, 6, 7],
         "ncclCommInitRank of 4 ranks: 3 seen in it"),
        (stage.workload(*WORKLOAD, "--eager", "--fault=split-never"), "pause(2)", ALL,
         "ncclCommSplit of 8 ranks: 7 seen in it"),
        ((first_use, 8, "split", LATE, 0, "nonblocking"), "pause(2)", ALL, "ncclCommSplit of 8 ranks: 7 seen in it"),
    ]


def check(failures, play, job, cause, waiting, reported):
    def found():
        return [line for _, line in job.out.json() if line.get("state") == "open"]

    stage.wait_until(lambda: found() or job.popen.poll() is not None, NAMED_S)
    told = [(one["kind"], one["ranks"], one["severity"], one["confidence"], one["operation"]["phase"],
             one["late"]["waiting"]) for one in found()]
    if os.geteuid() == 0:  # others may not see the system calls of threads that the plugin does not sample
        failures.check(all(cause in one["cause"]["text"] for one in found()),
                       f"the finding says what the rank does instead: {[one['cause'] for one in found()]}")
    failures.check(told == [("hang", [LATE], "critical", "likely", "init", waiting)],
                   f"found {told} {job.err.text_now()}")
    play.kill_everything()
    report = play.start(stage.RANKWATCH, "report", play.boxes)
    report.wait(60)
    lines = [line.strip() for line in report.out.text().splitlines()]
    failures.check(reported in lines and f"missing rank {LATE}" in lines,
                   f"the report of its boxes shows who was missing: {lines}")


def main(first_use):
    failures = stage.Failures()
    with contextlib.ExitStack() as stages:
        jobs = []
        for command, *expected in plays(first_use):
            play = stages.enter_context(stage.Stage())
            job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", *command,
                             SIM_CUDA_DEVICES="8")
            jobs.append((play, job, *expected))
        for one in jobs:
            check(failures, *one)
    failures.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
