#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scan kernel's own programs, gpu_scan_*: each checks itself (0 passed, 77 cannot run here) and prints JSON lines,
of which {"what": …, "value": …, "unit": …} is a number for the table."""

import os

import part


def main():
    self = part.Part("scan")
    programs = [path for path in sorted(part.PROGRAMS.glob("gpu_scan_*"))
                if path.is_file() and os.access(path, os.X_OK)]
    if not programs:
        self.skip("no gpu_scan_* program is built")
    for program in programs:
        done = part.run([program], 90)
        if done.status == 77:
            self.note(program.name, f"cannot run here: {done.reason()}")
            continue
        self.check(done.status == 0, program.name + done.why())
        for line in done.json():
            if {"what", "value", "unit"} <= line.keys():
                self.number(line["what"], line["value"], line["unit"])
    self.end()


if __name__ == "__main__":
    main()
