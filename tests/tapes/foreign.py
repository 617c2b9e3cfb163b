# SPDX-License-Identifier: MIT
"""What the tests share in which programs of others read what rankwatch writes of recorded jobs: such a program is named
by a variable of the environment; where it is not, the test is skipped aloud."""

import os
import pathlib
import subprocess

from recorded import RANKWATCH, skip

RANKS = range(8)  # of every recorded job


def place(variable, what):
    """Where the program of others is."""
    if not os.environ.get(variable):
        skip(f"{variable} names no {what}")
    return pathlib.Path(os.environ[variable])


def rankwatch(*arguments):
    subprocess.run([RANKWATCH, *arguments], check=True, stderr=subprocess.DEVNULL)
