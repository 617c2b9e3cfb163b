# SPDX-License-Identifier: MIT
"""What tests share that ask the command about recorded jobs: the jobs' black boxes, and the count of what was wrong. A
test of tests/tapes/meson.build sets the environment."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RANKWATCH = os.environ["TEST_RANKWATCH"]
PLAYER = os.environ["TEST_TAPE_PLAYER"]
failed = 0


def check(right, what):
    global failed
    print(("ok     " if right else "FAILED ") + what, flush=True)
    failed += not right
    return right


def skip(why):
    print(f"skipped: {why}", flush=True)
    sys.exit(77)


def unpack(name, boxes):
    """The black boxes of a tape, in a directory that is made for them."""
    boxes.mkdir(parents=True)
    subprocess.run([PLAYER, HERE / f"{name}.tape", "boxes", boxes], check=True)


def boxes_of(name, directory):
    """The same in a directory of the tape's name."""
    boxes = pathlib.Path(directory) / name
    unpack(name, boxes)
    return boxes


def finish():
    """Ends the test."""
    sys.exit(failed != 0)
