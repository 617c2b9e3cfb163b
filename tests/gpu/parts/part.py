# SPDX-License-Identifier: MIT
"""One part of tests/gpu/run: what it found goes to stdout for people, to results.jsonl in $GPU_OUT for the table, and
to recording.jsonl for those who compare the stand-in with it (compare.py)."""

import json
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "integration"))

OUT = pathlib.Path(os.environ["GPU_OUT"])
WORK = pathlib.Path(os.environ["GPU_WORK"])  # of this run, gone afterwards
WORK_SHARED = os.environ["GPU_BOXES"]  # the same, in /dev/shm
BUILD = pathlib.Path(os.environ["GPU_BUILD"])
STAND_IN = os.environ.get("GPU_STAND_IN") == "1"
LIBRARIES = os.environ["GPU_LIBRARIES"]  # LD_LIBRARY_PATH of what is under test
SIM_LIBRARIES = f"{BUILD}/sim:{BUILD}/plugin:{WORK}/lib"
PROGRAMS = BUILD / "tests/gpu"
NO_MEASUREMENT = "stand-in, not a measurement"
END = time.monotonic() + float(os.environ.get("GPU_PART_S", "120")) - 3


def left_s(most=1e9):
    """Seconds until bash ends this part."""
    return max(1.0, min(most, END - time.monotonic()))


def log(text):
    with open(OUT / "log.txt", "a") as file:
        file.write(text.rstrip("\n") + "\n")


class Part:
    def __init__(self, name):
        self.name = name
        self.failures = 0
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # out of time: what was begun is ended in order
        log(f"\n===== {name}")

    def _write(self, kind, what, **more):
        line = {"part": self.name, "kind": kind, "what": what, **more}
        if STAND_IN:
            line["stand_in"] = True
        with open(OUT / "results.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")

    def record(self, kind, **more):
        """Into recording.jsonl, with which the stand-in is compared (as_recorded.py). Kinds:
        machine: stand_in, machine, gpu, nccl. number: what, value, unit.
        callback: one call of NCCL into a profiler plugin (ABI v5): program, rank, us since the first, thread (0 for the
        first that called), text as tests/unit/sim/recording_plugin.c writes it. fact: what was asked, value: which
        calls return while a kernel waits, errors of calls during a capture, priorities, images that load, memory after
        a reset. thread: what the process did; thread main or other, name; state, call, about and wchan as seen most
        often in /proc, in share of the samples; cpu; switches_per_s."""
        with open(OUT / "recording.jsonl", "a") as file:
            file.write(json.dumps({"kind": kind, "part": self.name, **more}) + "\n")

    def check(self, right, what):
        """Whether it is so; a part with a check that failed fails."""
        print(("ok      " if right else "FAILED  ") + what, flush=True)
        self.failures += not right
        self._write("check", what, ok=bool(right))
        return right

    def number(self, what, value, unit):
        text = f"{value:.3g}" if isinstance(value, float) and abs(value) < 100 else f"{value:.0f}"
        print(f"        {what}: {text} {unit}" + (f" ({NO_MEASUREMENT})" if STAND_IN else ""), flush=True)
        self._write("number", what, value=value, unit=unit)
        self.record("number", what=what, value=value, unit=unit)

    def note(self, what, text):
        print(f"        {what}: {text}", flush=True)
        self._write("note", what, text=str(text))

    def fact(self, what, value):
        """How driver or NCCL behave, neither right nor wrong: the stand-in is held against it."""
        self._write("note", what, text=str(value))
        self.record("fact", what=what, value=str(value))

    def skip(self, reason):
        """Ends the part: it cannot run here."""
        print(f"not run {reason}", flush=True)
        self._write("skip", reason)
        sys.exit(77)

    def end(self):
        sys.exit(1 if self.failures else 0)


class Done:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def json(self):
        return json_lines(self.out)

    def why(self):
        """What a check's text ends with: nothing when the command passed."""
        return "" if self.status == 0 else f": {self.reason()}"

    def reason(self):
        """The line that tells most of a failure."""
        lines = [line for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        telling = [line for line in lines if "WARN" in line or "rror" in line]
        last = (telling or lines or ["no output"])[-1]
        return f"status {self.status}: {last.strip()[:200]}"


def json_lines(text):
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


LOG_LINES = 300  # of one command


def run(command, seconds, **environment):
    """With the libraries under test, ended with its children after `seconds` (status None)."""
    command = [str(word) for word in command]
    given = {**os.environ, "LD_LIBRARY_PATH": LIBRARIES, "SIM_CUDA_DEVICES": "1", "SIM_QUIET": "1", **environment}
    begin = time.monotonic()
    try:
        done = subprocess.run(["timeout", "--kill-after=2", f"{left_s(seconds):.0f}", *command], env=given, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, errors="replace")
        done = Done(None if done.returncode in (124, 137) else done.returncode, done.stdout, done.stderr)
    except OSError as error:
        done = Done(127, "", str(error))
    log(f"$ {shlex.join(command)}   ({environment}): {done.status} after {time.monotonic() - begin:.1f} s")
    log("\n".join((done.out + done.err).splitlines()[-LOG_LINES:]))
    return done


def median(values):
    return statistics.median(values) if values else float("nan")


class Pair:
    """How two ranks get onto one GPU here: found by the part `pair`, used by the others."""

    file = WORK / "pair.json"

    def __init__(self, part):
        if not self.file.exists():
            part.skip("two ranks cannot be had on this GPU, or the part 'pair' did not run")
        found = json.loads(self.file.read_text())
        self.name, self.hosts, self.environment = found["name"], found["hosts"], found["environment"]
        self.how = "hosts" if self.hosts else "two"
        self.workload = ["--ranks=2", "--hosts=2"] if self.hosts else ["--ranks=2"]
