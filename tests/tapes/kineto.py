#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch trace --merge` over a recorded job: traces as PyTorch's profiler writes them (pytorch/kineto,
libkineto/src/output_json.cpp) are made here from the times of the job's own calls, so that where their events must lie
is known; and what is no such trace, or of another process, is refused in a sentence, with nothing written."""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile

from recorded import RANKWATCH, check, finish, unpack

TAPE = "io-rank0"
QUARTER_NS = 90 * 86400 * 10**9


class Job:
    """What the boxes say of each rank's process and of its calls, by `rankwatch dump`."""

    def __init__(self, boxes, folder):
        self.boxes, self.calls = boxes, {}
        headers = self.dump("--header")
        self.pid = {line["rank"]: line["pid"] for line in headers}
        self.plain = folder / "plain.json"
        trace(self, self.plain)
        # All ranks are on one host. What the header says of the clocks is as good as two readings one after the other.
        self.offset_ns = json.loads(self.plain.read_text())["baseTimeNanoseconds"]
        near = [abs(line["created_realtime_ns"] - line["created_ns"] - self.offset_ns) for line in headers]
        check(max(near) < 10**6, f"the trace's base is the hosts' clock: {max(near)} ns")
        for line in self.dump():
            if "api_ns" in line and "return_ns" in line:
                self.calls.setdefault(line["rank"], []).append(line)

    def dump(self, *arguments):
        done = subprocess.run([RANKWATCH, "dump", *arguments, self.boxes], check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


def kineto(job, rank, base=True, late_head=False, count=40):
    """A trace of that rank: one cpu_op for each of its first calls, at its very time, with a flow to a kernel on GPU
    0."""
    calls = [call for call in job.calls[rank] if call["group"]][:count]
    base_ns = (calls[0]["api_ns"] + job.offset_ns) // QUARTER_NS * QUARTER_NS if base else 0
    pid, events = job.pid[rank], []

    def us(ns):
        return (ns + job.offset_ns - base_ns) / 1e3

    def metadata(process, name, key, value):
        events.append({"name": name, "ph": "M", "ts": us(calls[0]["api_ns"]), "pid": process, "tid": 0,
                       "args": {key: value}})

    for process, label, index in ((pid, "CPU", pid), (0, "GPU 0", 5000000)):
        metadata(process, "process_name", "name", "python3")
        metadata(process, "process_labels", "labels", label)
        metadata(process, "process_sort_index", "sort_index", index)
    for number, call in enumerate(calls):
        at = us(call["api_ns"])
        events.append({"ph": "X", "cat": "cpu_op", "name": "c10d::\"op\\\" }] é", "pid": pid, "tid": call["api_tid"],
                       "ts": at,
                       "dur": (call["return_ns"] - call["api_ns"]) / 1e3,
                       "args": {"External id": number + 1, "ticket": call["ticket"]}})
        events.append({"ph": "s", "id": number + 1, "pid": pid, "tid": call["api_tid"], "ts": at, "cat": "ac2g",
                       "name": "ac2g"})
        events.append({"ph": "f", "id": number + 1, "pid": 0, "tid": 7, "ts": at + 1, "cat": "ac2g", "name": "ac2g",
                       "bp": "e"})
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "pid": 0, "tid": 7, "ts": at + 1,
                       "dur": 0.5, "args": {}})
    events.append({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "",
                   "ts": us(calls[-1]["return_ns"])})
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a } \" ] b"}], "displayTimeUnit": "ms"}
    told = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}} | ({"baseTimeNanoseconds": base_ns}
                                                                                      if base else {})
    if late_head:
        return head | {"traceEvents": events} | told | {"traceName": "x"}
    return head | told | {"traceEvents": events, "traceName": "x"}


def write(path, document):
    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    with (gzip.open if path.name.endswith(".gz") else open)(path, "wt") as file:
        file.write(text)
    return path


def trace(job, out, *merges):
    arguments = [part for path in merges for part in ("--merge", path)]
    process = subprocess.Popen([RANKWATCH, "trace", "-o", out, *arguments, job.boxes], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    return process.returncode, said, usage.ru_maxrss


def events_of(path):
    return json.loads(path.read_text())["traceEvents"]


def places(job, document, rank, ours, theirs, number):
    """Their calls lie where ours do, beside the process of their rank."""
    process = {event["args"]["name"].split(" ·")[0]: event["pid"] for event in ours if event["ph"] == "M"
               and event["name"] == "process_name"}[f"rank {rank}"]
    ops = [event for event in theirs if event.get("cat") == "cpu_op" and event["pid"] in number]
    by_ticket = {call["ticket"]: call for call in job.calls[rank]}
    begins = sorted(event["ts"] for event in ours if event["ph"] == "X" and event["pid"] == process
                    and event["cat"] == "call")
    far = [event["ts"] - by_ticket[event["args"]["ticket"]]["api_ns"] / 1e3 for event in ops]
    beside = [event for event in ops if not any(abs(event["ts"] - begin) < 1 for begin in begins)]
    wanted = sum(event["ph"] == "X" and event["cat"] == "cpu_op" for event in document["traceEvents"])
    check(len(ops) == wanted and max(map(abs, far)) < 1,
          f"rank {rank}: {len(ops)} calls of the profiler at their time, at most {max(map(abs, far)):.3f} µs off")
    check(not beside, f"rank {rank}: {len(beside)} of them where we have no call")
    order = {event["args"]["sort_index"] for event in theirs if event["name"] == "process_sort_index"
             and event["pid"] in number}
    check(order == {process}, f"rank {rank}: its processes stand at {order}, the rank at {process}")


def merged(job, folder):
    out = folder / "merged.json"
    # One with a base and one without; the head behind the events, as on-demand tracing writes it.
    documents = {0: kineto(job, 0), 5: kineto(job, 5, base=False, late_head=True)}
    files = [write(folder / "rank0.json", documents[0]), write(folder / "rank5.json.gz", documents[5])]
    code, said, _ = trace(job, out, *files)
    check(code == 0 and "events of PyTorch's profiler" in said, f"two traces are taken {said!r}")
    ours, both = events_of(job.plain), events_of(out)
    own = {json.dumps(event) for event in ours}
    theirs = [event for event in both if json.dumps(event) not in own]
    check(len(both) == len(ours) + len(theirs), "what is ours is there as without them")
    numbers = {event["pid"] for event in ours}
    check(not numbers & {event["pid"] for event in theirs}, "their processes are none of ours")
    names = {event["pid"]: event["args"]["name"] for event in theirs if event["name"] == "process_name"}
    for rank, document in documents.items():
        places(job, document, rank, ours, theirs,
               {pid for pid, name in names.items() if name.startswith(f"rank {rank} · PyTorch")})
    # Each flow has its two ends in one file, although both number theirs from 1.
    ends = {}
    for event in theirs:
        if event["ph"] in "sf":
            ends.setdefault(event["id"], []).append((event["ph"], names[event["pid"]].split(" ·")[0]))
    right = all(sorted(phase for phase, _ in pair) == ["f", "s"] and len({rank for _, rank in pair}) == 1
                for pair in ends.values())
    check(len(ends) == 80 and right, f"{len(ends)} flows of theirs, each whole")
    texts = {event["name"] for event in theirs if event.get("cat") == "cpu_op"}
    check(texts == {"c10d::\"op\\\" }] é"}, f"text is as it was {texts}")


def refused(job, folder):
    good = json.dumps(kineto(job, 3))
    packed = gzip.compress(good.encode())
    other_time = kineto(job, 3) | {"baseTimeNanoseconds": 0}
    nobody = kineto(job, 3)
    nobody["traceEvents"] = [event for event in nobody["traceEvents"] if event["name"] != "process_labels"]
    large = good.replace('"traceEvents": [', '"traceEvents": [{"x": "' + "y" * (9 << 20) + '"}, ')
    cases = {
        "cut": (good[: len(good) // 2], "ends in the middle"),
        "empty": ("", "ends in the middle"),
        "array": ("[1, 2]", "no trace of PyTorch's profiler"),
        "no events": ('{"schemaVersion": 1}', "no \"traceEvents\""),
        "nothing in it": ('{"traceEvents": []}', "no event in it"),
        "text": ("rank 3 was late", "no trace of PyTorch's profiler"),
        "no comma": (good.replace("}, {", "} {", 1) if "}, {" in good else "", "missing"),
        "no value": ('{"traceEvents": [1, 2]}', "no object"),
        "broken event": (good.replace('"ph": "X"', '"ph": X', 1), "event"),
        "too large": (large, "larger than 8 MiB"),
        "other rank": (good.replace('"rank": 3', '"rank": 4', 1), "rank 4"),
        "other process": (good.replace(f'"pid": {job.pid[3]}', '"pid": 99999999'), "no black box of this run is"),
        "no process": (json.dumps(nobody), "which process"),
        "other run": (json.dumps(other_time), "of another run"),
        "no file": (None, "No such file"),
    }
    for name, (text, wanted) in cases.items():
        path, out = folder / "refused.json", folder / "refused-out.json"
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        code, said, _ = trace(job, out, path)
        right = code == 1 and said.count("\n") == 1 and "--merge" in said and wanted in said
        check(right and not out.exists(), f"{name}: {code} {said.strip()[-150:]!r}")
    path = folder / "refused.json.gz"
    for name, data in {"cut gzip": packed[: len(packed) // 2],
                       "damaged gzip": packed[:300] + bytes(200) + packed[500:]}.items():
        path.write_bytes(data)
        code, said, _ = trace(job, folder / "refused-out.json", path)
        check(code == 1 and "--merge" in said and not (folder / "refused-out.json").exists(),
              f"{name}: {code} {said.strip()[-120:]!r}")
    code, said, _ = trace(job, folder / "job.pftrace", write(folder / "good.json", good))
    check(code == 2 and "Chrome's JSON" in said, "not in Perfetto's format")


def bounded(job, folder):
    """However large it is."""
    document = kineto(job, 0)
    small = write(folder / "small.json.gz", document)
    ops = [event for event in document["traceEvents"] if event["ph"] == "X"]
    document["traceEvents"] += ops * (200000 // len(ops))
    large = write(folder / "large.json.gz", json.dumps(document))
    (_, _, few), (code, _, many) = trace(job, folder / "few.json", small), trace(job, folder / "many.json", large)
    count = len(document["traceEvents"])
    # Whoever sanitizes addresses keeps what was freed for a while.
    check(code == 0 and many < few + 8192,
          f"{count} events take {(many - few) / 1024:.1f} MiB more than 170, {few / 1024:.0f} MiB")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        boxes = folder / "boxes"
        unpack(TAPE, boxes)
        job = Job(boxes, folder)
        merged(job, folder)
        refused(job, folder)
        bounded(job, folder)
    finish()


main()
