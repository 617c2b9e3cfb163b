#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs in which nothing is found while they run: `run` tells what the black boxes show of a job that failed, and says
nothing of one that is well."""

import signal
import time

import stage

LATE = 5
SIZES = ("--ranks=8", "--step-ms=80", "--elements=1024")
HANG = (*SIZES, "--steps=100000", "--grace=60", "--limit=60", "--fault=never", f"--fault-rank={LATE}", "--fault-step=6")


def start(play, *command):
    return play.start(stage.RANKWATCH, "run", "--findings", play.dir / "findings",
                      "--on-finding", f"cat >>{play.dir}/heard", "--", *command)


def findings(play):
    return stage.json_lines((play.dir / "findings").read_text()) if (play.dir / "findings").exists() else []


def all_others_wait(play):
    report = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
    report.wait(30)
    flights = [value["flight"] for _, value in report.out.json() if "flight" in value]
    return any(len(flight["joined"]) == 7 for flight in flights)


def give_up(play):
    """The others by their watchdog, then the launcher ends who is left."""
    pids = play.rank_pids()
    for rank, pid in pids.items():
        if rank != LATE:
            stage.kill(pid, signal.SIGABRT)
    time.sleep(0.7)
    stage.kill(pids[LATE])


def check_told(failures, play, job, what):
    before = time.monotonic()
    failures.check(job.wait(30), f"{what}: its own status, which is not 0")
    took_s = time.monotonic() - before
    said = job.err.text()
    verdict = [line for line in said.splitlines() if line.startswith("  verdict ")]
    failures.check(verdict and f"rank {LATE}" in verdict[0],
                   f"{what}: the verdict names rank {LATE}: {verdict or said}")
    failures.check("findings   none" not in said, f"{what}: not \"findings none\"")
    found = [one for one in findings(play) if one.get("severity") in ("warning", "critical")]
    failures.check([one["ranks"] for one in found] == [[LATE]],
                   f"{what}: in the file, too: {[one['text'] for one in found]}")
    heard = stage.json_lines((play.dir / "heard").read_text()) if (play.dir / "heard").exists() else []
    failures.check(heard == found, f"{what}: --on-finding is run for it, once, as it opens: {heard}")
    failures.check(took_s < 20, f"{what}: its status came after {took_s:.1f} s")


def play_without_collector(failures):
    """It is stopped before the rank is missing for long, and then the job gives up as a watchdog does."""
    with stage.Stage() as play:
        job = start(play, *stage.workload(*HANG))
        if not failures.check(stage.wait_until(lambda: play.events("fault") and all_others_wait(play), 60),
                              "the others wait"):
            return
        if not failures.check(not findings(play), "nothing is found yet", timed=True):
            return
        for pid in play.pids("collect"):
            stage.kill(pid, signal.SIGSTOP)
        time.sleep(4)  # beyond what a report calls a hang
        give_up(play)
        check_told(failures, play, job, "a collector that does not answer")


def play_silent(failures, what, act, *command):
    with stage.Stage() as play:
        job = start(play, *command)
        act(play, job)
        failures.check(job.wait(60), f"{what}: its own status, which is not 0")
        said = job.err.text()
        found = [one for one in findings(play) if one.get("severity") in ("warning", "critical")]
        named = [one["text"] for one in found if one["kind"] != "slowdown" or len(one["ranks"]) < 8]
        failures.check(not named, f"{what}: nothing is found: {named}")
        if found:
            return  # the machine became slower for all ranks, and that was said
        failures.check(not (play.dir / "heard").exists(), f"{what}: no command is run")
        failures.check("findings   none\n" in said and "verdict" not in said, f"{what}: nothing is found: {said}")


def end_it(play, job):
    stage.wait_until(lambda: len(play.events("start")) == 8, 30)
    time.sleep(2)  # the steps that it is ended in
    job.popen.send_signal(signal.SIGTERM)


def main():
    failures = stage.Failures()
    play_without_collector(failures)
    work = " ".join(stage.workload(*SIZES, "--steps=20"))
    play_silent(failures, "a job that fails behind its training", lambda *_: None, "sh", "-c", f"{work}; exit 7")
    play_silent(failures, "a job that is asked to end", end_it, *stage.workload(*SIZES, "--steps=1000"))
    failures.end()


if __name__ == "__main__":
    main()
