#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills the collector again and again while a job with a straggler runs: the job's result stays the same, and the
finding is open again under its id within three of the job's late steps: what the kernel showed the one before is lost
with it. Kills: 3, or 100 with RANKWATCH_TEST_LONG=1."""

import json
import os
import random
import time

import stage

KILLS = 100 if stage.LONG else 3
AGAIN_S = 4.0  # three steps of 1.3 s
STEPS = 300 if stage.LONG else 24
# followed on the GPU one by one: 64 KiB and more, over all ranks
SIZES = ("--ranks=8", f"--steps={STEPS}", "--elements=16384")
FAULT = ("--step-ms=200", "--fault=lock", "--fault-rank=3", "--fault-step=3")


def opened(play):
    """Open findings of the straggler, asked of the collector that runs now."""
    asked = play.start(stage.RANKWATCH, "findings", "--json", "--job", play.dir.name)
    asked.wait(10)
    findings = [finding for _, finding in asked.out.json()]
    return [finding for finding in findings if finding.get("kind") == "straggler" and finding["state"] != "closed"]


def kill_collector(failures, play, first, number):
    pids = play.pids("collect")
    if not failures.check(len(pids) == 1, f"kill {number}: one collector runs: {pids}"):
        return
    stage.kill(pids[0])
    stage.wait_until(lambda: pids[0] not in play.pids("collect"), 5, step=0.001)
    killed = time.monotonic()
    again = stage.wait_until(lambda: opened(play), 3 * AGAIN_S)
    after_s = time.monotonic() - killed
    if failures.check(again and after_s <= AGAIN_S, f"kill {number}: open again after {after_s:.2f} s"):
        failures.check(again[0]["id"] == first["id"] and again[0]["ranks"] == first["ranks"],
                       f"kill {number}: id {again[0]['id']}, first {first['id']}")


def opened_with_cause(play):
    return [finding for finding in opened(play) if (finding["cause"] or {}).get("class") == "lock"]


def check_findings_file(failures, file):
    """What `run` wrote: one finding, opened once, however often its collector began anew."""
    findings = [json.loads(line) for line in file.read_text().splitlines()]
    failures.check({finding["kind"] for finding in findings} <= {"straggler"}, "no false alarm", always=True)
    failures.check([finding["state"] for finding in findings].count("open") == 1, "opened once in the file")


def main():
    dice = random.Random(int(os.environ.get("RANKWATCH_TEST_SEED", "1")))
    failures = stage.Failures(on_time=True)
    with stage.Stage() as play:
        alone = play.start(*stage.workload(*SIZES, "--step-ms=0"))
        failures.check(alone.wait(120) == 0, "the job alone")
        file = play.dir / "findings"
        job = play.start(stage.RANKWATCH, "run", "--findings", file, "--", *stage.workload(*SIZES, *FAULT))
        first = stage.wait_until(lambda: opened_with_cause(play), 60)
        if failures.check(first, "the straggler is found"):
            for number in range(KILLS):
                time.sleep(dice.uniform(0.5, 2.0))
                kill_collector(failures, play, first[0], number)
        status = job.wait(STEPS * 2 + 60)
        said = job.err.text()
        result, expected = stage.job_result(job), stage.job_result(alone)
        check_findings_file(failures, file)
    failures.check(status == 0, f"the job's status {status}", always=True)
    failures.check(result and expected and result["checksum"] == expected["checksum"], "the job's result is the same",
                   always=True)
    print(said)
    failures.end()


if __name__ == "__main__":
    main()
