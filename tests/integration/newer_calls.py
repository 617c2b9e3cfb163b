#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""newer_calls.py PROGRAM: what programs do with newer releases of NCCL, and what rankwatch makes of it.

An uneven gather, as PyTorch makes it, with NCCL's kernel events wanted: in NCCL 2.29.2 to 2.30.7 these events would let ncclCommDestroy hang. The job
ends, and says why there are none.

Broadcasts, of which NCCL shows a plugin nothing but the call: each is counted, whenever the collector or the report reads."""

import re
import sys

import stage

WITHOUT_EVENTS = "NCCL is not asked for kernel events. From 2.29.2 to 2.30.7 ncclCommDestroy can wait for ever"
UNEVEN = {  # does it say that there are no events?
    ("2.28.9", ""): False,
    ("2.29.7", ""): True,
    ("2.30.7", ""): True,
    ("2.30.7", "0"): False,
    ("2.31.2", ""): False,
}


def run(play, program, what, ranks, nccl, **environment):
    return play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", program, ranks, what,
                      SIM_CUDA_DEVICES=str(ranks), SIM_NCCL_VERSION=nccl, **environment)


def check_uneven(failures, program):
    for (nccl, allgatherv), said in UNEVEN.items():
        name = f"uneven gather, NCCL {nccl}, NCCL_ALLGATHERV_ENABLE={allgatherv}"
        with stage.Stage() as play:
            job = run(play, program, "uneven", 2, nccl, RANKWATCH_KERNELCH="1", NCCL_ALLGATHERV_ENABLE=allgatherv)
            status = job.wait(30)
            failures.check(status == 0, f"{name}: status {status}")
            failures.check((WITHOUT_EVENTS in job.err.text()) == said, f"{name}: {job.err.text()}")


def not_seen(text):
    found = re.search(r"not seen +(\d+) operations that NCCL does not show", text) or re.search(r"(\d+) untracked", text)
    return int(found.group(1)) if found else 0


def check_broadcasts(failures, program):
    with stage.Stage() as play:
        job = run(play, program, "broadcasts", 2, "2.30.7")
        failures.check(job.wait(60) == 0, "broadcasts: the job ends")
        failures.check(not_seen(job.err.text()) == 2 * 150, f"broadcasts, live: {job.err.text()}")
        report = play.start(stage.RANKWATCH, "report", play.boxes)
        report.wait(60)
        failures.check(not_seen(report.out.text()) == 2 * 150, f"broadcasts, report: {report.out.text()}")


def main(program):
    failures = stage.Failures()
    check_broadcasts(failures, program)
    check_uneven(failures, program)
    failures.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
