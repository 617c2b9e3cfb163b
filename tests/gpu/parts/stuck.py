#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel that never ends: what do the threads of a host that waits for it look like, in each way of waiting?"""

import os
import select
import subprocess

import part
import threads

WAYS = ("auto", "spin", "yield", "block", "event", "copy", "query")
READY_S, WATCH_S = 15, 0.4 if part.STAND_IN else 1.5


def play(self, way):
    # The stand-in would save processors by sleeping in between.
    environment = {**os.environ, "LD_LIBRARY_PATH": part.LIBRARIES, "SIM_CUDA_DEVICES": "1", "SIM_QUIET": "1",
                   "SIM_CUDA_SPIN": "100"}
    with subprocess.Popen([part.PROGRAMS / "gpu_stuck", way], env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            select.select([process.stdout], [], [], part.left_s(READY_S))
            found = part.json_lines(process.stdout.readline()) if process.poll() is None else []
            if found:
                # So long that it waits as it will go on to: CUDA may spin for a while before it blocks.
                threads.watch(process.pid, WATCH_S / 2, 5)
                threads.tell(self, f"waiting for a kernel that does not end, {way}",
                             threads.watch(process.pid, WATCH_S))
            process.stdin.close()
            status = process.wait(part.left_s(READY_S))
            said = process.stderr.read().strip()
        except subprocess.TimeoutExpired:
            status, said = None, "it did not end with its kernel"
        finally:
            process.kill()
    if status == 77:
        self.note(f"waiting for a kernel that does not end, {way}", f"not run: {said}")
    else:
        self.check(found and status == 0, f"{way}: it waited, and went on when the kernel ended"
                   + (f": status {status} {said}" if status else ""))


def main():
    self = part.Part("stuck")
    for way in WAYS:
        if part.left_s() > 5:
            play(self, way)
    self.end()


if __name__ == "__main__":
    main()
