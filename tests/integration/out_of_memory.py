#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every allocation of a command's run fails once, by itself and with all behind it: nobody dies of a signal, and who
fails says why. The plugin's init, `rankwatch report` and the start of the collector. libuv aborts where its own tables
cannot grow, and the dynamic loader where a thread's cannot: such a run is left out, and counted aloud."""

import os
import select
import signal
import subprocess
import sys
import tempfile

ALLOCATIONS_MAX = 400
FAILING, PLAYER = sys.argv[1:]
RANKWATCH = os.environ["TEST_RANKWATCH"]


def run(command, environment):
    """(exit status, output) of what ends by itself; a collector is ended when it has said something."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    if "collect" in command:
        select.select([process.stdout], [], [], 10)
        process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)[0]
    return process.returncode, output


def sweep(name, command, directory, refusals, most):
    failed = aborts = runs = 0
    told = os.path.join(directory, "told")
    for all_behind in "01":
        for number in range(1, most + 1):
            status, output = run(command,
                                 dict(os.environ, LD_PRELOAD=FAILING, FAIL_AT=str(number), FAIL_ON=all_behind,
                                      FAIL_TOLD=told,
                                               RANKWATCH_DIR=os.path.join(directory, "boxes"),
                                      XDG_RUNTIME_DIR=directory,
                                               RANK="0", WORLD_SIZE="2", RANKWATCH_QUIET="1"))
            runs += 1
            aborted = status == -signal.SIGABRT or b"thread-local data: ABORT" in output
            aborts += aborted
            # A collector that has not yet come to its handlers dies of our SIGTERM.
            if not aborted and (status not in (0, -signal.SIGTERM, *refusals) or (status > 0 and not output.strip())):
                failed += 1
                print(f"FAILED: {name}, allocation {number}{' and all behind it' if all_behind == '1' else ''}: "
                      f"{status} {output[-300:]}")
            if not os.path.exists(told):
                break
            os.unlink(told)
    print(f"{name}: {runs} runs, {aborts} aborted by a library")
    if aborts and "report" in command:
        failed += 1
        print(f"FAILED: {name}: aborted")
    return failed


with tempfile.TemporaryDirectory(dir="/dev/shm") as top:
    boxes = os.path.join(top, "boxes")
    os.mkdir(boxes, 0o700)
    subprocess.run([PLAYER, "play"], env=dict(os.environ, RANKWATCH_DIR=boxes, RANK="0", WORLD_SIZE="2"), check=True)
    # 3: the box could not be read to its end, which is said.
    broken = sweep("report", [RANKWATCH, "report", boxes], top, (1, 2, 3), ALLOCATIONS_MAX)
    broken += sweep("report --json", [RANKWATCH, "report", "--json", boxes], top, (1, 2, 3), ALLOCATIONS_MAX)
    broken += sweep("collect", [RANKWATCH, "collect", "--job", "memory"], top, (1, 2), 60)
    # What the loader cannot load (1) is not the plugin's; it shares the player's process.
    broken += sweep("plugin", [PLAYER, "play"], top, (1,), ALLOCATIONS_MAX)
sys.exit(1 if broken else 0)
