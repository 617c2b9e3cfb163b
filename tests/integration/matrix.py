#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""matrix.py [FAULT/TOPOLOGY/RELEASE…]: a fault in a job of that shape on that NCCL, under `rankwatch run`: the right
rank and kind, and nothing else. Without arguments all of them, in the order of the tables (hours)."""

import hashlib
import sys

import stage

RELEASES = ("2.21.5", "2.23.4", "2.24.3", "2.26.2", "2.27.3", "2.27.5", "2.28.9", "2.29.7", "2.30.7", "2.31.2")
SIZES = ("--step-ms=250", "--elements=2048")

# name: (arguments, ranks)
TOPOLOGIES = {
    "fsdp": (("--mesh=fsdp=8",), 8),
    "hsdp": (("--mesh=dp_replicate=2,fsdp=4",), 8),
    "ddp": (("--mesh=ddp=6",), 6),
    "tp": (("--mesh=fsdp=2,tp=4",), 8),
    "cp": (("--mesh=fsdp=2,cp=4",), 8),
    "moe": (("--mesh=fsdp=8,ep=4",), 8),
    "1f1b": (("--mesh=pp=2,fsdp=4",), 8),
    "zbv": (("--mesh=pp=4,fsdp=2", "--pp-schedule=zbv"), 8),
    "hosts": (("--mesh=fsdp=8", "--hosts=2"), 8),
}
LATE = ("--steps=18", "--fault-step=8", "--limit=60")
STUCK = ("--steps=1000", "--fault-step=10")
# name: (arguments, kind or None, cause classes, topologies or None for all)
FAULTS = {
    "none": (("--steps=16", "--limit=60"), None, (), None),
    "lock": (("--fault=lock", *LATE), "straggler", ("lock",), None),
    "loader": (("--fault=loader", *LATE), "straggler", ("socket",), None),
    "gpu": (("--fault=gpu", "--steps=30", "--fault-step=10", "--limit=60"), "straggler", ("gpu", "unknown"),
            ("fsdp", "hsdp", "ddp", "moe", "hosts")),
    "never": (("--fault=never", "--limit=16", *STUCK), "hang", ("lock",), None),
    "kill": (("--fault=kill", "--grace=6", *STUCK), "gone", ("gone",), None),
    "stop": (("--fault=stop", "--limit=16", *STUCK), "gone", ("stopped",), None),
    "skip": (("--fault=skip", "--limit=12", *STUCK), "desync", (), ("fsdp", "ddp", "hosts")),
}


def combinations():
    return [f"{fault}/{topology}/{release}" for fault, (_, _, _, only) in FAULTS.items() for topology in TOPOLOGIES
            for release in RELEASES if only is None or topology in only]


def rank_of(name, ranks):
    return hashlib.sha256(name.encode()).digest()[0] % ranks


def play_one(failures, name):
    fault, topology, release = name.split("/")
    arguments, kind, classes, _ = FAULTS[fault]
    shape, ranks = TOPOLOGIES[topology]
    rank = rank_of(name, ranks)
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--json", "--job", play.dir.name, "--",
                         *stage.workload(*SIZES, *shape, *arguments, f"--fault-rank={rank}"),
                         SIM_NCCL_VERSION=release)
        job.wait(120)
        found = [value for _, value in job.out.json() if value.get("schema") == 1 and value.get("severity") != "notice"]
        said = job.err.text()
    wrong = [value["text"] for value in found if value["kind"] != kind or value["ranks"] != [rank]]
    right = [value for value in found if value["kind"] == kind and value["ranks"] == [rank]]
    seen = {(value.get("cause") or {}).get("class") for value in right}
    fine = not wrong and (right if kind else not right) and (not classes or not kind or seen & set(classes))
    if not failures.check(f"{ranks} of {ranks} ranks" in said and fine, f"{name} (rank {rank}): {kind or 'silence'}"):
        print(f"  wrong: {wrong}\n  right: {[value['text'] for value in right]}, causes {seen}\n{said}", flush=True)


def main(names):
    failures = stage.Failures()
    for name in names or combinations():
        play_one(failures, name)
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1:])
