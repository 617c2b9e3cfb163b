#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flight_analyser.py: PyTorch's own Flight Recorder analyser on what `rankwatch dump --flight-recorder` writes of recorded jobs.
RANKWATCH_PYTORCH is a directory of PyTorch's source, 2.5 or 2.6, such as Debian's source package has it (`apt-get source pytorch`); nothing
of it is built. Without one it is skipped aloud."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RANKWATCH = os.environ["TEST_RANKWATCH"]
PLAYER = os.environ["TEST_TAPE_PLAYER"]
PROGRAM = "tools/flight_recorder/fr_trace.py"  # in later releases it is part of the package torch, and runs only where that is built

# What it says first of each job; None: every operation matches.
SAID = {
    "healthy": None,
    "nan-mesh": None,
    "fabric-stall": None,
    "never": r"missing ranks: \{4\}",
    "io-rank0": r"missing ranks: \{0\}",
    "killed": r"missing ranks: \{6\}",
    "abort": r"missing ranks: \{7\}",
    "stopped": r"missing ranks: \{2\}",
    "lock": r"missing ranks: \{3\}",
    "nfs-write": r"missing ranks: \{2\}",
    "desync-count": r"error msg: Culprit rank 2; Error type: SIZE_OR_SYNTAX_MISMATCH",
    "desync-extra": r"error msg: Culprit rank 5; Error type: COLLECTIVE_TYPE_MISMATCH",
    "desync-order": r"error msg: Culprit rank 1; Error type: COLLECTIVE_TYPE_MISMATCH",
}
failed = 0


def check(right, what):
    global failed
    print(("ok     " if right else "FAILED ") + what, flush=True)
    failed += not right


def skip(why):
    print(f"skipped: {why}", flush=True)
    sys.exit(77)


def ask(source, name):
    with tempfile.TemporaryDirectory(prefix="rankwatch-flight.") as directory:
        boxes, dumps = pathlib.Path(directory) / "boxes", pathlib.Path(directory) / "dumps"
        boxes.mkdir()
        subprocess.run([PLAYER, HERE / f"{name}.tape", "boxes", boxes], check=True)
        subprocess.run([RANKWATCH, "dump", "--flight-recorder", dumps, boxes], check=True, stderr=subprocess.DEVNULL)
        done = subprocess.run([sys.executable, "-m", "tools.flight_recorder.fr_trace", dumps, "--prefix", "rank_"], cwd=source, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return f"ended with {done.returncode}: {(done.stdout + done.stderr)[-600:]}"
    found = re.search(r"(missing ranks|error msg): .*", done.stdout + done.stderr)
    return found and found[0]


def main():
    if not os.environ.get("RANKWATCH_PYTORCH"):
        skip("RANKWATCH_PYTORCH names no source of PyTorch")
    source = pathlib.Path(os.environ["RANKWATCH_PYTORCH"])
    if not (source / PROGRAM).is_file():
        skip(f"{source} has no {PROGRAM}")
    for name, expected in SAID.items():
        said = ask(source, name)
        check(re.match(expected, said or "") if expected else said is None, f"{name}: {said}")
    sys.exit(failed != 0)


main()
