#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch itself has against NaN, beside our scan: its operators, its check as shipped (torch_nan_check.py)."""

import part

TORCH = part.HERE.parent / "torch_nan_check.py"


def main():
    self = part.Part("torch-check")
    done = part.run(["python3", TORCH], 90)
    if done.status == 77:
        self.skip(done.err.strip())
    self.check(done.status == 0, "PyTorch's own NaN checks" + done.why())
    for line in done.json():
        if "value" in line:
            self.number(line["what"], line["value"], line["unit"])
        else:
            self.note(line["what"], line["text"])
    self.end()


if __name__ == "__main__":
    main()
