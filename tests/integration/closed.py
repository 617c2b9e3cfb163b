#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rankwatch run where standard input, output and error are closed: no file of its own takes their numbers, so that no
line goes into a lock or a socket, and the job finds them closed."""

import os
import pathlib

import stage

CLOSED = ["bash", "-c", 'exec "$0" "$@" <&- >&- 2>&-']


def targets(pid):
    """Where the three standard files of a process lead; those that are closed are missing."""
    found = {}
    for number in range(3):
        try:
            found[number] = os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            pass
    return found


def is_sleep(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n"


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        run = play.start(*CLOSED, stage.RANKWATCH, "run", "--", "sleep", "60")
        job = stage.wait_until(lambda: [pid for pid in play.pids("60") if is_sleep(pid)], 30)
        if failures.check(job, "the job starts"):
            failures.check(targets(run.popen.pid) == dict.fromkeys(range(3), "/dev/null"),
                           f"no file of rankwatch takes a standard number: {targets(run.popen.pid)}")
            failures.check(targets(job[0]) == {}, f"the job finds them closed: {targets(job[0])}")
            stage.kill(job[0])
            failures.check(run.wait(30) == 128 + 9, "the job's status")
    failures.end()


if __name__ == "__main__":
    main()
