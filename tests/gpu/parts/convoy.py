#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's own lock: how long a main thread waits for it beside others that compute, and what such a wait looks like
from outside. It needs no GPU, but the interpreter and the kernel of the machine where training runs."""

import subprocess
import sys

import part
import threads

PROGRAM = part.HERE.parent / "convoy.py"
SECONDS = 1.0 if part.STAND_IN else 4.0


def play(self, count):
    what = f"Python, {count} other threads that compute"
    with subprocess.Popen([sys.executable, PROGRAM, str(count), str(SECONDS)], stdout=subprocess.PIPE,
                          text=True) as run:
        first = part.json_lines(run.stdout.readline())
        if first and count:
            threads.tell(self, what, threads.watch(run.pid, SECONDS / 2, 100))
        last = part.json_lines(run.stdout.read())
        status = run.wait()
    if self.check(status == 0 and first and last, f"{what}: status {status}"):
        self.number(f"{what}: from letting go of the lock to having it back, median", last[0]["p50_ms"], "ms")
        self.number(f"{what}: the same, 99 of 100", last[0]["p99_ms"], "ms")
        self.number(f"{what}: turns a second", last[0]["turns"] / SECONDS, "turns")
    return first


def main():
    self = part.Part("convoy")
    first = None
    for count in (0, 1, 4):
        first = play(self, count) or first
    if first:
        self.note("Python", f"{first[0]['python']}, its threads take turns every {first[0]['switch_ms']:g} ms")
    self.end()


if __name__ == "__main__":
    main()
