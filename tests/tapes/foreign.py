# SPDX-License-Identifier: MIT
"""What the tests share in which programs of others read what rankwatch writes of recorded jobs: such a program is named by a variable of
the environment; where it is not, the test is skipped aloud."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RANKWATCH = os.environ["TEST_RANKWATCH"]
PLAYER = os.environ["TEST_TAPE_PLAYER"]
RANKS = range(8)  # of every recorded job
failed = 0


def check(right, what):
    global failed
    print(("ok     " if right else "FAILED ") + what, flush=True)
    failed += not right


def skip(why):
    print(f"skipped: {why}", flush=True)
    sys.exit(77)


def place(variable, what):
    """Where the program of others is."""
    if not os.environ.get(variable):
        skip(f"{variable} names no {what}")
    return pathlib.Path(os.environ[variable])


def boxes_of(name, directory):
    """The black boxes of a tape, in a directory of its name."""
    boxes = pathlib.Path(directory) / name
    boxes.mkdir()
    subprocess.run([PLAYER, HERE / f"{name}.tape", "boxes", boxes], check=True)
    return boxes


def rankwatch(*arguments):
    subprocess.run([RANKWATCH, *arguments], check=True, stderr=subprocess.DEVNULL)


def finish():
    sys.exit(failed != 0)
