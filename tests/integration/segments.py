#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""segments.py PROGRAM: AlltoAll, Gather and Scatter are sends and receives to NCCL, so each part of their buffers is
compared with what was sent: a bit that flips in one part names the two ranks it went between, and nobody where none
flips."""

import sys

import stage

RANKS = 4
# Call, which part gets the bit (SIM_NCCL_FLIP), between whom, the transfer's number. Receives come in the order of
# NCCL's rounds: from oneself, then from the rank before, and so on.
FLIPS = [
    ("AlltoAll", "received:1:Recv:11:5000:3", [1, 2], 2),
    ("AlltoAll", "received:1:Recv:8:5000:3", [1], 2),
    ("Gather", "received:1:Recv:11:5000:3", [1, 2], 2),
    ("Scatter", "received:2:Recv:4:5000:3", [1, 2], 4),
    ("AlltoAll", "", None, None),
    ("Gather", "", None, None),
    ("Scatter", "", None, None),
]


def corruption(play, program, call, flip, wrapped):
    """The findings of one run, from its boxes."""
    variables = {"SIM_CUDA_DEVICES": str(RANKS), "SIM_NCCL_FLIP": flip, "RANKWATCH_SCAN": "all", "RANKWATCH_MESH": None}
    command = [stage.RANKWATCH, "run", "--keep-boxes", "all", "--", program] if wrapped else [program]
    if not wrapped:
        variables |= play.plugin()
    status = play.start(*command, RANKS, call, **variables).wait(60)
    report = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
    report.wait(60)
    return status, [value for _, value in report.out.json() if value.get("kind") == "corruption"]


def main(program):
    failures = stage.Failures()
    for call, flip, ranks, number in FLIPS:
        for wrapped in (True, False):
            what = f"{call} {flip or 'untouched'} {'under run' if wrapped else 'with the plugin alone'}"
            with stage.Stage() as play:
                status, found = corruption(play, program, call, flip, wrapped)
            seen = [(finding["ranks"], finding["operation"]["sequence"], finding["values"]["first_bad"])
                    for finding in found]
            expected = [(ranks, number, 1248)] if ranks else []
            failures.check(status == 0 and seen == expected, f"{what}: {seen}, status {status}")
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1])
