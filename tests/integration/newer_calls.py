#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""newer_calls.py PROGRAM: what programs do with newer releases of NCCL, and what rankwatch makes of it.

An uneven gather, as PyTorch makes it, with NCCL's kernel events wanted: in NCCL 2.29.2 to 2.30.7 these events would let
ncclCommDestroy hang. The job ends, and says why there are none.

A communicator that grows, and one that nobody joins, and one that is suspended, and that a rank does not resume: the
missing rank is named. Signals: calls of which NCCL tells no plugin are counted, and time in which a rank may wait for a
signal is not seen. A wait that does not end is told, and nobody is named. An ncclCommDestroy that does not come back:
that is told, and nobody is named.

Broadcasts, of which NCCL shows a plugin nothing but the call: each is counted, whenever the collector or the report
reads."""

import re
import signal
import sys

import stage

WITHOUT_EVENTS = "NCCL is not asked for kernel events. From 2.29.2 to 2.30.7 ncclCommDestroy can wait for ever"
UNEVEN = {  # does it say that there are no events?
    ("2.28.9", ""): False,
    ("2.29.7", ""): True,
    ("2.30.7", ""): True,
    ("2.30.7", "0"): False,
    ("2.31.2", ""): False,
}


def run(play, program, what, ranks, nccl, **environment):
    return play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--",
                      *stage.when_watched(program, ranks, what), SIM_CUDA_DEVICES=str(ranks), SIM_NCCL_VERSION=nccl,
                      **environment)


def check_uneven(failures, program):
    for (nccl, allgatherv), said in UNEVEN.items():
        name = f"uneven gather, NCCL {nccl}, NCCL_ALLGATHERV_ENABLE={allgatherv}"
        with stage.Stage() as play:
            job = run(play, program, "uneven", 2, nccl, RANKWATCH_KERNELCH="1", NCCL_ALLGATHERV_ENABLE=allgatherv)
            status = job.wait(30)
            failures.check(status == 0, f"{name}: status {status}")
            failures.check((WITHOUT_EVENTS in job.err.text()) == said, f"{name}: {job.err.text()}")


def not_seen(text):
    found = (re.search(r"not seen +(\d+) operations that NCCL does not show", text)
             or re.search(r"(\d+) untracked", text))
    return int(found.group(1)) if found else 0


def check_broadcasts(failures, program):
    with stage.Stage() as play:
        job = run(play, program, "broadcasts", 2, "2.30.7")
        failures.check(job.wait(60) == 0, "broadcasts: the job ends")
        failures.check(not_seen(job.err.text()) == 2 * 150, f"broadcasts, live: {job.err.text()}")
        told = "\n".join(report_lines(play))
        failures.check(not_seen(told) == 2 * 150, f"broadcasts, report: {told}")


def open_findings(job):
    return [line for _, line in job.out.json() if line.get("state") == "open"]


def report_lines(play):
    report = play.start(stage.RANKWATCH, "report", play.boxes)
    report.wait(60)
    return [line.strip() for line in report.out.text().splitlines()]


def check_grow(failures, program):
    with stage.Stage() as play:
        job = run(play, program, "grow", 3, "2.30.7")
        failures.check(job.wait(60) == 0 and not open_findings(job), f"grow: {job.err.text()}")
    with stage.Stage() as play:
        job = run(play, program, "grow-alone", 3, "2.30.7")
        stage.wait_until(lambda: open_findings(job) or job.popen.poll() is not None, 60)
        told = [(one["kind"], one["ranks"], one["confidence"], one["late"]["waiting"]) for one in open_findings(job)]
        failures.check(told == [("hang", [2], "likely", [0, 1])]
                       and "ncclCommGrow of 3 ranks" in open_findings(job)[0]["text"], f"grow-alone: found {told}")
        # All at once: a rank that sees another one end may come back from the call.
        for pid in play.pids():
            stage.kill(pid, signal.SIGSTOP)
        play.kill_everything()
        # A process that has been killed may hold its box for a moment.
        failures.check(stage.wait_until(lambda: {"ncclCommGrow of 3 ranks: 2 seen in it",
                                                 "missing rank 2"} <= set(report_lines(play)), 20, 0.5),
                       f"grow-alone, report: {report_lines(play)}")


def check_suspend(failures, program):
    with stage.Stage() as play:
        job = run(play, program, "suspend", 3, "2.30.7")
        failures.check(job.wait(60) == 0 and not open_findings(job), f"suspend: {job.err.text()}")
    with stage.Stage() as play:
        job = run(play, program, "resume-alone", 3, "2.30.7")
        stage.wait_until(lambda: open_findings(job) or job.popen.poll() is not None, 60)
        told = [(one["kind"], one["ranks"], one["late"]["waiting"]) for one in open_findings(job)]
        failures.check(told == [("hang", [2], [0, 1])] and "ncclCommResume of 3 ranks" in open_findings(job)[0]["text"],
                       f"resume-alone: {told}")


def check_destroy(failures, program):
    with stage.Stage() as play:
        job = run(play, program, "destroy", 2, "2.30.7")
        stage.wait_until(lambda: open_findings(job) or job.popen.poll() is not None, 60)
        told = [(one["kind"], one["ranks"], one["late"]["waiting"], one["text"]) for one in open_findings(job)]
        failures.check(len(told) == 1 and told[0][:3] == ("hang", [], [0, 1]) and "s in ncclCommDestroy" in told[0][3],
                       f"destroy: {told}")


def check_own_work(failures, what, text):
    own = re.search(r"own work (\d+) %", text)
    failures.check(own and int(own.group(1)) < 10,
                   f"{what}: time that may be a wait for a signal is nobody's own work: {text}")


def check_signals(failures, program):
    with stage.Stage() as play:
        job = run(play, program, "signals", 3, "2.30.7", RANKWATCH_GPU_TIME="watermark")
        failures.check(job.wait(60) == 0, f"signals: {job.err.text()}")
        named = [one["ranks"] for one in open_findings(job) if one["ranks"] not in ([], [2])]
        failures.check(not named, f"signals: nobody who only waited for a signal is named: {named}")
        check_own_work(failures, "signals", job.err.text())
        failures.check(not_seen(job.err.text()) == 3 * 2 * 40, f"signals are counted: {job.err.text()}")
        failures.check("not seen   240 of these are one-sided calls" in job.err.text(),
                       f"signals are told: {job.err.text()}")
        told = " ".join(report_lines(play))
        failures.check("240 untracked, 240 of them one-sided calls, which are not followed" in told,
                       f"signals, report: {told}")
        check_own_work(failures, "signals, report", told)
    with stage.Stage() as play:
        job = run(play, program, "signals-alone", 3, "2.30.7")
        stage.wait_until(lambda: open_findings(job) or job.popen.poll() is not None, 60)
        told = [(one["kind"], one["ranks"], one["late"]["waiting"], one["text"]) for one in open_findings(job)]
        # Rank 1 has its signal: rank 0 has sent it.
        failures.check(len(told) == 1 and told[0][:3] == ("hang", [], [0]) and "s in ncclWaitSignal" in told[0][3],
                       f"signals-alone: {told}")


def main(program):
    failures = stage.Failures()
    check_signals(failures, program)
    check_grow(failures, program)
    check_suspend(failures, program)
    check_destroy(failures, program)
    check_broadcasts(failures, program)
    check_uneven(failures, program)
    failures.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
