#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same profiler plugin alone and behind rankwatch, in every release of NCCL that has a profiler interface: it must
get the same events, as often, and only pointers that it gave.
  chained.py PROBE PLUGIN SIM_DIR PLUGIN_OF_VERSION_1 ... PLUGIN_OF_VERSION_7"""
import os
import subprocess
import sys
import tempfile

NEWEST = {"2.23.4": 1, "2.24.3": 2, "2.26.2": 3, "2.27.3": 4, "2.27.5": 4, "2.28.9": 5, "2.29.7": 6, "2.30.7": 6,
          "2.31.2": 7}
# An older plugin in a newer NCCL, which translates for it; so does rankwatch.
OLDER = [("2.28.9", 4), ("2.29.7", 5), ("2.31.2", 5), ("2.31.2", 6), ("2.31.2", 4)]
MASK = 0xFFFF & ~0x20  # all but ProxyCtrl, whose number depends on time


class Probe:
    def __init__(self, program, sim):
        self.program, self.sim = program, sim

    def counts(self, release, variables):
        """What the plugin counted, one line a rank, and what was said."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            report = os.path.join(folder, "report")
            environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self.sim, "LC_ALL": "C", "SIM_QUIET": "1",
                           "SIM_NCCL_VERSION": release, "RANKWATCH_DIR": folder, "RANKWATCH_QUIET": "1",
                           "RANKWATCH_HISTORY": "4M",
                           "SECOND_REPORT": report, "SECOND_MASK": str(MASK), **variables}
            done = subprocess.run([self.program], stdin=subprocess.DEVNULL, env=environment, capture_output=True,
                                  text=True)
            if done.returncode:
                sys.exit(f"{release} {variables}: probe failed: {done.stdout}{done.stderr}")
            lines = sorted(open(report).read().splitlines()) if os.path.exists(report) else []
            return lines, done.stderr


def compare(probe, ours, release, second):
    alone, _ = probe.counts(release, {"NCCL_PROFILER_PLUGIN": name_for(release, second)})
    chained, said = probe.counts(release, {"NCCL_PROFILER_PLUGIN": name_for(release, ours), "RANKWATCH_CHAIN": second})
    if len(alone) != 2 or alone != chained or any(" foreign 0:" not in line for line in chained):
        print(f"not ok {release} {os.path.basename(second)}", "alone:  ", *alone, "chained:", *chained, said,
              sep="\n  ")
        return False
    print(f"ok {release} {os.path.basename(second)}: {chained[0]}")
    return True


def name_for(release, path):
    """2.27.3 takes no path; there the name must do, found through LD_LIBRARY_PATH."""
    return os.path.basename(path) if release == "2.27.3" else path


def main():
    program, ours, sim, *seconds = sys.argv[1:]
    folders = [sim, os.path.dirname(ours), os.path.dirname(seconds[0])]
    probe = Probe(program, ":".join(os.path.abspath(folder) for folder in folders))
    pairs = list(NEWEST.items()) + OLDER
    good = [compare(probe, os.path.abspath(ours), release, os.path.abspath(seconds[abi - 1])) for release, abi in pairs]
    sys.exit(not all(good))


main()
