#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Black boxes of two machines in one directory: ranks 4-7 of recorded jobs as those of another boot, whose CLOCK_MONOTONIC is 10 hours ahead
or behind, and whose wall clock is wrong. What is found must be what each machine's boxes show, and no rank may be named by another
machine's clock."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from recorded import RANKWATCH, check, finish, unpack

ANOTHER = os.environ["TEST_ANOTHER_BOOT"]
BOOT = "11111111-2222-3333-4444-555555555555"
HOURS = 36000
# kind, rank: of the first machine (0-3), of the second (4-7), of nobody. When the first rank of a machine's wait is on the other one, nobody is named.
JOBS = (("healthy", None), ("jitter", None), ("killed", ("gone", 6)), ("io-rank0", ("straggler", 0)), ("never", ("hang", 4)))


def moved(boxes, ranks, seconds, wall_ms):
    """The boxes of these ranks become those of another boot."""
    paths = [path for path in sorted(boxes.iterdir()) if int(path.name[4:].split("-")[0]) in ranks]
    plain = []
    for path in paths:
        plain.append(path.with_suffix(""))
        with gzip.open(path) as packed, open(plain[-1], "wb") as out:
            shutil.copyfileobj(packed, out)
        path.unlink()
    subprocess.run([ANOTHER, str(seconds), str(wall_ms), "other", BOOT, *plain], check=True)


def rankwatch(*arguments):
    return subprocess.run([RANKWATCH, *map(str, arguments)], capture_output=True, text=True)


def lines_of(boxes):
    done = rankwatch("report", "--json", boxes)
    return [json.loads(line) for line in done.stdout.splitlines()]


def named(lines):
    return {(line["kind"], rank) for line in lines if "kind" in line for rank in line["ranks"]}


def flights(lines):
    """What is in flight must not depend on clocks at all."""
    return [(one["function"], one["sequence"], one["joined"], [rank["rank"] for rank in one["missing"]], one["unseen"])
            for one in (line["flight"] for line in lines if "flight" in line)]


def check_job(scratch, name, wanted, ranks, seconds, wall_ms):
    boxes = pathlib.Path(scratch) / f"{name}-{len(ranks)}-{ranks[0]}-{seconds}-{wall_ms}"
    unpack(name, boxes)
    before = lines_of(boxes)
    moved(boxes, ranks, seconds, wall_ms)
    after, what = lines_of(boxes), f"{name}, ranks {ranks[0]}-{ranks[-1]} ahead by {seconds} s, wall clock by {wall_ms} ms: "
    check(named(after) == ({wanted} if wanted else set()), f"{what}named: {named(after)}")
    check(flights(after) == flights(before), f"{what}in flight as on one machine")
    return boxes


def check_words(boxes):
    """Each command says what it does with two machines."""
    text = rankwatch("report", boxes).stdout
    check("hosts node-0, other" in text and "machines  2" in text, "the head says that there are two machines")
    check("after 10 s;" in " ".join(text.split()), "and how long the run was by its own clocks")
    time = [line for line in lines_of(boxes) if "time" in line and "explanation" in line]
    check([line.get("machine") for line in time] == ["node-0 (ranks 0-3)", "other (ranks 4-7)"], "where the time went is told of each machine")
    explained = rankwatch("explain", boxes).stdout
    check("on node-0 (ranks 0-3)" in explained and "on other (ranks 4-7)" in explained, "explain speaks of each machine")
    top = rankwatch("top", "--once", boxes)
    check("4 of 8 ranks" in top.stdout and "node-0 (ranks 0-3) only: 4 boxes" in top.stderr, "top shows one machine and says so")
    trace = rankwatch("trace", "--format", "chrome", "-o", boxes / "trace.json", boxes)
    check("8 ranks on 2 hosts" in trace.stderr and "by their wall clocks" in trace.stderr, "trace says by which clock hosts stand side by side")
    page = rankwatch("report", "--html", boxes / "page.html", boxes)
    check(page.returncode == 0 and "each is judged by its own clock" in (boxes / "page.html").read_text(), "so does the page")
    hosts = json.loads(rankwatch("hosts", "--json", boxes).stdout)
    check(hosts["jobs"] == 1 and {host["name"]: host["named"] for host in hosts["hosts"]} == {"node-0": 1, "other": 0}, "one job on two hosts")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name, wanted in JOBS:
            for ranks in (range(4), range(4, 8)):
                for seconds, wall_ms in ((HOURS, 0), (HOURS, -5000)):
                    boxes = check_job(scratch, name, wanted, ranks, seconds, wall_ms)
                    if name == "io-rank0" and ranks[0] == 4 and not wall_ms:
                        check_words(boxes)
        # Of the rank alone on its machine nobody waits there: that it had not come is known from the order of calls.
        for name, wanted in (("killed", 6), ("never", 4)):
            check_job(scratch, name, None, range(wanted, wanted + 1), HOURS, 0)
    finish()


main()
