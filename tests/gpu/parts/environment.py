#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What this machine is: without it no number means anything."""

import os
import shutil
import sys

import part

NCCL_VERSION = ("import ctypes, sys; version = ctypes.c_int(); "
                "ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(version)); print(version.value)")
TORCH = ("import torch; print(torch.__version__, 'CUDA', torch.version.cuda, 'NCCL', "
         "torch.cuda.nccl.version() if torch.cuda.is_available() else 'no GPU')")


def first_line(done):
    return done.out.strip().splitlines()[0] if done.status == 0 and done.out.strip() else None


def main():
    self = part.Part("environment")
    system = os.uname()
    self.note("machine", f"{os.cpu_count()} CPUs, Linux {system.release} {system.machine}")
    shared = os.statvfs("/dev/shm")
    self.note("/dev/shm", f"{shared.f_frsize * shared.f_bavail >> 20} MiB free")
    if part.STAND_IN:
        self.note("GPU", "none: stand-in")
    else:
        smi = part.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_mode,mig.mode.current",
                        "--format=csv,noheader"], 20)
        self.note("GPU, driver, memory, compute mode, MIG", first_line(smi) or smi.reason())
    compiler = part.run(["nvcc", "--version"], 10) if shutil.which("nvcc") else None
    self.note("CUDA compiler", compiler.out.strip().splitlines()[-1] if compiler and compiler.out.strip() else "none")
    nccl = os.path.realpath(os.environ["GPU_NCCL"])
    version = part.run([sys.executable, "-c", NCCL_VERSION, nccl], 20)
    self.check(first_line(version), f"NCCL {first_line(version)} from {nccl}")
    torch = part.run(["python3", "-c", TORCH], 60)
    self.note("PyTorch", first_line(torch) or "none")
    self.note("MPS", shutil.which("nvidia-cuda-mps-control") or "no nvidia-cuda-mps-control")
    part.run([part.BUILD / "console/rankwatch", "doctor"], 20)  # into the log
    self.end()


if __name__ == "__main__":
    main()
