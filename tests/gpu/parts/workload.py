#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workload under `rankwatch run` on this NCCL: all recorded, a healthy run silent, a late rank named by GPU
arrival, boxes readable after SIGKILL."""

import jobs
import part
import stage

SHORT = ["--steps=6", "--step-ms=150"] if part.STAND_IN else ["--steps=20", "--step-ms=300"]
# Five steps before the fault are what a change is measured against; a log's queue holds the fault back four steps more.
LATE = ["--fault-step=7", *(["--steps=13", "--step-ms=200"] if part.STAND_IN else ["--steps=20", "--step-ms=400"])]


def healthy(pair, libraries, *arguments):
    with jobs.Job(pair, libraries) as job:
        process = job.begin(*stage.workload(*pair.workload, *SHORT, *arguments, "--limit=60"))
        status = job.finish(process, 70)
        return job, status, stage.job_result(process), job.findings(), job.dump()


def check_healthy(self, pair):
    """And the same run on the stand-in: an independent count of what there was to record."""
    job, status, result, findings, dump = healthy(pair, part.LIBRARIES)
    self.check(status == 0 and result, f"healthy: status {status}")
    jobs.check_silent(self, "healthy", findings)
    jobs.check_recorded(self, "healthy", dump)
    _, _, model, _, model_dump = healthy(pair, part.SIM_LIBRARIES)
    real, expected = jobs.operations(dump), jobs.operations(model_dump)
    counts = [[len(ranks.get(rank, [])) for rank in (0, 1)] for ranks in (real, expected)]
    self.check(real == expected and expected, f"healthy: every call recorded, as on the stand-in: {counts}")
    self.check(result and model and result["checksum"] == model["checksum"],
               "healthy: the same results as on the stand-in")
    if result:
        self.number("healthy: step under rankwatch, median", part.median(result["step_ms"][2:]), "ms")


def play_late(pair, fault, command):
    with jobs.Job(pair) as job:
        # TensorBoard's writer never syncs: where much memory is free, only a disk that writes through makes it wait.
        process = job.begin(*command, *pair.workload, *LATE, f"--fault={fault}", "--log-bytes=4194304", "--limit=90",
                            SLOW_DISK_METHOD="through", SLOW_DISK_RATE="4194304")
        return job, job.finish(process, 100), process.err.text(), job.findings(), job.events()


def check_late(self, pair):
    if part.STAND_IN:
        fault = "lock"
    else:
        fault = "io"
        job, status, said, findings, events = play_late(pair, fault, stage.slow_disk(*stage.workload()))
        if status in (77, 127):
            self.note("late: a slow disk cannot be had, so a lock instead", said.strip().splitlines()[-1:])
            fault = "lock"
    if fault == "lock":
        job, status, said, findings, events = play_late(pair, fault, stage.workload())
    self.check(status == 0, f"late: status {status}")
    jobs.check_straggler(self, "late", findings, 0, fault)
    late = [event["monotonic_ns"] for event in events if event["event"] == "late_step"]
    self.note("late: steps that the fault delayed", len(late))
    detected = [finding["detect_ms"] for finding in findings
                if finding["kind"] == "straggler" and finding.get("detect_ms")]
    if detected:
        self.number("late: from the first lateness to the finding, as it says", detected[0], "ms")


def check_killed(self, pair):
    with jobs.Job(pair) as job:
        process = job.begin(*stage.workload(*pair.workload, "--steps=100000", "--step-ms=200", "--fault=never",
                                            "--fault-rank=1", "--fault-step=6", "--grace=60"))
        jobs.check_killed(self, "killed", job, process)


def main():
    self = part.Part("workload")
    pair = part.Pair(self)
    check_healthy(self, pair)
    check_killed(self, pair)
    check_late(self, pair)
    self.end()


if __name__ == "__main__":
    main()
