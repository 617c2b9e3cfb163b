#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rank.py WORKLOAD.SO [ARGUMENT…]: a rank of the workload in the real interpreter, for the fault `convoy`.

The main thread trains in C, as PyTorch does, and holds no lock there. Between two steps it runs lines of Python. Where
the fault strikes, eight other threads compute in Python meanwhile: each call of the main thread that lets go of the
interpreter's lock and waits for something costs it a wait for those who took the lock, too."""

import ctypes
import os
import pickle
import sys
import threading
import time

COMPUTERS = 8
CALLS = 16

busy = threading.Event()
samples = [{"text": "word " * 20, "label": number} for number in range(6000)]


def compute():
    """What a tokeniser or an augmentation in a thread does: Python, and pickling, which lets go only when it is
    done."""
    while busy.wait():
        pickle.loads(pickle.dumps(samples))
        sum(number * number for number in range(500))


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def lines(crowded):
    """A training loop's own lines, with calls that wait for a millisecond, as those that fetch a number from the GPU
    do."""
    if crowded:
        busy.set()
    for _ in range(CALLS):
        time.sleep(0.001)
    busy.clear()


def main():
    library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)  # the stand-in's GPU looks kernels up by name
    for _ in range(COMPUTERS):
        threading.Thread(target=compute, daemon=True).start()
    arguments = [b"workload", *map(os.fsencode, sys.argv[2:])]
    sys.exit(library.workload_rank(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments), lines))


main()
