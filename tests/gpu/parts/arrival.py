#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rank 1's stream reaches every second AllReduce while something like matrix products holds its GPU: who is late by the
progress words (the stream's arrival), and who by KernelCh (the kernel's start)?"""

import collections
import tempfile

import jobs
import part

PLUGIN = "libnccl-profiler-rankwatch.so"
ROUNDS, FILL_MS = ("6", "40") if part.STAND_IN else ("30", "60")


def by_rank(dump):
    """{rank: [operation]}, in program order."""
    found = collections.defaultdict(list)
    for line in sorted(jobs.of(dump, "operation"), key=lambda line: line["ticket"]):
        found[line["rank"]].append(line)
    return found


def later_ms(lines, field):
    """How much later rank 1 was than rank 0, of operations that have the field; both ranks have one clock."""
    return [(one[field] - zero[field]) / 1e6 for zero, one in lines if field in zero and field in one]


def main():
    self = part.Part("arrival")
    pair = part.Pair(self)
    with tempfile.TemporaryDirectory(dir=part.WORK_SHARED) as boxes:
        done = part.run([part.PROGRAMS / "gpu_arrival", pair.how, ROUNDS, FILL_MS], 30, RANKWATCH_DIR=boxes,
                        RANKWATCH_QUIET="1", RANKWATCH_KERNELCH="1", RANKWATCH_SCAN="off",
                        RANKWATCH_GPU_TIME="watermark",
                        NCCL_PROFILER_PLUGIN=PLUGIN, **pair.environment)
        dump = part.run([part.BUILD / "console/rankwatch", "dump", boxes], 20).json()
    ranks = by_rank(dump)
    self.check(done.status == 0 and sorted(ranks) == [0, 1], f"gpu_arrival{done.why()}")
    lines = list(zip(ranks[0], ranks[1]))
    self.check(len(lines) == int(ROUNDS), f"{len(lines)} of {ROUNDS} operations recorded on both ranks")
    for filled in (0, 1):
        gpu = "a filled GPU" if filled else "an idle GPU"
        for field, by in (("started_seen_ns", "progress, as the plugin's thread saw it"),
                          ("gpu_start_raw", "KernelCh")):
            values = later_ms(lines[filled::2], field)
            if values:
                self.number(f"rank 1 with {gpu}: later than rank 0 by {by}, median", part.median(values), "ms")
            else:
                self.note(f"rank 1 with {gpu}: by {by}", "not recorded")
    self.note("the products take", f"{FILL_MS} ms")
    self.end()


if __name__ == "__main__":
    main()
