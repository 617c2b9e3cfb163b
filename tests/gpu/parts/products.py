#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scans beside real matrix products, by block count and priority (torch_products.py); without PyTorch the library that
it uses is tried alone."""

import part

PROGRAM = part.HERE.parent / "torch_products.py"
LIBRARY = part.PROGRAMS / "libgpu-products.so"


def main():
    self = part.Part("products")
    # libcuda before the library, so that what is linked by file name is found.
    done = part.run(["python3", PROGRAM, LIBRARY, *(["alone"] if part.STAND_IN else [])], 50)
    if done.status == 77:
        self.skip(done.err.strip())
    self.check(done.status == 0, f"products{done.why()}")
    for line in done.json():
        if "value" in line:
            self.number(line["what"], line["value"], line["unit"])
        elif "text" in line:
            self.note(line["what"], line["text"])
    self.end()


if __name__ == "__main__":
    main()
