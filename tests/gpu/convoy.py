#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convoy.py THREADS SECONDS [SWITCH_MS]: Python's own lock as training meets it. The main thread does small work that
lets go of the lock (a system call), as a step does again and again; THREADS others compute. One JSON line per second:
how often the main thread came through, and how long each return to the lock took."""

import json
import os
import sys
import threading
import time


def compute(stop):
    total = 0
    while not stop.is_set():
        total += sum(range(1000))


def main():
    count, seconds = int(sys.argv[1]), float(sys.argv[2])
    if len(sys.argv) > 3:
        sys.setswitchinterval(float(sys.argv[3]) / 1000)
    stop = threading.Event()
    others = [threading.Thread(target=compute, args=(stop,), name="loader", daemon=True) for _ in range(count)]
    for thread in others:
        thread.start()
    null, end = os.open("/dev/null", os.O_WRONLY), time.monotonic() + seconds
    print(json.dumps({"pid": os.getpid(), "python": sys.version.split()[0],
                      "switch_ms": sys.getswitchinterval() * 1000}),
          flush=True)
    waits = []
    while time.monotonic() < end:
        begin = time.monotonic_ns()
        os.write(null, b"x" * 64)  # lets go of the lock, and has to have it back
        waits.append((time.monotonic_ns() - begin) / 1e6)
    stop.set()
    waits.sort()
    print(json.dumps({"turns": len(waits), "p50_ms": waits[len(waits) // 2], "p99_ms": waits[len(waits) * 99 // 100]}),
          flush=True)


if __name__ == "__main__":
    main()
