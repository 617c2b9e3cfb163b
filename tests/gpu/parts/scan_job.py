#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scanning in a job with NCCL: what it adds to loops of collectives and to a step like one of training, and how soon a
NaN is a finding. Two ranks on one GPU take turns on it, so what a lap takes there says little; what the scans took, by
their own stamps, says all."""

import collections
import os
import tempfile
import time

import jobs
import part
import stage

PLUGIN = "libnccl-profiler-rankwatch.so"
# name, environment, the one it is compared with
VARIANTS = [
    ("off", {"RANKWATCH_SCAN": "off"}, None),
    ("on (RANKWATCH_SCAN=auto, first operations)", {"RANKWATCH_SCAN": "auto"}, "off"),
    ("all", {"RANKWATCH_SCAN": "all"}, "off"),
    ("off, one connection", {"RANKWATCH_SCAN": "off", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}, None),
    ("all, one connection", {"RANKWATCH_SCAN": "all", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}, "off, one connection"),
]
LOOPS = ("allgather",) if part.STAND_IN else ("allreduce", "allgather", "reducescatter", "step")
SECONDS, MIB = ("0.2", "1") if part.STAND_IN else ("1.2", "16")
FAULT_INDEX = 4321
COUNTED = ("launches", "buffers", "bytes", "gpu_ns", "host_ns")


def one_run(pair, loop, environment):
    """(median time of a lap in us or None, what the black boxes say of scans, added up)."""
    preload = os.fspath(part.BUILD / "plugin" / PLUGIN)
    with tempfile.TemporaryDirectory(dir=part.WORK_SHARED) as boxes:
        done = part.run([part.PROGRAMS / "gpu_step", pair.how, loop, MIB, SECONDS], 30, RANKWATCH_DIR=boxes,
                        RANKWATCH_QUIET="1", NCCL_PROFILER_PLUGIN=PLUGIN, LD_PRELOAD=preload, **pair.environment,
                        **environment)
        dump = part.run([part.BUILD / "console/rankwatch", "dump", "--header", boxes], 20)
    scans = collections.Counter()
    for header in jobs.of(dump.json(), "header"):
        scans.update({key: header["scan"][key] for key in COUNTED})
    return done.json()[0]["lap_us_p50"] if done.status == 0 and done.json() else None, scans


def tell_scans(self, what, scans):
    self.number(f"{what}: host time of a launch", scans["host_ns"] / scans["launches"], "ns")
    self.number(f"{what}: GPU time of a scan of {scans['bytes'] // scans['launches'] >> 10} KiB, by its own stamps",
                scans["gpu_ns"] / scans["launches"] / 1000, "us")


def measure_loop(self, pair, loop):
    laps = {}
    for name, environment, base in VARIANTS:
        what = f"{loop}, scanning {name}"
        laps[name], scans = one_run(pair, loop, environment)
        if not self.check(laps[name], f"{what}: it runs"):
            continue
        self.check((scans["buffers"] > 0) == (environment["RANKWATCH_SCAN"] != "off"),
                   f"{what}: {scans['buffers']} buffers scanned in {scans['launches']} launches")
        self.number(f"{what}: a lap", laps[name], "us")
        if base and laps[base]:
            self.number(f"{what}: a lap is longer by", (laps[name] / laps[base] - 1) * 100, "%")
        if scans["launches"]:
            tell_scans(self, what, scans)


def nans(job):
    return [finding for finding in job.findings() if finding["kind"] == "nan"]


def check_finding(self, pair):
    """From the beginning of the step that has it to the finding that names its rank."""
    arguments = ["--fault=nan", "--fault-rank=1", "--fault-step=7", f"--fault-index={FAULT_INDEX}", "--limit=60",
                 *(["--steps=11", "--step-ms=200"] if part.STAND_IN else ["--steps=16", "--step-ms=300"])]
    with jobs.Job(pair) as job:
        process = job.begin(*stage.workload(*pair.workload, *arguments), RANKWATCH_SCAN="all")
        stage.wait_until(lambda: nans(job) or process.popen.poll() is not None, part.left_s(60))
        found_ns = time.monotonic_ns()
        status, findings = job.finish(process, 70), nans(job)
        faults = [event["monotonic_ns"] for event in job.events() if event["event"] == "fault"]
    self.check(status == 0, f"NaN: status {status}")
    right = self.check([finding["ranks"] for finding in findings] == [[1]],
                       "NaN: rank 1 named, nobody else" + jobs.said(findings))
    if not right or not faults:
        return
    self.check((findings[0].get("values") or {}).get("first_bad") == FAULT_INDEX, "NaN: the element where it was put")
    self.number("NaN: from the beginning of its step to the finding", (found_ns - min(faults)) / 1e6, "ms")


def main():
    self = part.Part("scan-job")
    pair = part.Pair(self)
    check_finding(self, pair)
    for loop in LOOPS:
        measure_loop(self, pair, loop)
    self.end()


if __name__ == "__main__":
    main()
