#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills the collector again and again while a job with a straggler runs: the job's result stays the same, and the finding
is open again within 2 s under its id. Kills: 6, or 100 with RANKWATCH_TEST_LONG=1."""

import json
import os
import random
import time

import stage

KILLS = 100 if stage.LONG else 6
AGAIN_S = 2.0
STEPS = 300 if stage.LONG else 40
SIZES = ("--ranks=8", f"--steps={STEPS}", "--elements=1024")
FAULT = ("--step-ms=200", "--fault=lock", "--fault-rank=3", "--fault-step=3")


def opened(path, after=0):
    """Findings of the straggler that the file got as `open` after its first `after` lines."""
    lines = path.read_text().splitlines()[after:] if path.exists() else []
    findings = [json.loads(line) for line in lines if line.endswith("}")]
    return [finding for finding in findings if finding["kind"] == "straggler" and finding["state"] == "open"]


def kill_collector(failures, play, file, first, number):
    pids = play.pids("collect")
    if not failures.check(len(pids) == 1, f"kill {number}: one collector runs: {pids}"):
        return
    lines = len(file.read_text().splitlines())
    stage.kill(pids[0])
    killed = time.monotonic()
    again = stage.wait_until(lambda: opened(file, lines), 3 * AGAIN_S)
    after_s = time.monotonic() - killed
    if failures.check(again and after_s <= AGAIN_S, f"kill {number}: open again after {after_s:.2f} s"):
        failures.check(again[0]["id"] == first["id"] and again[0]["ranks"] == first["ranks"],
                       f"kill {number}: id {again[0]['id']}, first {first['id']}")


def main():
    dice = random.Random(int(os.environ.get("RANKWATCH_TEST_SEED", "1")))
    failures = stage.Failures()
    with stage.Stage() as play:
        alone = play.start(*stage.workload(*SIZES, "--step-ms=0"))
        failures.check(alone.wait(120) == 0, "the job alone")
        file = play.dir / "findings"
        job = play.start(stage.RANKWATCH, "run", "--findings", file, "--", *stage.workload(*SIZES, *FAULT))
        first = stage.wait_until(lambda: opened(file), 60)
        if failures.check(first, "the straggler is found"):
            for number in range(KILLS):
                time.sleep(dice.uniform(0.5, 2.0))
                kill_collector(failures, play, file, first[0], number)
        status = job.wait(STEPS * 2 + 60)
        said = job.err.text()
        result, expected = stage.job_result(job), stage.job_result(alone)
    failures.check(status == 0, f"the job's status {status}")
    failures.check(result and expected and result["checksum"] == expected["checksum"], "the job's result is the same")
    print(said)
    failures.end()


if __name__ == "__main__":
    main()
