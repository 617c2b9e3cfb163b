#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flight_analyser.py: PyTorch's own Flight Recorder analyser on what `rankwatch dump --flight-recorder` writes of
recorded jobs. RANKWATCH_PYTORCH is a directory of PyTorch's source, 2.5 or 2.6, such as Debian's source package has it
(`apt-get source pytorch`); nothing of it is built. Without one it is skipped aloud."""

import pathlib
import re
import subprocess
import sys
import tempfile

from foreign import place, rankwatch
from recorded import boxes_of, check, finish, skip

# in later releases it is part of the package torch, and runs only where that is built
PROGRAM = "tools/flight_recorder/fr_trace.py"

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


def ask(source, name):
    with tempfile.TemporaryDirectory(prefix="rankwatch-flight.") as directory:
        dumps = pathlib.Path(directory) / "dumps"
        rankwatch("dump", "--flight-recorder", dumps, boxes_of(name, directory))
        done = subprocess.run([sys.executable, "-m", "tools.flight_recorder.fr_trace", dumps, "--prefix", "rank_"],
                              cwd=source, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return f"ended with {done.returncode}: {(done.stdout + done.stderr)[-600:]}"
    found = re.search(r"(missing ranks|error msg): .*", done.stdout + done.stderr)
    return found and found[0]


def main():
    source = place("RANKWATCH_PYTORCH", "source of PyTorch")
    if not (source / PROGRAM).is_file():
        skip(f"{source} has no {PROGRAM}")
    for name, expected in SAID.items():
        said = ask(source, name)
        check(re.match(expected, said or "") if expected else said is None, f"{name}: {said}")
    finish()


main()
