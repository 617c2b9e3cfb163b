#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What this machine is: without it no number means anything."""

import glob
import os
import shutil
import sys

import part

NCCL_VERSION = ("import ctypes, sys; version = ctypes.c_int(); "
                "ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(version)); print(version.value)")
# Without importing it, which takes long.
TORCH = "from importlib.metadata import version; print(version('torch'))"
SMI = "name,driver_version,memory.total,compute_mode,mig.mode.current,clocks.sm,clocks.mem"
# What a sandbox may not have, and what it costs rankwatch.
LOOKED_FOR = [("perf_event_open", "/proc/sys/kernel/perf_event_paranoid"), ("BPF", "/sys/kernel/btf/vmlinux"),
              ("a thread's system call", "/proc/self/syscall"), ("control groups", "/sys/fs/cgroup/cgroup.controllers")]


def first_line(done):
    return done.out.strip().splitlines()[0] if done.status == 0 and done.out.strip() else None


def ask_nccl(self):
    nccl = os.environ["GPU_NCCL"]
    if not nccl:
        self.note("NCCL", "none")
        return None
    nccl = os.path.realpath(nccl)
    version = first_line(part.run([sys.executable, "-c", NCCL_VERSION, nccl], 20))
    self.check(version, f"NCCL {version} from {nccl}")
    return version


def main():
    self = part.Part("environment")
    system = os.uname()
    machine = f"{os.cpu_count()} CPUs, Linux {system.release} {system.machine}"
    self.note("machine", machine)
    shared = os.statvfs("/dev/shm")
    self.note("/dev/shm", f"{shared.f_frsize * shared.f_bavail >> 20} MiB free")
    for what, path in LOOKED_FOR:
        self.note(what, "there" if os.path.exists(path) else f"no {path}")
    gpu = "none: stand-in"
    if not part.STAND_IN:
        smi = part.run(["nvidia-smi", f"--query-gpu={SMI}", "--format=csv,noheader"], 20)
        gpu = first_line(smi) or smi.reason()
        self.note("device files", " ".join(sorted(glob.glob("/dev/nvidia*"))) or "none")
    self.note("GPU, driver, memory, compute mode, MIG, clocks", gpu)
    compiler = part.run(["nvcc", "--version"], 10) if shutil.which("nvcc") else None
    self.note("CUDA compiler", compiler.out.strip().splitlines()[-1] if compiler and compiler.out.strip() else "none")
    version = ask_nccl(self)
    self.note("PyTorch", first_line(part.run(["python3", "-c", TORCH], 20)) or "none")
    self.note("MPS", shutil.which("nvidia-cuda-mps-control") or "no nvidia-cuda-mps-control")
    self.record("machine", stand_in=part.STAND_IN, machine=machine, gpu=gpu, nccl=version)
    part.run([part.BUILD / "console/rankwatch", "doctor"], 20)  # into the log
    self.end()


if __name__ == "__main__":
    main()
