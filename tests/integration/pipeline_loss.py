#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which ranks log the loss of a pipeline: said by `run` at the end and by `report`, for each schedule the right ones or
none."""

import re
import sys

import stage

MESH = "pp=4,fsdp=2"
FIRST, LAST = [0, 1], [6, 7]
# schedule, its arguments, where the loss is
CASES = [("gpipe", ("--microbatches=4",), LAST), ("1f1b", ("--microbatches=8",), LAST),
         ("interleaved", ("--microbatches=8",), LAST), ("zbv", ("--microbatches=8",), FIRST)]
LINE = re.compile(r"^ *loss +on ranks? ([\d,-]+), where the pipeline ends.*: -1\.0 or none elsewhere is normal; "
                  r"LOG_RANK=(\d+) on node \S+$", re.M)


def ranks_of(text):
    found = []
    for part in text.split(","):
        ends = [int(number) for number in part.split("-")]
        found += range(ends[0], ends[-1] + 1)
    return found


def check_said(failures, what, said, right):
    line = LINE.search(said)
    named = ranks_of(line.group(1)) if line else None
    failures.check(named == right, f"{what}: the loss is on {right}: {line.group(0).strip() if line else said}")
    if line:
        failures.check(int(line.group(2)) == right[0], f"{what}: LOG_RANK is the number on its own node")


def play(failures, schedule, arguments, right):
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--", *stage.workload(
            "--ranks=8", f"--mesh={MESH}", f"--pp-schedule={schedule}", "--layers=8", "--steps=12", "--step-ms=150",
            "--elements=2048", *arguments), RANKWATCH_MESH=MESH)
        failures.check(job.wait(90) == 0, f"{schedule}: the job ends well")
        check_said(failures, f"{schedule}, at the end of the run", job.err.text(), right)
        failures.check(not re.search(r"^\S+ [A-Z]{3,} +rank", job.err.text(), re.M),
                       f"{schedule}: nothing else is found: {job.err.text()}")
        report = play.start(stage.RANKWATCH, "report", str(play.boxes), COLUMNS="120")
        report.wait(60)
        check_said(failures, f"{schedule}, in the report", report.out.text(), right)
        explained = play.start(stage.RANKWATCH, "explain", str(play.boxes), COLUMNS="120")
        failures.check(explained.wait(60) == 0, f"{schedule}: explain ends with 0")
        check_said(failures, f"{schedule}, by explain", explained.out.text().replace("\n          ", " "), right)
        failures.check("not known: no collector" in " ".join(explained.out.text().split()),
                       f"{schedule}: memory that stays as it is is not spoken of")


def main(*names):
    failures = stage.Failures()
    for case in CASES:
        if not names or case[0] in names:
            play(failures, *case)
    failures.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
