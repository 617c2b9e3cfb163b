#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""metrics_read.py PROGRAM: random jobs as metrics, read back by Prometheus's own Python client and held against what
went in."""

import json
import os
import random
import shutil
import string
import subprocess
import sys
import tempfile
import time

sys.path.append("/usr/lib/python3/dist-packages")  # the distribution's, whichever Python this is
try:
    from prometheus_client import openmetrics, parser
    import prometheus_client.openmetrics.parser
except ImportError:
    print("skipped: python3-prometheus-client is not installed")
    sys.exit(77)

SEED = int(os.environ.get("RANKWATCH_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
NASTY = string.ascii_letters + '"\\\n{}=,# \u00e9\u4e2d'
PARTS = {"own_ms": "rankwatch_rank_own_seconds_total", "wait_ms": "rankwatch_rank_wait_seconds_total",
         "transfer_ms": "rankwatch_rank_transfer_seconds_total", "unseen_ms": "rankwatch_rank_unseen_seconds_total",
         "lost_ms": "rankwatch_lost_seconds_total", "callback_ms": "rankwatch_rank_callback_seconds_total"}
failed = 0


def check(right, what):
    global failed
    if not right:
        print("FAILED " + what)
        failed += 1


def name(source):
    return "".join(source.choice(NASTY) for _ in range(source.randrange(1, 12)))


def rank_row(source, rank, now_ms):
    row = {"rank": rank, "host": name(source), "doing": source.choice(["works", "waits", "inside", "gone"]),
           "since_unix_ms": now_ms - source.random() * 1e5, "step": source.choice([None, source.randrange(10**6)]),
           "operations": source.randrange(1 << 50), "bytes": source.randrange(1 << 53),
           "clean_scans": source.randrange(1 << 40),
           "scanning": {"buffers": source.randrange(1 << 40), "left_out": source.randrange(1 << 40),
                        "host_ms": source.random() * 1e6, "gpu_ms": source.random() * 1e6}}
    return row | {key: round(source.random() * 10**source.randrange(9), 3) for key in PARTS}


def job(source, ranks, label):
    now_ms = 1.7e12 + source.random() * 1e9
    rows = [rank_row(source, rank, now_ms) for rank in range(ranks)]
    finding = lambda: {"kind": source.choice(["nan", "hang"]), "severity": "critical",
                       "confidence": source.choice(["certain", "likely"]),
                       "scope": "rank", "ranks": source.sample(range(ranks), source.randrange(min(3, ranks + 1))),
                       "cause": {"class": source.choice(["io", "lock"])}}
    gpus = [{"rank": rank, "index": source.choice([None, rank % 8]), "uuid": f"GPU-{rank}", "pci": "0000:3b:00.0",
             "xid": source.choice([None, 79])} for rank in range(ranks) if source.random() < 0.7]
    groups = [{"comm": f"0x{number:x}", "name": source.choice([None, "~fsdp", name(source)]), "size": ranks,
               "members": [{"rank": rank, "calls": source.choice([None, source.randrange(1 << 40)])}
                           for rank in range(-1, ranks)]} for number in range(source.randrange(3))]
    return {"hello": {"job": label + name(source), "level": "ebpf"},
            "findings": [finding() for _ in range(source.randrange(6))],
            "snapshot": {"unix_ms": now_ms, "job": {"steps": source.randrange(10**9), "processes": ranks},
                         "ranks": rows, "gpus": gpus, "communicators": groups}}


def exposed(program, how, jobs):
    return subprocess.run([program, how], input=json.dumps(jobs), text=True, capture_output=True, check=True).stdout


def read(text, how):
    reader = (openmetrics.parser.text_string_to_metric_families if how == "openmetrics"
              else parser.text_string_to_metric_families)
    samples = {}
    for family in reader(text):
        check(family.documentation != "", f"{family.name} has no help")
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            check(key not in samples, f"{key} twice")
            samples[key] = sample.value
    return samples


def close(got, want):
    return got is not None and abs(got - want) <= 1e-9 * max(1, abs(want))


def compare(samples, jobs, how):
    get = lambda metric, **labels: samples.get((metric, tuple(sorted(labels.items()))))
    for one in jobs:
        label, snapshot = one["hello"]["job"], one["snapshot"]
        check(get("rankwatch_collector_up", job_id=label) == 1, f"{how}: {label!r} is not up")
        check(get("rankwatch_job_steps_total", job_id=label) == snapshot["job"]["steps"], f"{how}: steps of {label!r}")
        for row in snapshot["ranks"]:
            rank = str(row["rank"])
            for key, metric in PARTS.items():
                check(close(get(metric, job_id=label, rank=rank), row[key] / 1e3),
                      f"{how}: {metric} of rank {rank}: {get(metric, job_id=label, rank=rank)} {row[key]}")
            check(get("rankwatch_rank_operations_total", job_id=label, rank=rank) == row["operations"],
                  f"{how}: operations of rank {rank}")
            check(get("rankwatch_rank_bytes_total", job_id=label, rank=rank) == row["bytes"],
                  f"{how}: bytes of rank {rank}")
            for key, metric, scale in (("buffers", "scanned_buffers", 1), ("left_out", "scan_left_out", 1),
                                       ("host_ms", "scan_host_seconds", 1e3), ("gpu_ms", "scan_gpu_seconds", 1e3)):
                got = get(f"rankwatch_rank_{metric}_total", job_id=label, rank=rank)
                check(close(got, row["scanning"][key] / scale),
                      f"{how}: {metric} of rank {rank}: {got} {row['scanning']}")
            check(get("rankwatch_rank_doing", job_id=label, rank=rank, doing=row["doing"]) == 1,
                  f"{how}: doing of rank {rank}")
            gpu = next((gpu for gpu in snapshot["gpus"] if gpu["rank"] == row["rank"]),
                       {"index": None, "uuid": "", "pci": ""})
            check(get("rankwatch_rank_info", job_id=label, rank=rank, hostname=row["host"], gpu=""
                      if gpu["index"] is None else str(gpu["index"]), UUID=gpu["uuid"], pci=gpu["pci"]) == 1,
                  f"{how}: info of rank {rank}")
        calls = {(group["comm"], str(member["rank"])): member["calls"] for group in snapshot["communicators"]
                 for member in group["members"]
                 if member["calls"] is not None and member["rank"] >= 0}
        found = {(dict(labels)["comm"], dict(labels)["rank"]): value for (metric, labels), value in samples.items()
                 if metric == "rankwatch_communicator_operations_total" and dict(labels)["job_id"] == label}
        check(found == calls, f"{how}: calls in communicators {found}, not {calls}")
        named = sum(max(1, len(finding["ranks"])) for finding in one["findings"])
        told = sum(value for (metric, labels), value in samples.items() if metric == "rankwatch_findings_open"
                   and dict(labels)["job_id"] == label)
        check(told == named, f"{how}: {told} findings, not {named}")


def check_with_promtool(text):
    promtool = shutil.which("promtool")
    if not promtool:
        print("ok     not asked: promtool (it is not installed)")
        return
    said = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True)
    check(said.returncode == 0, f"promtool: {said.stdout}{said.stderr}")


def main(program):
    print(f"RANKWATCH_TEST_SEED={SEED}")
    for round_ in range(40):
        source = random.Random(SEED + round_)
        jobs = [job(source, source.randrange(12), f"{number}") for number in range(source.randrange(4))]
        for how in ("openmetrics", "text"):
            compare(read(exposed(program, how, jobs), how), jobs, how)
    check_with_promtool(exposed(program, "text", [job(random.Random(SEED), 4, "last")]))
    print(f"{failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main(sys.argv[1])
