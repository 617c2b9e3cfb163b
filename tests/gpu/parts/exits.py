#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""100 processes that leave in every way that programs leave, with GPU progress, scanning and KernelCh on: none may die
of a signal or stay. And after a reset of the device, where the driver has one."""

import collections
import concurrent.futures
import os
import tempfile

import part

PLUGIN = "libnccl-profiler-rankwatch.so"
WAYS = ("destroy", "exit", "flying", "thread")
EXITS, AT_ONCE, LIMIT_S = (8 if part.STAND_IN else 100), 4, 25
ENVIRONMENT = {"NCCL_PROFILER_PLUGIN": PLUGIN, "RANKWATCH_SCAN": "all", "RANKWATCH_GRAPHS": "1",
               "RANKWATCH_KERNELCH": "1", "RANKWATCH_QUIET": "1",
               "LD_PRELOAD": os.fspath(part.BUILD / "plugin" / PLUGIN)}


def leave(pair, way, environment):
    with tempfile.TemporaryDirectory(dir=part.WORK_SHARED) as boxes:
        return part.run([part.PROGRAMS / "gpu_leave", pair.how, way], LIMIT_S, RANKWATCH_DIR=boxes, **pair.environment,
                        **environment)


def check_ways(self, pair):
    """Two ranks are two exits."""
    jobs = [WAYS[i % len(WAYS)] for i in range(EXITS // 2)]
    exits, wrong = collections.Counter(), collections.defaultdict(list)

    def play(way):
        if part.left_s() < LIMIT_S + 10:
            return
        done = leave(pair, way, ENVIRONMENT)
        exits[way] += 2
        if done.status != 0:
            wrong[way].append(done.reason())

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(play, jobs))
    for way in WAYS:
        # What also dies without a plugin is not ours.
        if wrong[way] and leave(pair, way, {"NCCL_PROFILER_PLUGIN": "none"}).status != 0:
            self.note(f"{way}", f"also fails without a plugin: {wrong[way][0]}")
            continue
        self.check(not wrong[way] and exits[way],
                   f"{way}: {exits[way]} exits" + (f", {len(wrong[way])} wrong: {wrong[way][0]}" if wrong[way] else ""))
    if sum(exits.values()) < EXITS:
        self.note("exits", f"{sum(exits.values())} of {EXITS}: no time for more")


def check_reset(self, pair):
    without = leave(pair, "reset", {"NCCL_PROFILER_PLUGIN": "none"})
    if "cuDevicePrimaryCtxReset" in without.err:
        self.note("reset of the device", "not asked: there is no cuDevicePrimaryCtxReset")
    elif without.status != 0:
        self.note("reset of the device", f"also fails without a plugin{without.why()}")
    else:
        done = leave(pair, "reset", ENVIRONMENT)
        self.check(done.status == 0, f"a program that resets its device and lives on{done.why()}")


def main():
    self = part.Part("exits")
    pair = part.Pair(self)
    check_ways(self, pair)
    check_reset(self, pair)
    self.end()


if __name__ == "__main__":
    main()
