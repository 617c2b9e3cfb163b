#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a plugin adds to an AllReduce of 8 bytes, in the thread that calls: processes with each plugin, by turns."""

import os

import part

RANKWATCH = "libnccl-profiler-rankwatch.so"
PRELOAD = os.fspath(part.BUILD / "plugin" / RANKWATCH)
# name, environment
PLUGINS = [
    ("no plugin", {"NCCL_PROFILER_PLUGIN": "none"}),
    ("a plugin that does nothing", {"NCCL_PROFILER_PLUGIN": "libnccl-profiler-noop.so"}),
    ("rankwatch", {"NCCL_PROFILER_PLUGIN": RANKWATCH}),
    ("rankwatch, RANKWATCH_GPU_TIME=off", {"NCCL_PROFILER_PLUGIN": RANKWATCH, "RANKWATCH_GPU_TIME": "off"}),
    ("rankwatch, RANKWATCH_SCAN=off", {"NCCL_PROFILER_PLUGIN": RANKWATCH, "RANKWATCH_SCAN": "off"}),
    ("rankwatch, progress of each operation", {"NCCL_PROFILER_PLUGIN": RANKWATCH, "RANKWATCH_SCAN": "off",
                                               "RANKWATCH_GPU_TIME": "watermark"}),
    ("rankwatch, everything off",
     {"NCCL_PROFILER_PLUGIN": RANKWATCH, "RANKWATCH_SCAN": "off", "RANKWATCH_GPU_TIME": "off"}),
    ("rankwatch, RANKWATCH_KERNELCH=1", {"NCCL_PROFILER_PLUGIN": RANKWATCH, "RANKWATCH_KERNELCH": "1"}),
    ("rankwatch, with the interposer", {"NCCL_PROFILER_PLUGIN": RANKWATCH, "LD_PRELOAD": PRELOAD}),
    ("rankwatch, everything on", {"NCCL_PROFILER_PLUGIN": RANKWATCH, "LD_PRELOAD": PRELOAD, "RANKWATCH_KERNELCH": "1",
                                  "RANKWATCH_SCAN": "all", "RANKWATCH_GPU_TIME": "watermark"}),
]
ROUNDS, SECONDS = (1, "0.1") if part.STAND_IN else (3, "0.8")


def one_run(pair, environment):
    done = part.run([part.PROGRAMS / "gpu_loop", pair.how, SECONDS], 30, RANKWATCH_DIR=part.WORK_SHARED,
                    LD_LIBRARY_PATH=f"{part.LIBRARIES}:{part.PROGRAMS}", RANKWATCH_QUIET="1",
                    **pair.environment, **environment)
    return done.json()[0] if done.status == 0 and done.json() else None


def main():
    self = part.Part("loop")
    pair = part.Pair(self)
    results = {name: [] for name, _ in PLUGINS}
    for _ in range(ROUNDS):
        for name, environment in PLUGINS:
            if part.left_s() > 12:
                results[name].append(one_run(pair, environment))
    base = None
    for name, runs in results.items():
        good = [run for run in runs if run]
        if not self.check(good and len(good) == len(runs), f"{name}: {len(good)} of {len(runs)} runs"):
            continue
        middle = part.median([run["call_ns_p50"] for run in good])
        base = middle if base is None else base
        self.number(f"{name}: host time of a call, median", middle, "ns")
        self.number(f"{name}: more than without a plugin", middle - base, "ns")
        self.number(f"{name}: host time of a call, mean", part.median([run["call_ns_mean"] for run in good]), "ns")
        self.number(f"{name}: wall time of a call", part.median([run["wall_us_per_call"] for run in good]), "us")
    self.end()


if __name__ == "__main__":
    main()
