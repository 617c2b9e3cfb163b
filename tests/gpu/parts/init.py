#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A process's first communicator while another thread captures a graph: what breaks without a plugin is NCCL's own;
what breaks with rankwatch alone is ours."""

import os
import tempfile

import part

PLUGIN = "libnccl-profiler-rankwatch.so"
OURS = {"NCCL_PROFILER_PLUGIN": PLUGIN, "RANKWATCH_SCAN": "all",
        "LD_PRELOAD": os.fspath(part.BUILD / "plugin" / PLUGIN)}
MODES = ("global", "thread", "relaxed")


def play(pair, mode, environment):
    """(did it end well, [error of each capture's end], why not)"""
    with tempfile.TemporaryDirectory(dir=part.WORK_SHARED) as boxes:
        done = part.run([part.PROGRAMS / "gpu_init", pair.how, mode], 20, RANKWATCH_DIR=boxes, RANKWATCH_QUIET="1",
                        **pair.environment, **environment)
    return done.status == 0, sorted(line["capture_error"] for line in done.json()), done.why()


def main():
    self = part.Part("init")
    pair = part.Pair(self)
    for mode in MODES:
        what = f"a first communicator while another thread captures ({mode})"
        fine, errors, why = play(pair, mode, {"NCCL_PROFILER_PLUGIN": "none"})
        self.fact(f"{what}, no plugin", f"captures end with errors {errors}" if fine else "the program fails")
        if not fine:
            self.note(what, f"also fails without a plugin{why}")
            continue
        ours_fine, ours_errors, ours_why = play(pair, mode, OURS)
        right = (ours_fine, ours_errors) == (fine, errors)
        said = f": errors {ours_errors} instead of {errors}{ours_why}" if not right else ""
        if part.STAND_IN and not right:
            # It shows so already; on a GPU it is a failure.
            self.note("known", f"{what} is not as without a plugin{said}")
        else:
            self.check(right, f"{what} is as without a plugin{said}")
    self.end()


if __name__ == "__main__":
    main()
