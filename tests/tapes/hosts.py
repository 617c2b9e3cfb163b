#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch hosts` over the boxes of recorded jobs: who took part, and who was named for what."""

import json
import subprocess
import tempfile

from recorded import RANKWATCH, boxes_of, check, finish

# Who is named: io-rank0 rank 0, killed 6, nan 5; a desync is the program's, and of overflow nobody is the cause.
TAPES = ("healthy", "io-rank0", "killed", "nan", "desync-count", "overflow")
NAMED = {0: (1, 0, 0), 6: (0, 1, 0), 5: (0, 0, 1)}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        places = [boxes_of(name, scratch) for name in TAPES]
        done = subprocess.run([RANKWATCH, "hosts", "--json", *places], capture_output=True, text=True)
        text = subprocess.run([RANKWATCH, "hosts", *places], capture_output=True, text=True)
    found = json.loads(done.stdout)
    check(done.returncode == 0 and found["jobs"] == len(TAPES), f"{found['jobs']} jobs {done.stderr}")
    host, = found["hosts"]
    check((host["jobs"], host["named"], host["late"], host["last"], host["bad"]) == (len(TAPES), 3, 1, 1, 1),
          f"one host: {host}")
    check(host["chance"] == 1 and not host["stands_out"], "which can be no other, so that nothing follows from it")
    gpus = {int(gpu["name"][-2:], 16) & 7: gpu for gpu in found["gpus"]}
    check(len(gpus) == 8 and all(gpu["jobs"] == len(TAPES) for gpu in gpus.values()), "eight GPUs in all jobs")
    counts = {rank: (gpu["late"], gpu["last"], gpu["bad"]) for rank, gpu in gpus.items() if gpu["named"]}
    check(counts == NAMED, f"named: {counts}")
    check("scontrol" not in text.stdout and text.stdout.startswith(f"{len(TAPES)} jobs, 1 host, 8 "
                                                                   f"GPUs\n{8 * len(TAPES)} of {8 * len(TAPES)} ranks, "
                                                                   "from their black boxes (level self)\n"),
          "nobody is to be drained, and it says what it stands on")
    check((found["ranks"], found["ranks_total"], found["level"]) == (8 * len(TAPES), 8 * len(TAPES), "self"),
          "as JSON, too")
    finish()


main()
