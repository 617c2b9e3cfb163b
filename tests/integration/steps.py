#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""steps.py [WAY…]: jobs whose program numbers its steps itself. The late rank's finding must say the program's number,
live and from the black boxes, and the boxes must hold a mark for each step."""

import json
import os
import sys

import stage

FIRST, FAULTY = 5000, 2
STEP_MS = 150
# Behind the first 24, in which a rank is named only where little else happens, and three times the 8 to 11 late steps
# that it takes.
STEPS, FAULT_STEP = 64, 28
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_job.py")
PYTHON_FAULT_STEP = 7
GPU = {"RANKWATCH_GPU_TIME": "watermark"}


def in_c(*arguments):
    return stage.workload("--ranks", 4, "--steps", STEPS, "--step-ms", STEP_MS, "--fault", "gpu", "--fault-rank",
                          FAULTY, "--fault-step", FAULT_STEP, *arguments)


def in_python():
    return [PYTHON, JOB, "sleep"]


# Way → command, options of `run`, variables, step of the fault, ranks that mark their steps, who says so in the box.
WAYS = {
    "call": (in_c("--call-steps", FIRST), [], GPU, FAULT_STEP, 4, "rankwatch_step"),
    "call, loaded by NCCL": (in_c("--call-steps", FIRST), ["--no-preload"], GPU, FAULT_STEP, 4, "rankwatch_step"),
    "one rank": (in_c("--call-steps", FIRST, "--step-rank", 0), [], GPU, FAULT_STEP, 1, "rankwatch_step"),
    "tag": (in_c("--tag-steps", FIRST), [], {**GPU, "SIM_NCCL_VERSION": "2.31.2"}, FAULT_STEP, 4, "userTag"),
    "python": (in_python(), [], {**GPU, "FIRST_STEP": str(FIRST)}, PYTHON_FAULT_STEP, 4, "rankwatch_step"),
    "python, loaded by NCCL": (in_python(), ["--no-preload"], {**GPU, "FIRST_STEP": str(FIRST)}, PYTHON_FAULT_STEP, 4,
                               "rankwatch_step"),
}


def stragglers(lines):
    return [line for line in lines if line.get("kind") == "straggler" and line["severity"] != "notice"]


def check_findings(failures, name, found, begins):
    if not failures.check(found, f"{name}: a straggler is found"):
        return
    failures.check({rank for line in found for rank in line["ranks"]} == {FAULTY},
                   f"{name}: ranks {[line['ranks'] for line in found]}", always=True)
    # Never a number of another count; the step itself nearly: on a busy machine the rank may be late a little before.
    # What sums over whole steps show first has no operation.
    numbers = [line["late"]["since_step"] for line in found]
    numbers += [line["operation"]["step"] for line in found if line["operation"]]
    failures.check(all(number is None or number >= FIRST for number in numbers), f"{name}: numbers {numbers}",
                   always=True)
    since = found[-1]["late"]["since_step"]
    failures.check(since in range(begins - 4, begins + 2), f"{name}: since step {since}, and it began in {begins}")


def check_marks(failures, name, lines, marking, source):
    marks = {}
    for line in lines:
        if "step" in line.get("known", []):
            marks.setdefault(line["rank"], []).append(line)
    failures.check(len(marks) == marking, f"{name}: {sorted(marks)} mark their steps", always=True)
    for rank, of_rank in marks.items():
        numbers = [mark["step"] for mark in of_rank]
        failures.check(numbers == list(range(FIRST, FIRST + len(numbers))) and len(numbers) >= 24,
                       f"{name}: rank {rank} marks {numbers}", always=True)
        failures.check({mark["step_from"] for mark in of_rank} == {source},
                       f"{name}: marks of rank {rank} are from {of_rank[0]['step_from']}", always=True)


def check_trace(failures, name, play, step):
    """`rankwatch trace --around "step N"`: of the steps' slices this one, those within a second of it, and no
    others."""
    file = play.dir / "around.json"
    trace = play.start(stage.RANKWATCH, "trace", "--format", "chrome", "--around", f"step {step}", "--seconds", "1",
                       "-o", file, play.boxes)
    failures.check(trace.wait(60) == 0, f"{name}: trace around step {step}", always=True)
    slices = [event for event in json.loads(file.read_text())["traceEvents"]
              if event.get("name", "").startswith("step ")]
    here = [event for event in slices if event["name"] == f"step {step}"]
    begin, end = (pick(times) for pick,
                  times in ((min, [event["ts"] for event in here]),
                            (max, [event["ts"] + event["dur"] for event in here])))
    failures.check(len(here) == 4, f"{name}: {len(here)} ranks in step {step}", always=True)
    failures.check(all(event["ts"] <= end + 1.001e6 and event["ts"] + event["dur"] >= begin - 1.001e6
                       for event in slices),
                   f"{name}: {sorted({event['name'] for event in slices})} are within a second of it", always=True)
    none = play.start(stage.RANKWATCH, "trace", "--around", "step 3", "-o", file, play.boxes)
    failures.check(none.wait(60) == 1 and "no rank was seen in this step" in none.err.text(),
                   f"{name}: no step 3 is there", always=True)


def pace(said):
    """How many times as long as planned the steps before the fault took, by the job's own times; 1 where it printed
    none."""
    times = next((json.loads(line).get("step_ms", []) for line in said.splitlines() if line.startswith('{"ranks"')),
                 [])[:FAULT_STEP - 1]
    return sum(times) / len(times) / STEP_MS if times else 1.0


def pace_without_rankwatch():
    with stage.Stage() as play:
        job = play.start(*in_c(), **GPU)
        job.wait(180)
        return pace(job.out.text())


def play(failures, name):
    command, options, variables, fault_step, marking, source = WAYS[name]
    with stage.Stage() as play:
        run = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", *options, "--", *command,
                         **variables)
        status = run.wait(180)
        failures.check(status == 0, f"{name}: the job ends with {status}", always=True)
        failures.pace = max(failures.pace, pace(f"{run.out.text()}\n{run.err.text()}"))
        begins = FIRST + fault_step - 1
        check_findings(failures, f"{name}, live", stragglers([line for _, line in run.out.json()]), begins)
        report = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
        report.wait(60)
        check_findings(failures, f"{name}, report", stragglers([line for _, line in report.out.json()]), begins)
        if marking == 4:
            check_trace(failures, name, play, begins + 2)
        dump = play.start(stage.RANKWATCH, "dump", play.boxes)
        dump.wait(60)
        check_marks(failures, name, [json.loads(line) for line in dump.out.text().splitlines()], marking, source)


def main():
    failures = stage.Failures(on_time=True, control=pace_without_rankwatch)
    for name in sys.argv[1:] or WAYS:
        play(failures, name)
    failures.end()


main()
