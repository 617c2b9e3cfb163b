#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_python.py [live|nobody|boxes|table|torchrun] [FAULT…]: jobs of python_job.py under `rankwatch run` with Debian's
python3, each with one fault of those that Python programs have: rank, cause, thread or process and advice must be what
the row says; live, as an ordinary user, by a report that has what the collector kept, and from the black boxes alone.
table: plays all of it and prints the table of docs/accuracy.md. torchrun: the same table, of the same jobs under
PyTorch's own launcher, with its DataLoader; skipped where that Python has no PyTorch."""

import json
import os
import pathlib
import re
import subprocess
import sys

import stage

JOB = pathlib.Path(__file__).resolve().parent / "python_job.py"
PYTHON = os.environ.get("RANKWATCH_TEST_PYTHON") or ("/usr/bin/python3" if os.path.exists("/usr/bin/python3")
                                                     else sys.executable)
FAULTY = 2
LEVELS = ("live", "nobody", "boxes")
# What a collector says of the one worker that a rank waits for, and what that does follows.
WORKER = r"its child \d+ .{1,3}pt_data_worker.*"
# fault → kind, classes of its cause, what its text, chain or Python's function must hold, what the advice must. {level:
# …} where one level knows less. Classes: the first is the best answer; others are true as well, and less.
ROWS = {
    "sleep": ("straggler", {"sleep"}, "nanosleep|sleep", ""),
    "writer": ("straggler", {"io"}, "events.out.tfevents", ""),
    "checkpoint": ("straggler", {"io"}, "checkpoint.pt", ""),
    "loader": ("straggler", {"socket"},
               {"live": WORKER + "computes", "nobody": WORKER + "computes", "boxes": "read|pipe"}, ""),
    "loader-starved": ("straggler", {"socket"},
                       {"live": WORKER + "waits for a CPU", "nobody": WORKER + "waits for a CPU", "boxes": "read|pipe"},
                       ""),
    "loader-forked": ("hang", {"socket"},
                      {"live": WORKER + "held when it was forked", "nobody": WORKER + "held when it was forked",
                       "boxes": "read|pipe"},
                      {"live": "spawn or forkserver", "nobody": "spawn or forkserver", "boxes": ""}),
    "torch-loader": ("straggler", {"socket", "process"},
                     {"live": r"(process|its child) \d+ .{1,3}(pt_data_worker|python3)",
                      "nobody": "poll|pipe|select|socket", "boxes": "poll|pipe|select|socket"}, ""),
    "torch-loader-killed": ("gone", {"gone"}, "", "log|traceback|status"),
    "loader-killed": ("gone", {"gone"}, "", "log|traceback|status"),
    "tcp": ("straggler", {"socket"}, {"live": "127.0.0.1", "nobody": "127.0.0.1", "boxes": "recv|socket"}, ""),
    "convoy": ("straggler", {"lock"}, {"live": "in turn", "nobody": "futex|lock", "boxes": "futex|lock"}, ""),
    "gc": ("straggler", {"running", "cpu"}, "", ""),
    "pickle": ("straggler", {"running", "cpu"}, "", ""),
    "cpu": ("straggler", {"cpu"}, "CPU|run queue", ""),
    "deadlock": ("hang", {"lock"}, "futex|lock", ""),
    "exception": ("gone", {"gone"}, "", "log|traceback|status"),
    "segfault": ("gone", {"gone"}, "", "core|faulthandler"),
    "restart": ("gone", {"gone"}, "", "log|traceback|status"),
}
# What the interpreter does, at the levels at which somebody may look into it.
DOES = {"gc": lambda python: python.get("collecting", 0) > 0,
        "pickle": lambda python: ((python.get("inside") or {}).get("function") or "").startswith("ForkingPickler.")}
# Python's function, where somebody may and could look.
FUNCTIONS = {"pickle": "save_state", "deadlock": "take_both_locks"}
DISKS = ("writer", "checkpoint")
STATUS = {"loader-killed": 1, "loader-forked": 124, "torch-loader-killed": 1, "exception": 1, "segfault": 139,
          "deadlock": 124}
STATUS_OF_TORCHRUN = {**STATUS, "segfault": 1}
OF_TORCH = ("torch-loader", "torch-loader-killed")
# What Python needs to find PyTorch, where that is not installed for all.
FINDS_TORCH = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
TORCH_LIBRARIES = os.environ.get("RANKWATCH_TEST_TORCH_LIBRARIES", "")


# --redirects and --tee: PyTorch 1.13 with Python 3.11 takes its own defaults for none at all.
def torchrun(play, fault):
    command = ["timeout", "60", PYTHON, "-m", "torch.distributed.run", "--nproc_per_node", "4", "--rdzv_backend",
               "c10d",
               "--rdzv_endpoint", "localhost:0", "--max_restarts", "1" if fault == "restart" else "0", "--redirects",
               "1", "--tee", "1",
               "--log_dir", play.runtime / "logs", JOB, fault, play.runtime]
    return command if fault == "deadlock" else command[2:]


def torch_environment():
    libraries = [stage.SIM_DIR, TORCH_LIBRARIES]
    return {**FINDS_TORCH, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}


def need_torch():
    environment = {**os.environ, **torch_environment()}
    if subprocess.run([PYTHON, "-c", "import torch.distributed.run"], env=environment, capture_output=True).returncode:
        stage.skip(f"{PYTHON} has no PyTorch (Debian: python3-torch)")


def report(play):
    process = play.start(stage.RANKWATCH, "report", "--json", "--all", play.boxes)
    process.wait(60)
    return [value for _, value in process.out.json() if value.get("kind")]


def play_job(nobody, fault, of_torch):
    """(status, findings in order of revision, of a report with what was seen live, of one from the boxes alone, what
    was said)."""
    with stage.Stage(nobody) as play:
        job = torchrun(play, fault) if of_torch else [PYTHON, JOB, fault]
        if fault in DISKS:
            job = stage.slow_disk(*job)
        run = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", *job,
                         SLOW_DISK_METHOD="through" if fault == "writer" else None, RANKWATCH_GPU_TIME="watermark",
                         **(torch_environment() if of_torch else {}))
        status = run.wait(420)
        live = [value for _, value in run.out.json() if value.get("kind")]
        afterwards = report(play)
        for file in play.boxes.rglob("*.rwevidence"):
            file.unlink()
        return status, live, afterwards, report(play), run.err.text()


def last_of(findings, kind):
    """The last revision of the finding of this kind that says most: one that is open, or was."""
    mine = [finding for finding in findings if finding["kind"] == kind and finding["severity"] != "notice"]
    told = [finding for finding in mine if (finding.get("cause") or {}).get("text")]
    return (told or mine or [None])[-1]


def of_level(value, level):
    return value[level] if isinstance(value, dict) else value


def may_look(level):
    """Into the interpreter: root, and the same user where the kernel lets one attach a debugger; of some of its
    releases (docs/host-evidence.md#python)."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    release = subprocess.run([PYTHON, "-c", "import sys, platform; print(sys.implementation.name, platform.machine(), "
                                            "*sys.version_info[:2])"],
                             capture_output=True, text=True, check=True).stdout.split()
    known = release[:3] == ["cpython", "x86_64", "3"] and 11 <= int(release[3]) <= 15
    return known and (level == "live"
                      or (level == "nobody" and (not scope.exists() or scope.read_text().strip() == "0")))


def judge(failures, level, fault, findings, when=""):
    """Checks the row; returns what the table says of it."""
    kind, classes, holds, advises = ROWS[fault]
    finding = last_of(findings, kind)
    name = f"{fault}, {level}{when}"
    accused = {rank for other in findings if other["severity"] != "notice" and other["confidence"] != "inconclusive"
               for rank in other["ranks"]}
    failures.check(accused <= {FAULTY}, f"{name}: nobody else is named: {accused}", always=True)
    if not failures.check(finding, f"{name}: it is found: {[other['kind'] for other in findings]}"):
        return "–"
    cause = finding.get("cause") or {}
    said = json.dumps([cause, finding.get("text"), finding.get("evidence")])
    failures.check(finding["ranks"] == [FAULTY], f"{name}: rank {finding['ranks']}", always=True)
    failures.check(cause.get("class") in classes, f"{name}: cause {cause.get('class')}: {cause.get('text')}")
    failures.check(re.search(of_level(holds, level), said), f"{name}: says /{of_level(holds, level)}/: {cause}")
    failures.check(re.search(of_level(advises, level), finding.get("advice") or "", re.I),
                   f"{name}: advises /{of_level(advises, level)}/: {finding.get('advice')}")
    # On a machine on which it has no CPU the collector has none to look either.
    runs = any((other.get("cause") or {}).get("class") == "running" for other in findings)
    if fault in DOES and may_look(level) and runs:
        failures.check(any(DOES[fault]((other.get("cause") or {}).get("python") or {}) for other in findings),
                       f"{name}: and what the interpreter does: {cause.get('python')}")
    function = ((cause.get("python") or {}).get("at") or {}).get("function")
    failures.check(not function or re.search(FUNCTIONS.get(fault, "strike") + "|^train$", function),
                   f"{name}: the function is {function}", always=True)
    return f"{cause.get('class')}, {finding['confidence']}: {cause.get('text') or finding['text']}"


def check_turns(failures, name, findings, said, looks):
    """Nobody is named; the summary says how often others waited for whom, and what those did."""
    accused = [finding["text"] for finding in findings if finding["severity"] != "notice"]
    failures.check(not accused, f"{name}: nobody is named: {accused}", always=True)
    turns = re.search(r"(\d+) % of the time by turns: (\d+) times in \d+ steps, (\d+) ms each", said)
    if not failures.check(turns, f"{name}: told as turns: {said}"):
        return
    share, times, each_ms = map(int, turns.groups())
    failures.check(share >= 25 and 18 <= times <= 26 and 150 <= each_ms <= 500, f"{name}: {turns[0]}")
    failures.check(all(f"rank {rank} " in said for rank in range(4)), f"{name}: for each rank")
    failures.check(not looks or "Python collected garbage" in said, f"{name}: and what they did: {said}")
    failures.check("gc.freeze()" in said, f"{name}: advice")


def check_restart(failures, findings):
    """The second life of the job is a good one: nothing of it is open, and of the first nothing stays so."""
    of_second = [finding for finding in findings if finding["job"]["generation"] == 1
                 and finding["severity"] != "notice"]
    failures.check(not of_second, f"nothing is found in the second life: {[finding['text'] for finding in of_second]}")
    states = {finding["id"]: finding["state"] for finding in findings if finding["severity"] != "notice"}
    failures.check(set(states.values()) <= {"closed"}, f"what was found in the first is closed: {states}")


def main(level, *faults):
    failures = stage.Failures(on_time=True)
    table = {}
    of_torch = level == "torchrun"
    if level == "nobody":
        stage.need_nobody()
    if of_torch:
        need_torch()
    faults = faults or [fault for fault in (*ROWS, "gc-in-turn") if of_torch or fault not in OF_TORCH]
    level = "table" if of_torch else level
    for fault in faults:
        for nobody in [False, True] if level == "table" else [level == "nobody"]:
            status, live, afterwards, boxes, said = play_job(nobody, fault, of_torch)
            if status == 77:
                print(f"{fault}: left out: {said}")
                continue
            failures.check(status == (STATUS_OF_TORCHRUN if of_torch else STATUS).get(fault, 0),
                           f"{fault}: the job ends with {status}")
            seen = "nobody" if nobody else "live"
            if fault == "gc-in-turn":
                check_turns(failures, f"{fault}, {seen}", live, said, may_look(seen))
                continue
            if level in ("table", seen):
                table[fault, seen] = judge(failures, seen, fault, live)
                judge(failures, seen, fault, afterwards, ", in a report")
            if level in ("table", "boxes") and not nobody:
                table[fault, "boxes"] = judge(failures, "boxes", fault, boxes)
            if fault == "restart" and level != "boxes":
                check_restart(failures, live)
    if level == "table":
        print("| fault | with eBPF | as an ordinary user | from boxes alone |\n|---|---|---|---|")
        for fault in faults:
            print("| " + " | ".join([fault] + [table.get((fault, seen), "–") for seen in LEVELS]) + " |")
    failures.end()


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["live"]))
