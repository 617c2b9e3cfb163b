#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""meshes.py [NAME…]: a GPU, or a stage of GPUs, that becomes slower in everything, or in its tensor parallel layers
only, in jobs whose steps have hundreds of operations, so that each is late by a millisecond or two. It must be named
within seconds, and nobody else; in the same job without a fault nobody. Without a name a selection;
RANKWATCH_TEST_LONG=1: all, also with the GPU progress of all operations, and each beside other work."""

import contextlib
import statistics
import subprocess
import sys

import stage

BUSY = """
import time
while True:
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass
    time.sleep(0.02)
"""
FAULT_STEP, STEPS = 14, 44
# six late steps are what it takes, and records are half a second old when they are judged
WITHIN_STEPS, MORE_S = 10, 2.0
SIZES = (f"--steps={STEPS}", "--limit=90")
FSDP = ("--ranks=8", "--accumulate=8", "--layers=3", "--elements=4096", "--step-ms=190")
TENSOR = ("--mesh=fsdp=4,tp=2", "--layers=4", "--elements=2048", "--step-ms=110")
LAYERS = (*TENSOR, "--outside-tp=30", "--step-ms=70")  # a third is computed outside of tensor parallel layers
PIPELINE = ("--mesh=pp=2,dp_replicate=4", "--microbatches=4", "--layers=4", "--elements=4096", "--step-ms=100")


def slow(percent, rank, ranks=1, fault="gpu-even"):
    return (f"--fault={fault}", f"--fault-percent={percent}", f"--fault-rank={rank}", f"--fault-ranks={ranks}",
            f"--fault-step={FAULT_STEP}")


# name: (arguments, ranks that are slow)
JOBS = {
    "accumulated": (FSDP + slow(50, 5), [5]),
    "tensor": (TENSOR + slow(50, 5), [5]),
    "tensor parallel layers": (LAYERS + slow(90, 5, fault="gpu-tp"), [5]),
    "stage": (PIPELINE + slow(60, 4, 4), [4, 5, 6, 7]),
    "replica": (PIPELINE + slow(60, 6), [6]),
    "host": (FSDP + ("--hosts=2",) + slow(50, 4, 4), [4, 5, 6, 7]),
    "host, tensor": (TENSOR + ("--hosts=2",) + slow(50, 4, 4), [4, 5, 6, 7]),
    "hosts, healthy": (TENSOR + ("--hosts=2",), []),
    "accumulated, healthy": (FSDP, []),
    "tensor, healthy": (TENSOR, []),
    "tensor parallel layers, healthy": (LAYERS, []),
    "pipeline, healthy": (PIPELINE, []),
}
SELECTION = ("accumulated", "tensor", "tensor parallel layers", "stage", "replica", "host, tensor", "tensor, healthy",
             "pipeline, healthy")
BESIDE_OTHER_WORK = ("tensor, healthy",)


@contextlib.contextmanager
def other_work(wanted):
    """A process that uses a third of a processor, in turns of 30 ms."""
    busy = subprocess.Popen([sys.executable, "-c", BUSY]) if wanted else None
    yield
    if busy:
        busy.kill()
        busy.wait()


def fault_begins_ns(play):
    begins = [event["monotonic_ns"] for event in play.events("fault")]
    return min(begins) if begins else 0


def limit_s(job, first=FAULT_STEP, within_steps=WITHIN_STEPS, more_s=MORE_S):
    """By when so many late steps were over: these steps, of which the machine may have made some longer than usual."""
    return more_s + sum(stage.job_result(job)["step_ms"][first - 1:first - 1 + within_steps]) / 1e3


def steps_of(job):
    steps = stage.job_result(job)["step_ms"]
    return (f", steps of {statistics.median(steps[:FAULT_STEP]):.0f} ms before and "
            f"{statistics.median(steps[FAULT_STEP:]):.0f} ms after")


def judge(failures, play, name, job, slow_ranks):
    named = [(at_ns, finding) for at_ns, finding in job.out.json()
             if finding.get("kind") == "straggler" and finding.get("severity") != "notice"]
    wrong = [finding["text"] for _, finding in named if not set(finding["ranks"]) <= set(slow_ranks)]
    failures.check(not wrong, f"{name}: nobody else is named {wrong or ''}", always=True)
    if not slow_ranks:
        return
    found = {rank for _, finding in named for rank in finding["ranks"]}
    failures.check(found == set(slow_ranks),
                   f"{name}: ranks {slow_ranks} are named, and {sorted(found)} were{steps_of(job)}"
                   f"{'' if found == set(slow_ranks) else job.err.text()}")
    if found:
        after_s = (named[0][0] - fault_begins_ns(play)) / 1e9
        print(f"{name}: named after {after_s:.1f} s{steps_of(job)}: {named[0][1]['text']}", flush=True)
        failures.check(after_s <= limit_s(job), f"{name}: after {after_s:.1f} s, limit {limit_s(job):.1f} s")


def play_job(failures, name, gpu_time, busy):
    arguments, slow_ranks = JOBS[name]
    what = name + (f", {gpu_time}" if gpu_time else "") + (", beside other work" if busy else "")
    with stage.Stage() as play, other_work(busy):
        job = play.start(stage.RANKWATCH, "run", "--json", "--job", play.dir.name, "--",
                         *stage.workload(*SIZES, *arguments), RANKWATCH_GPU_TIME=gpu_time)
        status = job.wait(120)
        failures.check(status == 0, f"{what}: status {status} {'' if status == 0 else job.err.text()}", always=True)
        judge(failures, play, what, job, slow_ranks)


def main(names):
    failures = stage.Failures(on_time=True)
    for name in names or (JOBS if stage.LONG else SELECTION):
        play_job(failures, name, None, False)
        if stage.LONG or (not names and name in BESIDE_OTHER_WORK):
            play_job(failures, name, None, True)
        if stage.LONG:
            play_job(failures, name, "watermark", False)
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1:])
