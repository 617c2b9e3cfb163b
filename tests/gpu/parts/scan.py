#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the scan kernel right on this GPU, and does launching it stand in nobody's way? Its programs check themselves."""

import glob
import shutil

import part
import scans

SANITIZED_ROUNDS, TOOLS = 150, ("memcheck", "racecheck", "synccheck", "initcheck")


def sanitizer():
    """NVIDIA's checker of device code: beside the toolkit, not always in the path."""
    beside = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (beside[-1] if beside else None)


def sanitize(self):
    tool = sanitizer()
    if not tool:
        self.note("compute-sanitizer", "not on this machine: reads outside of buffers are not looked for")
        return
    for name in TOOLS:
        done = part.run([tool, "--tool", name, "--error-exitcode", "9", part.PROGRAMS / "gpu_scan_check",
                         SANITIZED_ROUNDS], 40)
        if done.status is None:
            self.note(f"compute-sanitizer {name}", "not done in its time")
        else:
            self.check(done.status == 0, f"compute-sanitizer {name} finds nothing{done.why()}")


def main():
    self = part.Part("scan")
    scans.play(self, "check", 60, *(["200"] if part.STAND_IN else []))
    scans.play(self, "slots", 30, "0.3" if part.STAND_IN else "5")
    scans.play(self, "graph", 60)
    scans.play(self, "drill", 60)
    for connections in ("1", "8", "32"):
        scans.play(self, "drill", 20, "look", CUDA_DEVICE_MAX_CONNECTIONS=connections)
    if not part.STAND_IN:
        sanitize(self)
    self.end()


if __name__ == "__main__":
    main()
