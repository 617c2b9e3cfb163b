#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""graph_late.py PROGRAM: a rank that comes late to the CUDA graph of each step. It is named where NCCL reports the
kernels of replays and counts them right, and nobody is named where it does not."""

import re
import sys

import stage

RANKS, LATE, LATE_MS, STEPS = 4, 2, 30, 540

# NCCL, kernel events, calls outside of the graph too, are the replays timed, what may be found?
NAMED, NOTHING = [("straggler", (LATE,))], []
CASES = [
    ("2.28.9", "1", False, True, [NAMED]),
    ("2.31.2", "1", False, True, [NAMED]),
    ("2.28.9", "0", False, False, [NOTHING]),
    ("2.28.9", "1", True, False, [NAMED, NOTHING]),  # by when its host launches the other calls
]


def replays_of(play):
    dump = play.start(stage.RANKWATCH, "dump", play.boxes)
    dump.wait(60)
    lines = [line for _, line in dump.out.json() if line.get("part") == "operation"]
    return [line for line in lines if line.get("replay") is not None]


def check(failures, program, nccl, kernel_events, mixed, timed, allowed):
    name = f"NCCL {nccl}, RANKWATCH_KERNELCH={kernel_events}{', mixed' if mixed else ''}"
    with stage.Stage() as play:
        arguments = [program, RANKS, LATE, LATE_MS, STEPS] + (["mixed"] if mixed else [])
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", *arguments,
                         SIM_CUDA_DEVICES=str(RANKS), SIM_NCCL_VERSION=nccl, RANKWATCH_KERNELCH=kernel_events)
        status = job.wait(120)
        failures.check(status == 0, f"{name}: status {status}")
        warnings = [line for _, line in job.out.json() if line.get("severity") in ("warning", "critical")]
        told = sorted({(line["kind"], tuple(line["ranks"])) for line in warnings})
        failures.check(told in allowed, f"{name}: found {told}")
        confidence = [line["confidence"] for line in warnings]
        failures.check(set(confidence) <= {"likely"}, f"{name}: {confidence}")
        count = len(replays_of(play))
        if timed:
            failures.check(count == RANKS * STEPS * 3, f"{name}: {count} replays in the boxes")
        else:
            failures.check(count <= RANKS * 3, f"{name}: {count} replays in the boxes, which have wrong times")
        unseen = "times of calls inside CUDA graphs" in job.err.text()
        failures.check(unseen != timed, f"{name}: the summary says what was not seen: {job.err.text()}")
        shares = re.search(r"not seen (\d+) %", job.err.text())
        not_seen = int(shares.group(1)) if shares else 100
        failures.check(not_seen < 10 if timed else not_seen > 50, f"{name}: {not_seen} % of the time was not seen")


def main(program):
    failures = stage.Failures()
    for case in CASES:
        check(failures, program, *case)
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1])
