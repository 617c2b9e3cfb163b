#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch run` wakes up for what happens, and not to look whether something has happened."""

import os
import pathlib
import time

import stage


def wakeups(pid):
    """How often the process went to sleep of its own will."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("voluntary_ctxt_switches")).split()[1])


def is_settled(pid):
    """It slept for two seconds on end: it has joined its collector, which has nothing to report."""
    before = wakeups(pid)
    time.sleep(2)
    return wakeups(pid) == before


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        fifo = pathlib.Path(play.boxes) / "job-ends"
        os.mkfifo(fifo)
        job = play.start(stage.RANKWATCH, "run", "--findings", str(fifo.with_name("findings.jsonl")), "--",
                         "sh", "-c", f"cat {fifo} >/dev/null; exit 7")
        settled = stage.wait_until(lambda: is_settled(job.popen.pid), 60, step=0.1)
        failures.check(settled is not None, "an idle run does not wake up")
        with open(fifo, "w"):
            pass
        failures.check(job.wait(20) == 7, "it notices the job's end at once, and has its status")
    failures.end()


if __name__ == "__main__":
    main()
