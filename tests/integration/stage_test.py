#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""When a failed test of times is excused, and when it is not: Failures of stage.py by itself."""

import contextlib
import io
import sys

import stage


def status(failed=True, always=False, timed=False, on_time=True, stolen=0.0, pace=1.0, alone=None):
    """The exit status of a test whose one check fails so, on such a machine. alone: the pace of the job without
    rankwatch."""
    failures = stage.Failures(on_time=on_time, control=None if alone is None else lambda: alone)
    failures.machine.stolen = lambda: stolen
    failures.pace = pace
    with contextlib.redirect_stdout(io.StringIO()):  # a line "skipped: …" would be taken for this test's own
        failures.check(not failed, "what the test checks", always=always, timed=timed)
        try:
            failures.end()
        except SystemExit as end:
            return end.code
    return None


CASES = (
    ("what holds passes", dict(failed=False), 0),
    ("what holds passes on a slow machine, too", dict(failed=False, stolen=0.9, pace=9, alone=9), 0),
    ("what fails has failed", dict(), 1),
    ("a hypervisor that takes the processors excuses it", dict(stolen=0.5), 77),
    ("but not what must hold on any machine", dict(stolen=0.5, always=True), 1),
    ("nor a test that does not measure time", dict(stolen=0.5, on_time=False), 1),
    ("of which it excuses a check that does", dict(stolen=0.5, on_time=False, timed=True), 77),
    ("on no other machine", dict(on_time=False, timed=True), 1),
    ("a job that is as slow without rankwatch excuses it", dict(pace=2.0, alone=1.9), 77),
    ("a job that only rankwatch slows has failed", dict(pace=2.0, alone=1.0), 1),
    ("and so has one of which nobody can say", dict(pace=2.0), 1),
    ("a job in its time is not played again", dict(pace=1.2, alone=9.0), 1),
)


def main():
    wrong = 0
    for what, machine, expected in CASES:
        found = status(**machine)
        wrong += found != expected
        print(f"{'ok' if found == expected else 'FAILED'}: {what}: status {found}, expected {expected}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
