#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unlike.py PROGRAM: the interposer is at work in half of the ranks, which alone tell of the copy engine under NCCL
2.28. That is told, and nothing else; a rank that hangs is named, whichever half it is of."""

import json
import sys

import stage

STEPS = 240


def read(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def play_job(program, hangs, release):
    """(what was found while it ran, what its boxes tell: all of it)"""
    with stage.Stage() as play:
        file = play.dir / "findings"
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", file, "--", program, stage.RANKS,
                         STEPS, hangs,
                         SIM_NCCL_VERSION=release, SIM_CUDA_DEVICES=str(stage.RANKS))
        if hangs >= 0:
            stage.wait_until(lambda: read(file) or job.popen.poll() is not None, 60)
        else:
            job.wait(120)
        live = [(finding["kind"], finding["ranks"]) for finding in read(file) if finding["state"] == "open"]
        report = play.start(stage.RANKWATCH, "report", "--json", "--notices", play.boxes)
        report.wait(60)
        return live, sorted((finding["kind"], finding["ranks"]) for _, finding in report.out.json()
                            if "kind" in finding)


def main(program):
    failures = stage.Failures()
    for release, hangs in (("2.28.9", -1), ("2.28.9", 1), ("2.28.9", 6), ("2.27.5", -1), ("2.27.5", 6)):
        live, told = play_job(program, hangs, release)
        hang = [("hang", [hangs])] if hangs >= 0 else []
        failures.check(live == hang, f"NCCL {release}, rank {hangs} hangs: found {live}")
        failures.check(told == hang + [("version", [4, 5, 6, 7])],
                       f"NCCL {release}, rank {hangs} hangs: boxes tell {told}")
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1])
