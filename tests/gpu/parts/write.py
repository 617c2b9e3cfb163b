#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What progress costs, with the driver alone: host ns and stream us that two stream memory operations add, beside
events and stamp kernels, on an idle GPU and on a filled one."""

import part
import stream


def main():
    self = part.Part("write")
    done = part.run([part.PROGRAMS / "gpu_write", "0.05" if part.STAND_IN else "4"], 40)
    stream.tell(self, "gpu_write", done, lines=20, where="")
    self.end()


if __name__ == "__main__":
    main()
