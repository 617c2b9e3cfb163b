#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NVIDIA's checker of device code over the scan kernel: does it read outside of buffers, do its threads race? Some
sandboxes do not let it work: that is a note."""

import glob
import shutil

import part

ROUNDS, TOOLS = 100, ("memcheck", "racecheck", "synccheck", "initcheck")
REFUSED = ("Device not supported", "failed to initialize", "Unable to", "not permitted", "InsufficientPermissions")
FOUND = 9  # its exit status


def tool_path():
    """Beside the toolkit, not always in the path."""
    beside = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (beside[-1] if beside else None)


def main():
    self = part.Part("sanitizer")
    tool = tool_path()
    if part.STAND_IN or not tool:
        self.skip("it needs a GPU" if part.STAND_IN else "there is no compute-sanitizer on this machine")
    for name in TOOLS:
        done = part.run([tool, "--tool", name, "--error-exitcode", str(FOUND), part.PROGRAMS / "gpu_scan_check",
                         str(ROUNDS)], 22)
        said = done.out + done.err
        if done.status is None:
            self.note(f"compute-sanitizer {name}", "not done in its time")
        elif done.status != 0 and any(words.lower() in said.lower() for words in REFUSED):
            self.note(f"compute-sanitizer {name}", f"does not work here: {done.reason()}")
        else:
            self.check(done.status == 0, f"compute-sanitizer {name} finds nothing{done.why()}")
    self.end()


if __name__ == "__main__":
    main()
