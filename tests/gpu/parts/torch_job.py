#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch with NCCL: FSDP2 and DDP of a small model on two ranks under `rankwatch run`. The same claims as for the
workload; what there was to record is told by PyTorch's own flight recorder."""

import collections
import os

import jobs
import part

TRAIN = part.HERE.parent / "train.py"
USABLE = "import torch, torch.distributed as d; assert torch.cuda.is_available() and d.is_nccl_available()"
# PyTorch's name of a call, NCCL's function.
FUNCTIONS = {"all_reduce": "AllReduce", "all_reduce_barrier": "AllReduce", "_all_gather_base": "AllGather",
             "_allgather_base": "AllGather", "all_gather": "AllGather", "_reduce_scatter_base": "ReduceScatter",
             "reduce_scatter": "ReduceScatter", "broadcast": "Broadcast", "_broadcast_oop": "Broadcast"}


# PyTorch brings an NCCL of its own.
LIBRARIES = ":".join(path for path in part.LIBRARIES.split(":")
                     if path != os.path.dirname(os.environ["GPU_NCCL"] or "-"))


def command(pair, *arguments):
    return ["python3", TRAIN, *(["--hosts"] if pair.hosts else []), *arguments]


def counted(process):
    """{rank: {function: calls}} as the ranks print from PyTorch's flight recorder; names that we do not know stay."""
    ranks = {}
    for line in part.json_lines(process.out.text()):
        if "calls" in line:
            counts = collections.Counter()
            for name, count in line["calls"].items():
                counts[FUNCTIONS.get(name, name)] += count
            ranks[line["rank"]] = dict(counts)
    return ranks


def recorded(dump):
    return {rank: dict(collections.Counter(line[0] for line in lines)) for rank, lines in jobs.operations(dump).items()}


def check_healthy(self, pair, parallel, steps):
    with jobs.Job(pair, LIBRARIES) as job:
        process = job.begin(*command(pair, "--parallel", parallel, "--steps", steps))
        status = job.finish(process, 90)
        findings, dump = job.findings(), job.dump()
    if not self.check(status == 0, f"{parallel}: status {status}"):
        self.note(f"{parallel}: last words", (process.err.text().strip().splitlines() or ["none"])[-1])
        return
    jobs.check_silent(self, parallel, findings)
    jobs.check_recorded(self, parallel, dump)
    said, found = counted(process), recorded(dump)
    # The flight recorder is no public interface: what it cannot be asked is no failure.
    if said:
        self.check(said == found, f"{parallel}: recorded {found}" +
                   ("" if said == found else f", but PyTorch's flight recorder says {said}"))
    else:
        self.note(f"{parallel}: recorded {found}", "PyTorch's flight recorder says nothing")


def check_late(self, pair, by):
    """by: another thread that holds a lock, or that computes in Python, so that the main thread waits for Python's
    own."""
    with jobs.Job(pair, LIBRARIES) as job:
        process = job.begin(*command(pair, "--steps", "30", "--late-rank", "1", "--late-ms", "600", "--late-by", by))
        status = job.finish(process, 90)
        findings = job.findings()
    self.check(status == 0, f"late by {by}: status {status}")
    jobs.check_straggler(self, f"late by {by}", findings, 1, "lock")


def check_nan(self, pair):
    """One element of one rank's input, with the settings that users have."""
    with jobs.Job(pair, LIBRARIES) as job:
        process = job.begin(*command(pair, "--steps", "20", "--nan-rank", "1", "--nan-step", "15"))
        status = job.finish(process, 90)
        findings = [finding for finding in job.findings() if finding["kind"] == "nan"]
    self.check(status == 0, f"NaN: status {status}")
    for finding in findings:
        self.note("NaN: found", finding["text"])
    self.check([finding["ranks"] for finding in findings] == [[1]], "NaN: rank 1 named, nobody else")


def check_killed(self, pair):
    with jobs.Job(pair, LIBRARIES) as job:
        process = job.begin(*command(pair, "--late-rank", "1", "--late-ms", "100000"))
        jobs.check_killed(self, "killed", job, process)


def main():
    self = part.Part("torch")
    if part.STAND_IN:
        self.skip("PyTorch's kernels need a GPU")
    usable = part.run(["python3", "-c", USABLE], 60)
    if usable.status != 0:
        self.skip(f"no PyTorch with CUDA and NCCL here ({usable.reason()})")
    pair = part.Pair(self)
    check_healthy(self, pair, "fsdp", 20)
    check_healthy(self, pair, "ddp", 20)
    check_late(self, pair, "lock")
    check_late(self, pair, "python")
    check_nan(self, pair)
    check_killed(self, pair)
    self.end()


if __name__ == "__main__":
    main()
