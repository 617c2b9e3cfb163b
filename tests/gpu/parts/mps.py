#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Under MPS, where kernels of both ranks run at the same time: does GPU progress work, and what does it cost there?"""

import os
import shutil
import subprocess

import jobs
import part
import stage
import stream


def control(command, environment):
    """(status, output) of a command for the daemon; none starts it. Its output is a file: a daemon keeps pipes open."""
    said = part.WORK / "mps-said"
    with open(said, "w") as file:
        done = subprocess.run(["timeout", "20", "nvidia-cuda-mps-control", *([] if command else ["-d"])], input=command,
                              env=environment, text=True, stdout=file, stderr=subprocess.STDOUT)
    return done.returncode, said.read_text(errors="replace").strip()


def measure(self, pair):
    page = part.run([part.PROGRAMS / "gpu_page", part.WORK_SHARED], 40)
    self.check(page.status == 0 and all(line["error"] == 0 and line["written"] for line in page.json()),
               f"under MPS: memory registered and written{page.why()}")
    with jobs.Job(pair) as job:
        process = job.begin(*stage.workload(*pair.workload, "--steps=10", "--step-ms=200", "--limit=40"))
        status, dump = job.finish(process, 50), job.dump()
    self.check(status == 0, f"under MPS: status {status}")
    jobs.check_recorded(self, "under MPS", dump)
    stream.measure(self, pair.how, "2", "1", pair.environment, " under MPS")


def main():
    self = part.Part("mps")
    if part.STAND_IN:
        self.skip("MPS needs a GPU")
    if not shutil.which("nvidia-cuda-mps-control"):
        self.skip("there is no nvidia-cuda-mps-control")
    pair = part.Pair(self)
    for name in ("PIPE", "LOG"):
        os.environ[f"CUDA_MPS_{name}_DIRECTORY"] = str(part.WORK / f"mps-{name.lower()}")
        (part.WORK / f"mps-{name.lower()}").mkdir()
    status, said = control("", os.environ)
    if status:
        self.skip(f"MPS does not start: status {status} {said[:200]}")
    try:
        if part.run([part.PROGRAMS / "gpu_calls", pair.how], 40, **pair.environment).status != 0:
            self.skip("two ranks do not work under MPS here")
        self.note("MPS servers", control("get_server_list\n", os.environ)[1] or "none: the programs ran without it")
        measure(self, pair)
    finally:
        control("quit -t 5\n", os.environ)
    self.end()


if __name__ == "__main__":
    main()
