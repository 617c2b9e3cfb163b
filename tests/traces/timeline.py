#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs that ran in production, as black boxes: reads the timelines that ByteDance published with "Understanding
Stragglers in Large Model Training Using What-if Analysis" (github.com/ByteDance-Seed/StragglerAnalysis,
data/timeline-*.json.gz; whoever runs this fetches them) and writes the boxes that rankwatch's plugin would have left,
for `rankwatch report`. Shares no code with the analysis.

    timeline.py data/timeline-AR.json.gz boxes/                     as it was traced
    timeline.py data/timeline-ST.json.gz boxes/ --slow 5=1.5        played again: worker 5 computes 1.5 times as long
    timeline.py … --replay                                          played again as it was
    timeline.py … --host-gpus 8                                     with a host for each 8 GPUs, clocks hours apart

A timeline has, for each worker (one GPU of a tensor parallel group) and some of the job's steps, when it computed, and
when data were transferred; waiting is what lies between. A worker has come to a transfer when the computation in front
of it was over. The steps are put one behind the other as if none had been between them. Played again: computations take
as long as they took, transfers begin when both sides have come. The AllReduces of layer norm are between the GPUs of
one worker, of which the timeline has one: of their ranks one is seen. The job's shape is read from meta-*.yaml beside
the timeline."""

import argparse
import gzip
import hashlib
import json
import os
import pathlib
import struct
import sys

MS = 1e3  # of the timeline's µs
NEAR = 1 * MS  # what ends so shortly behind the begin of something was over before it
DELAY_MOST = 50 * MS  # between the end of a transfer and the computation that waited for it
EPOCH_NS = 1_000_000_000_000
APART_NS = 4_321_987_654_321  # between the clocks of two hosts
COMPUTE = ("forward-compute", "backward-compute")
PEERS = {"forward-send": 1, "forward-recv": -1, "backward-send": -1, "backward-recv": 1}
ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, SEND, RECV = 1, 2, 7, 9, 10  # enum rw_function
FUNCTIONS = {"params-all-gather": ALL_GATHER, "grads-reduce-scatter": REDUCE_SCATTER,
             "embedding-grads-all-reduce": ALL_REDUCE,
             "layernorm-grads-all-reduce": ALL_REDUCE, "optimizer-clip-main-grad": ALL_REDUCE}
COUNTS = {"params-all-gather": 1 << 24, "grads-reduce-scatter": 1 << 24, "embedding-grads-all-reduce": 1 << 22,
          "layernorm-grads-all-reduce": 1 << 16, "optimizer-clip-main-grad": 1}
P2P_COUNT = 1 << 21
WITHIN = "layernorm-grads-all-reduce" # … a worker
ENTIRE = {"embedding-grads-all-reduce": "embedding", WITHIN: "worker", "optimizer-clip-main-grad": "world"}


class Job:
    """stages × replicas workers; worker = stage × replicas + replica."""

    def __init__(self, events, gpus):
        self.gpus = gpus  # of a worker
        names = [event for event in events if event["ph"] == "M" and event["name"] == "thread_name"]
        self.stage_of = {(event["pid"], event["tid"]): int(event["args"]["name"].split(",")[0].split()[-1])
                         for event in names}
        self.stages = 1 + max(self.stage_of.values())
        self.replicas = 1 + max(pid for pid, _ in self.stage_of)
        self.workers = self.stages * self.replicas
        done = [event for event in events if event["ph"] == "X"]
        self.steps = sorted({event["args"]["step"] for event in done})
        self.events = {(worker, step): [] for worker in range(self.workers) for step in self.steps}
        for event in done:
            self.events[self.worker_of(event), event["args"]["step"]].append(event)

    def worker_of(self, event):
        return self.stage_of[event["pid"], event["tid"]] * self.replicas + event["pid"]

    def stage(self, worker):
        return worker // self.replicas

    def members(self, worker, name):
        """World ranks of the communicator on which it makes this call, in the order of their ranks there."""
        stage, replica = divmod(worker, self.replicas)
        if name in PEERS:
            return [s * self.replicas + replica for s in range(self.stages)]
        kind = ENTIRE.get(name, "replicas")
        if kind == "embedding":
            return [replica, (self.stages - 1) * self.replicas + replica]
        if kind == "worker":
            return [worker]
        return list(range(self.workers)) if kind == "world" else [stage * self.replicas + r
                                                                  for r in range(self.replicas)]


class Item:
    """Something that a worker does in a step: a computation, or calls that it makes together."""

    def __init__(self, compute=None):
        self.compute = compute
        self.calls = []


def program(job, events):
    """[Item] of one worker in one step, in its own order."""
    computes = sorted((event for event in events if event["name"] in COMPUTE), key=lambda event: event["ts"])
    items, behind = [], [Item()]
    for compute in computes:
        behind.append(Item())
    calls = sorted((event for event in events if event["name"] in PEERS or event["name"] in FUNCTIONS and not (
        event["name"] == WITHIN and job.gpus == 1)), key=lambda event: event["ts"])
    for call in calls:
        before = sum(1 for compute in computes if compute["ts"] + compute["dur"] <= call["ts"] + NEAR)
        behind[before].calls.append(call)
    for index, item in enumerate(behind):
        if index:
            items.append(Item(computes[index - 1]))
        together = [call for call in item.calls if call["name"] in PEERS]
        alone = [call for call in item.calls if call["name"] in FUNCTIONS]
        first = [call for call in alone if call["name"] == "params-all-gather"]
        for call in first:
            items.append(single(call))
        if together:
            items.append(Item())
            items[-1].calls = together
        for call in alone:
            if call not in first:
                items.append(single(call))
    return items


def single(call):
    item = Item()
    item.calls = [call]
    return item


class Call:
    """What becomes an operation of a box. Times in µs of the whole trace."""

    def __init__(self, name, sequence, step, arrived, done, launched):
        self.name, self.sequence, self.step = name, sequence, step
        self.arrived, self.done, self.launched = arrived, max(done, arrived), launched


def as_traced(job):
    """{worker: [Call]}"""
    calls = {worker: [] for worker in range(job.workers)}
    offset = 0
    for step in job.steps:
        begin = min(event["ts"] for worker in range(job.workers) for event in job.events[worker, step])
        end = begin
        offset -= begin
        for worker in range(job.workers):
            at = launch = begin
            for item in program(job, job.events[worker, step]):
                if item.compute:
                    at = max(at, item.compute["ts"] + item.compute["dur"])
                    continue
                arrived = at
                for call in item.calls:
                    done = call["ts"] + call["dur"]
                    calls[worker].append(Call(call["name"], call["args"]["seq_id"], step, offset + arrived,
                                              offset + done, offset + launch))
                launch = arrived
                if len(item.calls) == 1 and item.calls[0]["name"] in FUNCTIONS:
                    at = max(at, item.calls[0]["ts"] + item.calls[0]["dur"])
                end = max([end] + [call["ts"] + call["dur"] for call in item.calls])
        offset += end + 10 * MS
    return calls


class Player:
    """One step, played again: every worker does its items in order, and waits where it waited."""

    def __init__(self, job, step, slow):
        self.job, self.step, self.slow = job, step, slow
        self.programs = {worker: program(job, job.events[worker, step]) for worker in range(job.workers)}
        self.at = dict.fromkeys(self.programs, 0.0)
        self.launch = dict.fromkeys(self.programs, 0.0)
        self.next = dict.fromkeys(self.programs, 0)
        self.arrivals, self.calls = {}, {worker: [] for worker in self.programs}
        self.posted = {}

    def key(self, worker, call):
        """The same on all workers that meet in it."""
        name, sequence = call["name"], call["args"]["seq_id"]
        if name not in PEERS:
            return (name, sequence, tuple(self.job.members(worker, name)))
        stage, replica = divmod(worker, self.job.replicas)
        ends = sorted((stage, stage + PEERS[name]))
        return (name.split("-")[0], sequence, replica, *ends)

    def parties(self, worker, call):
        return 2 if call["name"] in PEERS else len(self.job.members(worker, call["name"]))

    def compute(self, worker, item):
        items, index = self.programs[worker], self.next[worker]
        before = items[index - 1].calls if index else []
        waited = [call["ts"] + call["dur"] for call in before if call["ts"] + call["dur"] <= item.compute["ts"] + NEAR]
        delay = min(max(item.compute["ts"] - max(waited), 0), DELAY_MOST) if waited else 0
        self.at[worker] += delay + item.compute["dur"] * self.slow.get(worker, 1)
        return True

    def meet(self, worker, item):
        """False: somebody has not come yet."""
        if (worker, self.next[worker]) not in self.posted:
            self.posted[worker, self.next[worker]] = self.at[worker]
            for call in item.calls:
                self.arrivals.setdefault(self.key(worker, call), []).append(self.at[worker])
        arrived = self.posted[worker, self.next[worker]]
        following = next((other.compute for other in self.programs[worker][self.next[worker] + 1:] if other.compute),
                         None)
        ends = []
        for call in item.calls:
            come = self.arrivals[self.key(worker, call)]
            waits = (call["name"] not in PEERS or "recv" in call["name"] or not following
                     or call["ts"] + call["dur"] <= following["ts"] + NEAR)
            if len(come) < self.parties(worker, call) and waits:
                return False
            ends.append((call, come, waits))
        for call, come, waits in ends:
            self.calls[worker].append((call, arrived, self.launch[worker], come))
            if waits:
                self.at[worker] = max(self.at[worker], max(come) + call["dur"])
        self.launch[worker] = arrived
        return True

    def play(self):
        """{worker: [(call, arrived, launched, done)]}, and when all was over."""
        moved = True
        while moved:
            moved = False
            for worker, items in self.programs.items():
                while self.next[worker] < len(items):
                    item = items[self.next[worker]]
                    if not (self.compute(worker, item) if item.compute else self.meet(worker, item)):
                        break
                    self.next[worker] += 1
                    moved = True
        stuck = [worker for worker, items in self.programs.items() if self.next[worker] < len(items)]
        if stuck:
            sys.exit(f"step {self.step} cannot be played: workers {stuck} wait for each other")
        done = {worker: [(call, arrived, launched, max(come) + call["dur"]) for call, arrived, launched, come in calls]
                for worker, calls in self.calls.items()}
        return done, max(self.at.values())


def played_again(job, slow, times):
    calls = {worker: [] for worker in range(job.workers)}
    played = [(step, *Player(job, step, slow).play()) for step in job.steps]
    offset = 0
    for step, done, end in played * times:
        for worker, its in done.items():
            calls[worker] += [Call(call["name"], call["args"]["seq_id"], step, offset + arrived, offset + ended,
                                   offset + launched)
                              for call, arrived, launched, ended in its]
        offset += end + 10 * MS
    return calls


# Layout of a box: docs/black-box.md.
HEADER, CONTROL, COMM_SLOTS, SAMPLES = 8192, 4096, 1024, 4096
KNOWN = 1 | 2 | 4 | 8 | 16 | 32 | 64  # identity, call, launch, task, return, started, done
BFLOAT16 = 10


class Box:
    def __init__(self, job, worker, name, host):
        self.job, self.worker, self.name, self.host = job, worker, name, host
        self.epoch_ns = EPOCH_NS + host * APART_NS
        self.comms, self.sequences, self.progress = [], {}, []
        self.slots = []

    def comm(self, members):
        if members not in self.comms:
            self.comms.append(members)
            self.progress.append(0)
        return self.comms.index(members)

    def add(self, call):
        members = self.job.members(self.worker, call.name)
        comm = self.comm(members)
        peer = -1
        function = FUNCTIONS.get(call.name)
        if call.name in PEERS:
            function = SEND if "send" in call.name else RECV
            peer = self.job.stage(self.worker) + PEERS[call.name]
        key = (comm, function, peer)
        sequence = self.sequences[key] = self.sequences.get(key, -1) + 1
        self.progress[comm] += 1
        ns = [self.epoch_ns + int(at * 1000) for at in (call.launched, call.arrived, call.done)]
        self.slots.append((ns, comm, function, COUNTS.get(call.name, P2P_COUNT), sequence, peer, self.progress[comm]))

    def bytes(self):
        ring_slots = 1024
        while ring_slots < len(self.slots):
            ring_slots *= 2
        comms_at = HEADER + CONTROL
        gpu_at = comms_at + COMM_SLOTS * 256
        samples_at = gpu_at + COMM_SLOTS * 64
        ring_at = samples_at + SAMPLES * 64
        data = bytearray(ring_at + ring_slots * 256)
        self.put_header(data, comms_at, gpu_at, samples_at, ring_at, ring_slots)
        for index, members in enumerate(self.comms):
            at = comms_at + index * 256
            identity = int.from_bytes(hashlib.sha256(repr(members).encode()).digest()[:8], "little")
            size = self.job.gpus if members == [self.worker] else len(members)
            struct.pack_into("<Q64sIiii", data, at, identity, b"", 0, members.index(self.worker), size, 1)
            struct.pack_into("<QQQQ", data, at + 88, self.epoch_ns - 1000000000, 0, self.progress[index],
                             self.progress[index])
            struct.pack_into("<QQ", data, gpu_at + index * 64, self.progress[index], self.progress[index])
        for claim, slot in enumerate(self.slots):
            self.put_operation(data, ring_at + claim * 256, claim, *slot)
        return data

    def put_header(self, data, comms_at, gpu_at, samples_at, ring_at, ring_slots):
        last = max((slot[0][2] for slot in self.slots), default=self.epoch_ns)
        struct.pack_into("<8sIIQQQQQQQQIIII", data, 0, b"RWBOX\r\n\x1a", 1, HEADER, 0, 0, len(data), HEADER, comms_at,
                         gpu_at,
                         samples_at, ring_at, COMM_SLOTS, SAMPLES, ring_slots, 256)
        boot = f"5f6e0a34-0000-4000-8000-{self.host + 1:012d}".encode()
        struct.pack_into("<40sIIQQQQ", data, 96, boot, 1000 + self.worker, os.getuid(), 1, 1000 + self.worker,
                         self.epoch_ns - 2000000000, 1_700_000_000 * 10**9)
        struct.pack_into("<64s64s32s16siiii", data, 176, f"host-{self.host}".encode(), self.name.encode(), b"RANK",
                         b"python", self.worker, self.job.workers,
                         self.worker, 0)
        struct.pack_into("<QQ32s", data, 368, 0, 0, b"")
        struct.pack_into("<IIII64s", data, 416, 1 << 8, 22809, 5, 12080, b"watermark")
        struct.pack_into("<I", data, 496, 1)  # it ended in order
        struct.pack_into("<16s16siI", data, 504, bytes([self.worker + 1] * 16), f"0000:{self.worker:02x}:00.0".encode(),
                         self.worker, 1)
        struct.pack_into("<I", data, 1528, 1)
        struct.pack_into("<QQQ", data, 1536, self.epoch_ns, 1_700_000_000 * 10**9, 0)
        struct.pack_into("<Q", data, 6400, len(self.slots))
        struct.pack_into("<Q", data, 6552, len(self.comms))
        struct.pack_into("<Q", data, 6576, last)

    @staticmethod
    def put_operation(data, at, claim, ns, comm, function, count, sequence, peer, progress):
        launched, arrived, done = ns
        struct.pack_into("<QIIIHBBQQQQIIQQQQ", data, at, claim + 1, KNOWN, 0, 0, comm, function, BFLOAT16, count,
                         sequence, sequence,
                         7, 1, claim + 1, launched, launched + 5000, launched + 9000, launched + 10000)
        struct.pack_into("<QIIiBBBBQQQ", data, at + 96, 7, 1, claim + 1, peer, 2, 3, 8, 1, progress, arrived, done)


def write(job, calls, directory, name, host_gpus):
    for worker, its in calls.items():
        box = Box(job, worker, name, worker * job.gpus // host_gpus if host_gpus else 0)
        # the program calls them in one order
        for call in sorted(its, key=lambda call: (call.arrived, call.name, call.sequence)):
            box.add(call)
        (directory / f"rank{worker}-{1000 + worker}.rwbox").write_bytes(box.bytes())


def step_seconds(job, calls, times):
    """What a step took, on average."""
    return max(call.done for its in calls.values() for call in its) / (len(job.steps) * times) / 1e6


def gpus_of_a_worker(timeline):
    meta = timeline.with_name(timeline.name.split(".")[0].replace("timeline-", "meta-") + ".yaml")
    try:
        sizes = dict(line.split(": ") for line in meta.read_text().splitlines() if ": " in line)
        return int(sizes["tp_size"]) * int(sizes["dsp_size"])
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"{meta}: the job's shape cannot be read there: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("timeline", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path, help="of the boxes; made if it is not there")
    parser.add_argument("--replay", action="store_true",
                        help="play it again, and do not take the times of waits from the timeline")
    parser.add_argument("--times", type=int, default=1, metavar="N",
                        help="play all steps N times, one after the other; implies --replay")
    parser.add_argument("--slow", action="append", default=[], metavar="WORKER=TIMES",
                        help="this worker computes so many times as long; implies --replay")
    parser.add_argument("--host-gpus", type=int, default=0, metavar="N",
                        help="each N GPUs are on a host of their own (default: all are on one)")
    options = parser.parse_args()
    opened = gzip.open if options.timeline.suffix == ".gz" else open
    with opened(options.timeline, "rt") as file:
        events = json.load(file)
    job = Job(events["traceEvents"] if isinstance(events, dict) else events, gpus_of_a_worker(options.timeline))
    slow = {int(worker): float(times) for worker, times in (text.split("=") for text in options.slow)}
    if not set(slow) <= set(range(job.workers)):
        parser.error(f"workers are 0 to {job.workers - 1}")
    again = options.replay or slow or options.times > 1
    calls = played_again(job, slow, options.times) if again else as_traced(job)
    options.directory.mkdir(parents=True, exist_ok=True)
    write(job, calls, options.directory, options.timeline.name.split(".")[0], options.host_gpus)
    print(json.dumps({"stages": job.stages, "replicas": job.replicas, "steps": len(job.steps),
                      "step_s": round(step_seconds(job, calls, options.times), 3)}))


if __name__ == "__main__":
    main()
