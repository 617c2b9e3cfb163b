#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""manners.py BUILD: what tests/gpu/run does where something is missing: no GPU, no NCCL, no time."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).resolve().parent / "run"
CALLS = ("first", "pair", "scan", "torch", "defaults")
failures = 0


def check(right, what):
    global failures
    print(("ok     " if right else "FAILED ") + what)
    failures += not right


def run(directory, *arguments, **environment):
    """(status, what it said, {part: reason why it was not run})"""
    done = subprocess.run([RUN, "--build", sys.argv[1], "--out", directory, *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment})
    results = sorted(pathlib.Path(directory).glob("*/results.jsonl"), key=os.path.getmtime)
    lines = [json.loads(line) for line in results[-1].read_text().splitlines()] if results else []
    return done.returncode, done.stdout + done.stderr, {line["part"]: line["what"] for line in lines
                                                        if line["kind"] == "skip"}


def check_no_time(directory):
    """Every call's limits add up to nine minutes at most, or it would refuse."""
    for call in CALLS:
        status, said, reasons = run(directory, "--stand-in", "--limit", "1", call)
        check(status == 0 and len(reasons) > 4 and set(reasons.values()) == {"no time was left (--limit 1)"},
              f"{call} without time: status {status}, not run: {', '.join(reasons)}")


def check_no_nccl(directory):
    """A machine with a driver and no NCCL: the stand-in's libcuda, and somebody who says that there is a GPU."""
    tools = pathlib.Path(directory, "tools")
    tools.mkdir()
    (tools / "nvidia-smi").write_text("#!/bin/sh\necho stand-in\n")
    (tools / "nvidia-smi").chmod(0o755)
    status, said, reasons = run(directory, "--nccl", "none", "--only", "capture", "--only", "sequence", SIM_QUIET="1",
                                PATH=f"{tools}:{os.environ['PATH']}", LD_LIBRARY_PATH=f"{sys.argv[1]}/sim")
    check(status == 0 and "capture: passed" in said, f"without NCCL: status {status}, the driver's parts run")
    check(reasons == {"pair": "there is no libnccl.so.2", "sequence": "there is no libnccl.so.2"},
          f"without NCCL: its parts are not run, with the reason: {reasons}")


def check_misuse(directory):
    check(run(directory, "second")[0] == 2 and run(directory)[0] == 2, "a call that is none, or no call, is misuse")
    if not os.path.exists("/dev/nvidiactl"):
        status, said, _ = run(directory, "first")
        check(status == 77 and "no NVIDIA GPU" in said, f"without a GPU: status {status}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_misuse(directory)
        check_no_time(directory)
        check_no_nccl(directory)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
