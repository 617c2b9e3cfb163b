#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""endings.py [nobody]: all ranks of a job end within a second, in ways in which jobs end. Whoever was first is named
where times and manners tell, live and from the boxes alone; a job that is ended as a whole stays silent. nobody: as an
ordinary user."""

import os
import random
import signal
import sys
import time

import stage

FIRST = 5
# Rank 5 does not come to its sixth step: the others wait for it, and for three seconds that is no hang yet.
WORKLOAD = ("--ranks=8", "--steps=100000", "--step-ms=80", "--elements=1024", "--grace=60", "--fault=never",
            f"--fault-rank={FIRST}", "--fault-step=6", "--limit=60")
KILL, TERM, SEGV, ABRT = signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT


def end(pids, number, pause_s=0.0):
    for pid in pids:
        stage.kill(pid, number)
        time.sleep(pause_s)


def one_then_all(first, then, after_s, pause_s=0.0):
    def play(pids):
        others = [pid for rank, pid in pids.items() if rank != FIRST]
        end([pids[FIRST]], first)
        time.sleep(after_s)
        end(others, then, pause_s)
    return play


def all_at_once(number):
    return lambda pids: end(random.sample(list(pids.values()), len(pids)), number)


# name, how, told live, told from the boxes alone; None: either, as old as the others' last signs are on a busy machine
ENDINGS = [
    ("one is killed, 50 ms later the launcher kills all", one_then_all(KILL, KILL, 0.05), False, None),
    ("one is killed, 700 ms later the launcher kills all", one_then_all(KILL, KILL, 0.7), True, True),
    ("one crashes, the others give up one after the other", one_then_all(SEGV, ABRT, 0.06, 0.05), True, True),
    ("one crashes, the launcher asks all others to end", one_then_all(SEGV, TERM, 0.1), True, True),
    ("the whole job is asked to end", all_at_once(TERM), False, False),
    ("the whole job is killed", all_at_once(KILL), False, False),
]


def check(failures, name, how, findings, told):
    loud = [finding for finding in findings if finding.get("severity") in ("warning", "critical")]
    said = [finding["text"] for finding in loud]
    wrong = [finding["text"] for finding in loud if finding["kind"] != "gone" or finding["ranks"] != [FIRST]]
    failures.check(not wrong, f"{name}, {how}: nothing false {wrong or ''}", always=True)
    if told is not None:
        failures.check(bool(loud) == told, f"{name}, {how}: {'told' if told else 'silent'}: {said}")


def they_wait(play):
    """All but the first are in one operation, as their boxes say."""
    report = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
    report.wait(30)
    flights = [value["flight"] for _, value in report.out.json() if "flight" in value]
    return any(len(flight["joined"]) == 7 and [rank["rank"] for rank in flight["missing"]] == [FIRST]
               for flight in flights)


def can_read_kernel_log():
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"


def play_out_of_memory(failures):
    """The OOM killer kills one, and the launcher all others at once: the kernel log tells, live and from the boxes
    alone."""
    if not can_read_kernel_log():
        print("skipped: out of memory: the kernel log cannot be read here, or numbers processes otherwise")
        return
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(
            "--ranks=8", "--steps=100000", "--step-ms=80", "--elements=1024", "--grace=0", "--fault=oom",
            f"--fault-rank={FIRST}",
            "--fault-step=6", "--limit=60"))
        failures.check(job.wait(90) is not None, "out of memory: the job ended")
        if "oom: still here" in job.err.text() or not play.events("fault"):
            print(f"skipped: out of memory: no memory limit can be set here: {job.err.text()[-200:]}")
            return
        report = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
        report.wait(60)
        for how, process in (("live", job), ("report", report)):
            findings = [value for _, value in process.out.json() if value.get("kind")]
            check(failures, "out of memory", how, findings, True)
            failures.check(all(finding["cause"]["class"] == "memory" for finding in findings),
                           f"out of memory, {how}: the cause")


def parent_of(pid):
    return int(next(line for line in open(f"/proc/{pid}/status") if line.startswith("PPid:")).split()[1])


def play_unreaped(failures, nobody):
    """Its launcher does not ask how it ended, so it stays a zombie: it is gone all the same."""
    with stage.Stage(nobody=nobody) as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*WORKLOAD))
        if not failures.check(stage.wait_until(lambda: play.events("fault"), 60),
                              f"unreaped: the ranks wait for rank {FIRST}"):
            return
        pid = play.rank_pids()[FIRST]
        launcher = parent_of(pid)
        stage.kill(launcher, signal.SIGSTOP)
        stage.kill(pid)
        told = lambda: [value for _, value in job.out.json() if value.get("kind") == "gone"]
        found = stage.wait_until(told, 20)
        failures.check(found and found[0]["ranks"] == [FIRST],
                       f"unreaped: it is gone: {[one['text'] for one in found or []]}", always=True)
        stage.kill(launcher, signal.SIGCONT)


def play_ending(failures, nobody, name, act, live, alone):
    with stage.Stage(nobody=nobody) as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*WORKLOAD))
        waits = stage.wait_until(lambda: play.events("fault"), 60)
        if not failures.check(waits, f"{name}: the ranks wait for rank {FIRST}"):
            print(job.err.text())
            return
        if not failures.check(stage.wait_until(lambda: they_wait(play), 30), f"{name}: all others have joined"):
            return
        act(play.rank_pids())
        failures.check(job.wait(30) is not None, f"{name}: the job ended")
        report = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
        failures.check(report.wait(60) == 0, f"{name}: report")
        findings = [value for _, value in job.out.json() if value.get("kind")]
        check(failures, name, "live", findings, live)
        check(failures, name, "report", [value for _, value in report.out.json()], alone)
        if live and findings:
            print(f"       {findings[-1]['text']}")


def main(nobody=False):
    if nobody:
        stage.need_nobody()
    failures = stage.Failures(on_time=True)
    for ending in ENDINGS:
        play_ending(failures, nobody, *ending)
    play_unreaped(failures, nobody)
    if not nobody:
        play_out_of_memory(failures)
    failures.end()


if __name__ == "__main__":
    main(nobody=sys.argv[1:] == ["nobody"])
