#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""patterns.py [NAME…]: healthy jobs, parallel in every way that the workload knows, under `rankwatch run`: not one
warning. Without a name a selection; RANKWATCH_TEST_LONG=1: all of them, and each gives the same data twice."""

import sys

import stage

SIZES = ("--steps=16", "--step-ms=250", "--elements=2048", "--limit=60")
# name: (arguments, ranks)
PATTERNS = {
    "fsdp": (("--mesh=fsdp=8", "--accumulate=3"), 8),
    "hsdp": (("--mesh=dp_replicate=2,fsdp=4", "--names"), 8),
    "ddp": (("--mesh=ddp=8", "--run-ahead=2"), 8),
    "tp": (("--mesh=fsdp=2,tp=4",), 8),
    "tp-without-sequence": (("--mesh=fsdp=4,tp=2", "--no-sequence-parallel"), 8),
    "cp": (("--mesh=fsdp=2,cp=4",), 8),
    "cp-ring": (("--mesh=fsdp=2,cp=4", "--cp-ring"), 8),
    "moe": (("--mesh=fsdp=8,ep=4",), 8),
    "gpipe": (("--mesh=pp=4", "--pp-schedule=gpipe"), 4),
    "1f1b": (("--mesh=pp=4,fsdp=2",), 8),
    "interleaved": (("--mesh=pp=4", "--pp-schedule=interleaved"), 4),
    "zbv": (("--mesh=pp=4,fsdp=2", "--pp-schedule=zbv"), 8),
    "pairs": (("--mesh=pp=4", "--pp-pairs"), 4),
    "phases": (("--mesh=fsdp=4", "--gc-every=3", "--evaluate-every=4", "--checkpoint-every=6"), 4),
    "titan": (("--mesh=pp=2,fsdp=2,tp=2,ep=2", "--pp-schedule=zbv", "--eager", "--gc-every=4"), 8),
}
SELECTION = ("ddp", "tp", "moe", "zbv", "phases")


def result_alone(play, arguments):
    job = play.start(*stage.workload(*arguments))
    return job.wait(90), stage.job_result(job), job.err.text()


def play_pattern(failures, name):
    more, ranks = PATTERNS[name]
    arguments = SIZES + more
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--job", play.dir.name, "--findings", play.dir / "findings", "--",
                         *stage.workload(*arguments))
        status = job.wait(120)
        said, result = job.err.text(), stage.job_result(job)
        findings = (play.dir / "findings").read_text().splitlines()
        failures.check(status == 0, f"{name}: status {status}{'' if status == 0 else said}")
        failures.check(f"{ranks} of {ranks} ranks" in said, f"{name}: a collector saw all {ranks} ranks to the end")
        failures.check(not findings, f"{name}: not one finding {findings or ''}", always=True)
        failures.check(result and len(result["step_ms"]) == 16, f"{name}: the job ended and printed its result")
        if stage.LONG:
            status, again, _ = result_alone(play, arguments)
            failures.check(status == 0 and result and again and result["checksum"] == again["checksum"],
                           f"{name}: the same data with and without rankwatch")


def main(names):
    failures = stage.Failures(on_time=True)
    for name in names or (PATTERNS if stage.LONG else SELECTION):
        play_pattern(failures, name)
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1:])
