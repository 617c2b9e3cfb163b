#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the scan kernel reads, by type, size and grid, beside a kernel that only reads, kernels like PyTorch's
check, and what PyTorch itself has; what counting costs, what a launch costs, what scans take from other work."""

import part
import scans

TORCH = part.HERE.parent / "torch_nan_check.py"


def ask_torch(self):
    done = part.run(["python3", TORCH], 90)
    if done.status == 77:
        self.note("PyTorch's own NaN check", f"not measured: {done.err.strip()}")
        return
    self.check(done.status == 0, "PyTorch's own NaN checks" + done.why())
    for line in done.json():
        if "value" in line:
            self.number(line["what"], line["value"], line["unit"])
        else:
            self.note(line["what"], line["text"])


def main():
    self = part.Part("scan-speed")
    scans.play(self, "speed", 90, *(["1"] if part.STAND_IN else []))
    scans.play(self, "rivals", 40)
    scans.play(self, "rare", 60)
    scans.play(self, "launch", 40)
    scans.play(self, "beside", 40)
    ask_torch(self)
    self.end()


if __name__ == "__main__":
    main()
