#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch dump --format inspector` over recorded jobs, read as the example exporter of NCCL's Inspector reads its
files (plugins/profiler/inspector/exporter/example/perf_summary_exporter.py of NCCL 2.30.7), and compared with the same
operations as `rankwatch dump` has them. Sizes and bandwidths are computed here anew, by the formulas of NCCL's
tests."""

import collections
import json
import re
import subprocess
import tempfile

from recorded import RANKWATCH, boxes_of, check, finish

BYTES = {"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "fp16": 2, "bf16": 2, "fp32": 4,
         "fp64": 8, "fp8_e4m3": 1,
         "fp8_e5m2": 1}
HEADER = {"id", "comm_name", "rank", "n_ranks", "nnodes"}
METADATA = {"inspector_output_format_version", "git_rev", "rec_mechanism", "dump_timestamp_us", "hostname", "pid"}
PERF = {"sn", "msg_size_bytes", "exec_time_us", "timing_source", "algobw_gbs", "busbw_gbs"}
# The bus's share, and whether the size is each rank's, by NCCL's tests (doc/PERFORMANCE.md there).
SHAPES = {"AllGather": (1, True), "AllReduce": (2, False), "Broadcast": (None, False), "Reduce": (None, False),
          "ReduceScatter": (1, True),
          "Send": (None, False), "Recv": (None, False)}


def dump(boxes, *arguments):
    return subprocess.run([RANKWATCH, "dump", *arguments, boxes], check=True, capture_output=True, text=True)


def near(one, other):
    return abs(one - other) <= 1e-9 + abs(other) * 1e-6


def flat(line):
    """As the exporter makes a row of it; it takes no line without these three."""
    kind = "p2p" if "p2p_perf" in line else "coll"
    assert set(line) == {"header", "metadata", f"{kind}_perf"}, line
    perf = line[f"{kind}_perf"]
    wanted = {kind} | {f"{kind}_{key}" for key in PERF} | ({"p2p_peer"} if kind == "p2p" else set())
    assert set(line["header"]) == HEADER and set(line["metadata"]) == METADATA and set(perf) == wanted, line
    assert all(isinstance(line["header"][key], int) and line["header"][key] >= (key != "rank")
               for key in ("rank", "n_ranks", "nnodes")), line
    row = {key.removeprefix(f"{kind}_"): value for key, value in perf.items()}
    return row | line["header"] | line["metadata"] | {"function": perf[kind], "transfer": kind == "p2p"}


def bandwidth(row):
    times, per_rank = SHAPES[row["function"]]
    traffic = row["msg_size_bytes"] * (row["n_ranks"] if per_rank else 1)
    speed = traffic / 1e9 / (row["exec_time_us"] / 1e6) if row["exec_time_us"] else 0
    return speed, speed * (1 if times is None else times * (row["n_ranks"] - 1) / row["n_ranks"])


def is_told(operation):
    timed = (operation.get("gpu_end_raw", 0) > operation.get("gpu_start_raw", 0)
             or operation.get("done_seen_ns", 0) > operation.get("started_seen_ns", 1 << 62))
    return timed and operation["function"] in SHAPES and operation.get("comm_size")


def play(tape):
    with tempfile.TemporaryDirectory() as scratch:
        boxes = boxes_of(tape, scratch)
        made = dump(boxes, "--format", "inspector")
        operations = [json.loads(line) for line in dump(boxes).stdout.splitlines()]
    rows = [flat(json.loads(line)) for line in made.stdout.splitlines()]
    told = [operation for operation in operations if is_told(operation)]
    left_out = sum(int(count) for count in re.findall(r"left out: (\d+) operations", made.stderr))
    check(len(rows) == len(told) and len(rows) > 100,
          f"{tape}: {len(rows)} lines of {len(told)} operations that can be told")
    check(len(rows) + left_out == len(operations), f"{tape}: {left_out} left out, and said so, of {len(operations)}")
    wrong = []
    for row, operation in zip(rows, told):
        right = (row["function"], row["id"], row["pid"], row["rank"]) == (operation["function"], operation["comm_id"],
                                                                          operation["pid"], operation["comm_rank"])
        right = right and row["msg_size_bytes"] == operation["count"] * BYTES[operation["dtype"]]
        right = (right and row["timing_source"] == "kernel_cpu"
                 and row["exec_time_us"] == (operation["done_seen_ns"] - operation["started_seen_ns"]) // 1000)
        right = right and row["transfer"] == (row["function"] in ("Send", "Recv"))
        right = (right
                 and (row["peer"] == operation["root_or_peer"] if row["transfer"]
                      else row["sn"] == operation["nccl_sequence"]))
        speed, bus = bandwidth(row)
        if not right or not near(row["algobw_gbs"], speed) or not near(row["busbw_gbs"], bus):
            wrong.append((row, operation))
    check(not wrong, f"{tape}: {len(wrong)} lines are not what the operations say {wrong[:1]}")
    return rows


def by_collective(rows):
    """As the exporter puts the ranks of one collective together."""
    groups = collections.defaultdict(set)
    for row in rows:
        if not row["transfer"]:
            groups[row["id"], row["function"], row["sn"], row["msg_size_bytes"]].add(row["rank"])
    return groups


def main():
    rows = play("healthy")
    groups = by_collective(rows)
    whole = sum(len(ranks) == 8 for ranks in groups.values())
    # Not more: what begins and ends between two looks of the plugin has no time.
    check(whole >= 50, f"healthy: {whole} of {len(groups)} collectives have all their ranks")
    rows = play("nan-mesh")
    numbers = collections.defaultdict(list)
    for row in rows:
        if row["transfer"]:
            numbers[row["id"], row["pid"]].append(row["sn"])
    check(numbers and all(sorted(set(list)) == list for list in numbers.values()),
          f"nan-mesh: transfers are numbered in {len(numbers)} places")
    check({row["hostname"] for row in rows} and all(1.5e15 < row["dump_timestamp_us"] < 1e16 for row in rows),
          "nan-mesh: hosts and times of day")
    asked = subprocess.run([RANKWATCH, "dump", "--format", "inspector", "--header"], capture_output=True, text=True)
    check(asked.returncode == 2 and "--format inspector" in asked.stderr, "nothing else beside it")
    finish()


main()
