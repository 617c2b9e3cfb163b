#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two communicators in opposite order on two ranks, a correct program: does scanning make it stop? A stream that both
communicators share would add an order that the program did not make."""

import os
import tempfile

import jobs
import part

PLUGIN = "libnccl-profiler-rankwatch.so"
ROUNDS, ROUND_S = ("6", "8") if part.STAND_IN else ("100", "12")
PRELOAD = os.fspath(part.BUILD / "plugin" / PLUGIN)
# name, environment
VARIANTS = [
    ("no plugin", {"NCCL_PROFILER_PLUGIN": "none"}),
    ("scanning off", {"NCCL_PROFILER_PLUGIN": PLUGIN, "RANKWATCH_SCAN": "off"}),
    ("scanning all, plugin alone", {"NCCL_PROFILER_PLUGIN": PLUGIN, "RANKWATCH_SCAN": "all"}),
    ("scanning all, with the interposer",
     {"NCCL_PROFILER_PLUGIN": PLUGIN, "RANKWATCH_SCAN": "all", "LD_PRELOAD": PRELOAD}),
]


def main():
    self = part.Part("order")
    pair = part.Pair(self)
    for name, environment in VARIANTS:
        with tempfile.TemporaryDirectory(dir=part.WORK_SHARED) as boxes:
            done = part.run([part.PROGRAMS / "gpu_order", pair.how, ROUNDS, ROUND_S], 30, RANKWATCH_DIR=boxes,
                            RANKWATCH_QUIET="1", **pair.environment, **environment)
            dump = part.run([part.BUILD / "console/rankwatch", "dump", "--header", boxes], 20).json()
        ended = done.json()[0]["done"] if done.json() else 0
        what = f"two communicators in opposite order, {name}: {ended} of {ROUNDS} rounds ended"
        if name == "no plugin" and done.status != 0:
            # Two processes that take turns on one GPU need not get through; then nothing can be told of scanning.
            self.skip(f"{what} without us{done.why()}")
        self.check(done.status == 0, what + done.why())
        if environment.get("RANKWATCH_SCAN") == "all":
            scans = [header["scan"] for header in jobs.of(dump, "header")]
            self.note(f"{name}: launches of scans", [scan["launches"] for scan in scans])
    self.end()


if __name__ == "__main__":
    main()
