#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Black boxes of many machines in one directory: the ranks of recorded jobs spread over 4 and 8 machines, each with
another boot, host name, CLOCK_MONOTONIC that is hours ahead, and a wall clock that is wrong. What is found must be what
the same boxes show as one machine's."""

import functools
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from recorded import RANKWATCH, check, finish, unpack

ANOTHER = os.environ["TEST_ANOTHER_BOOT"]
RANKS = 8
JOBS = ("healthy", "jitter", "killed", "io-rank0", "never", "nan", "nan-mesh", "gpu", "hog", "lock", "desync-order",
        "desync-skip", "nfs-write",
        "intermittent", "even-slow-gpu", "bitflip", "gpu-stuck", "stopped", "throttle", "init-killed")


def unpacked(path):
    """In place of a saved box."""
    plain = path.with_suffix("")
    with gzip.open(path) as packed, open(plain, "wb") as out:
        shutil.copyfileobj(packed, out)
    path.unlink()
    return plain


def spread(boxes, ranks_each):
    """So many ranks after another become those of a machine of their own."""
    machines = {}
    for path in sorted(boxes.iterdir()):
        machines.setdefault(int(path.name[4:].split("-")[0]) // ranks_each, []).append(unpacked(path))
    for number, plain in machines.items():
        boot = f"{number:08d}-2222-3333-4444-555555555555"
        subprocess.run([ANOTHER, str(5000 + number * 4321.987), str(number * 700 - 2000), f"host-{number}", boot,
                        *plain], check=True)


def rankwatch(*arguments):
    return subprocess.run([RANKWATCH, *map(str, arguments)], capture_output=True, text=True)


def lines_of(boxes):
    done = rankwatch("report", "--json", boxes)
    return [json.loads(line) for line in done.stdout.splitlines()]


def found(lines):
    """What is found, of whom, why, and how sure."""
    return sorted((line["kind"], line["ranks"], (line.get("cause") or {}).get("class"), line["confidence"])
                  for line in lines if "kind" in line)


def flights(lines):
    """What is in flight must not depend on clocks at all."""
    return sorted(str((one["function"], one["sequence"], one["comm"], one["joined"],
                       [rank["rank"] for rank in one["missing"]], one["unseen"]))
                  for one in (line["flight"] for line in lines if "flight" in line))


@functools.cache
def of_one_machine(scratch, name):
    """The job's boxes, and what is found in them."""
    boxes = pathlib.Path(scratch) / name
    unpack(name, boxes)
    return boxes, lines_of(boxes)


def check_job(scratch, name, ranks_each):
    whole, before = of_one_machine(scratch, name)
    boxes = pathlib.Path(scratch) / f"{name}-{ranks_each}"
    shutil.copytree(whole, boxes)
    spread(boxes, ranks_each)
    after, what = lines_of(boxes), f"{name} on {RANKS // ranks_each} machines: "
    check(found(after) == found(before),
          f"{what}found {found(after)}" + ("" if found(after) == found(before) else f", on one {found(before)}"))
    check(flights(after) == flights(before), f"{what}in flight as on one machine")
    return boxes


def check_words(boxes):
    """Each command takes all machines, and says that it does."""
    text = " ".join(rankwatch("report", boxes).stdout.split())
    check("hosts host-0, host-1, host-2, host-3" in text and "machines 4, judged together" in text,
          "the head says that there are four machines")
    check("after 10 s;" in text, "and how long the run was")
    time = [line for line in lines_of(boxes) if "time" in line and "explanation" in line]
    check(len(time) == 1 and "machine" not in time[0], "where the time went is told of all together")
    check("judged apart" not in rankwatch("explain", boxes).stdout, "so does explain")
    top = rankwatch("top", "--once", boxes)
    check("8 of 8 ranks" in top.stdout and not top.stderr, f"top shows all ranks: {top.stderr}")
    trace = rankwatch("trace", "--format", "chrome", "-o", boxes / "trace.json", boxes)
    check("8 ranks on 4 hosts" in trace.stderr and "wall clocks" not in trace.stderr,
          f"trace has all on one clock: {trace.stderr}")
    check_order(json.loads((boxes / "trace.json").read_text()))
    page = rankwatch("report", "--html", boxes / "page.html", boxes)
    check(page.returncode == 0 and "judged together" in (boxes / "page.html").read_text(), "so has the page")
    hosts = json.loads(rankwatch("hosts", "--json", boxes).stdout)
    check(hosts["jobs"] == 1
          and {host["name"]: host["named"] for host in hosts["hosts"]} == {"host-0": 1, "host-1": 0, "host-2": 0,
                                                                           "host-3": 0},
          "one job on four hosts, of which one has the late rank")


def check_order(trace):
    """Ends of one collective lie within some milliseconds on all ranks of the picture."""
    ends = {}
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            operation = event["args"]
            ends.setdefault((event["name"], operation["communicator"], operation["Seq"]),
                            []).append(event["ts"] + event["dur"])
    apart = sorted(max(times) - min(times) for times in ends.values() if len(times) == RANKS)
    check(len(apart) > 10 and apart[len(apart) // 2] < 8000,
          f"half of {len(apart)} collectives end within {apart[len(apart) // 2] if apart else 0} us everywhere")


def check_apart(scratch):
    """No collective has ended: clocks cannot be compared, which is said, and what needs none is found all the same."""
    boxes = check_job(scratch, "init-never", 4)
    text = " ".join(rankwatch("report", boxes).stdout.split())
    check("machines 2, in 2 groups whose clocks cannot be compared" in text,
          "the head says that clocks cannot be compared")
    top = rankwatch("top", "--once", boxes)
    check("host-0 (ranks" in top.stderr and "are left out" in top.stderr,
          f"top shows one machine, and says so: {top.stderr}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in JOBS:
            for ranks_each in (2, 1):
                boxes = check_job(scratch, name, ranks_each)
                if name == "io-rank0" and ranks_each == 2:
                    check_words(boxes)
                shutil.rmtree(boxes)
        check_apart(scratch)
    finish()


main()
