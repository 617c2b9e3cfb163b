#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judged.py PROGRAM [ARGUMENT…]: a test program that compares times. If it fails while a hypervisor had the machine, it
proves nothing."""

import os
import subprocess
import sys

import stage


def main(command):
    failures = stage.Failures(on_time=True)
    status = subprocess.run(command).returncode
    if status == 77:
        sys.exit(77)
    failures.check(status == 0, f"{os.path.basename(command[0])}: status {status}")
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1:])
