# SPDX-License-Identifier: MIT
"""Which step begins: the one function of the library that a program calls."""
from __future__ import annotations

import ctypes
import os
from typing import Callable, Iterable, Iterator, Optional, TypeVar

Item = TypeVar("Item")
LIBRARY = "libnccl-profiler-rankwatch.so"
LOOKS = 256  # NCCL loads the library with the first communicator: a program that has made none by then has no rankwatch

_function: Optional[Callable[[int], None]] = None
_looks = 0


def _look() -> Optional[Callable[[int], None]]:
    """The library's function where `rankwatch run` has preloaded it, or NCCL has loaded it. Nothing is loaded here."""
    for name, mode in ((None, ctypes.DEFAULT_MODE), (LIBRARY, ctypes.DEFAULT_MODE | os.RTLD_NOLOAD)):
        try:
            function = ctypes.CDLL(name, mode=mode).rankwatch_step
        except (OSError, AttributeError):
            continue
        function.argtypes, function.restype = [ctypes.c_uint64], None
        return function
    return None


def step(number: int) -> None:
    """Says that this rank begins the step of that number. Findings then use the program's own numbers.

    To be called on every rank, at the begin of each step (an optimiser step, not a micro-batch), before its first NCCL
    call. number: a count, 0 to 2**53 - 1; one outside of it is not reported. The same number again does nothing. Takes
    about a microsecond, and raises nothing but TypeError where number is no integer. """
    global _function, _looks
    if not 0 <= number < 1 << 53:
        return
    if _function is None and _looks < LOOKS:
        _looks += 1
        _function = _look()
    if _function is not None:
        _function(int(number))


def steps(items: Iterable[Item], first: int = 0) -> Iterator[Item]:
    """The items of a loop over batches, each announced as a step: for batch in rankwatch.steps(loader).

    items: any iterable; it is asked for the next item after the step has begun, so that waiting for data counts in it.
    first: the number of the first step, as after a checkpoint was loaded. Raises what the iterable raises. """
    number, rest = first, iter(items)
    while True:
        step(number)
        try:
            item = next(rest)
        except StopIteration:
            return
        yield item
        number += 1
