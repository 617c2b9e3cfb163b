#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small model trained by PyTorch with NCCL, FSDP2 or DDP, on two ranks that may share one GPU. Starts its ranks
itself, as torchrun does; each prints one JSON line: how often it called what, by PyTorch's own flight recorder."""

import argparse
import collections
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import time

RANKS = 2


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallel", choices=("fsdp", "ddp"), default="fsdp")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--hosts", action="store_true", help="each rank claims a host of its own (NCCL_HOSTID)")
    parser.add_argument("--late-rank", type=int, default=-1, help="waits in each step from the eleventh on")
    parser.add_argument("--late-ms", type=int, default=0)
    parser.add_argument("--late-by", choices=("lock", "python"), default="lock",
                        help="another thread holds a lock, or computes in Python")
    parser.add_argument("--nan-rank", type=int, default=-1, help="computes one NaN in step --nan-step")
    parser.add_argument("--nan-step", type=int, default=15)
    return parser.parse_args()


def launch(hosts):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = []
    for rank in range(RANKS):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(port), "LOCAL_RANK": "0" if hosts else str(rank),
                       "LOCAL_WORLD_SIZE": "1" if hosts else str(RANKS),
                       "TORCH_NCCL_TRACE_BUFFER_SIZE": "20000", "TORCH_FR_BUFFER_SIZE": "20000"}
        if hosts:
            environment.update(NCCL_HOSTID=f"host-{rank}", SLURMD_NODENAME=f"host-{rank}")
        ranks.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
    while any(process.poll() is None for process in ranks):
        if any(process.poll() for process in ranks):
            for process in ranks:
                process.kill()
        time.sleep(0.1)
    return max(abs(process.wait()) for process in ranks)


class Late:
    """Another thread holds a lock; the main thread wants it."""

    def __init__(self, late_ms):
        self.late_s, self.lock, self.wanted = late_ms / 1000, threading.Lock(), threading.Semaphore(0)
        self.held = threading.Semaphore(0)
        threading.Thread(target=self._hold, name="checkpointer", daemon=True).start()

    def _hold(self):
        while True:
            self.wanted.acquire()
            with self.lock:
                self.held.release()
                time.sleep(self.late_s)

    def wait(self):
        self.wanted.release()
        self.held.acquire()
        with self.lock:
            pass


class LateByPython:
    """Another thread computes, and each small call of the main thread has to win Python's own lock back."""

    def __init__(self, late_ms):
        self.late_s, self.computing = late_ms / 1000, threading.Event()
        threading.Thread(target=self._compute, name="tokenizer", daemon=True).start()

    def _compute(self):
        while self.computing.wait():
            sum(range(1000))

    def wait(self):
        self.computing.set()
        with open(os.devnull, "wb", buffering=0) as file:
            end = time.monotonic() + self.late_s
            while time.monotonic() < end:
                file.write(b"x")
        self.computing.clear()


LATE = {"lock": Late, "python": LateByPython}


def build(parallel, torch):
    layers = [torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))
              for _ in range(4)]
    model = torch.nn.Sequential(*layers).cuda()
    if parallel == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    from torch.distributed.fsdp import fully_shard
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    return model


def calls(torch):
    """By PyTorch's flight recorder, which is not a public interface: {} where it is another one."""
    try:
        entries = pickle.loads(torch._C._distributed_c10d._dump_nccl_trace())["entries"]
    except (AttributeError, KeyError, pickle.UnpicklingError):
        return {}
    names = (entry.get("profiling_name", "?").removeprefix("nccl:") for entry in entries)
    return dict(collections.Counter(name for name in names if not name.endswith("coalesced")))


def train(arguments):
    import torch
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.distributed.init_process_group("nccl")
    torch.manual_seed(1)
    model = build(arguments.parallel, torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    late = LATE[arguments.late_by](arguments.late_ms) if arguments.late_rank == rank else None
    for step in range(arguments.steps):
        if late and step >= 10:
            late.wait()
        data = torch.randn(64, 1024, device="cuda")
        if rank == arguments.nan_rank and step == arguments.nan_step:
            data[0, 0] = float("nan")
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.distributed.all_reduce(loss.detach())
        torch.cuda.synchronize()
    print(json.dumps({"rank": rank, "loss": round(loss.item(), 4), "calls": calls(torch)}), flush=True)
    torch.distributed.destroy_process_group()


def main():
    arguments = parse()
    if "RANK" not in os.environ:
        sys.exit(launch(arguments.hosts))
    train(arguments)


if __name__ == "__main__":
    main()
