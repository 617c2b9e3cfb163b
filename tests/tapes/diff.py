#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch diff` over the boxes of recorded jobs: what parts first is what was injected, and two of the same are the
same."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from recorded import RANKWATCH, check, finish, unpack


def boxes(directory, name):
    place = directory / name
    if not place.exists():
        unpack(name, place)
    return place


def diff(*arguments):
    done = subprocess.run([RANKWATCH, "diff", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "TZ": "UTC"})
    return done.returncode, done.stdout, done.stderr


def compared(*arguments):
    status, out, err = diff("--json", *arguments)
    check(status in (0, 1), f"{[pathlib.Path(one).name for one in arguments]}: status {status} {err.strip()}")
    return status, json.loads(out)


def first(found, kind):
    return (found[kind] or [{"ranks": None, "a": "", "b": ""}])[0]


def check_head(place):
    """What it stands on: the level, and how many ranks of how many."""
    part = place / "part"
    part.mkdir()
    for box in sorted((place / "healthy").iterdir())[:3]:
        shutil.copy(box, part)
    _, out, _ = diff(part, place / "healthy")
    check("job tape, 3 of 8 ranks, begun" in out and "job tape, 8 of 8 ranks, begun" in out
          and "\nlevel      self: " in out, f"it says what it stands on: {out[:300]!r}")
    _, found = compared(part, place / "healthy")
    check((found["level"], found["a"]["ranks"], found["a"]["ranks_total"]) == ("self", 3, 8), "as JSON, too")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        healthy = boxes(place, "healthy")

        status, found = compared("--deterministic", healthy, healthy)
        check(status == 0 and found["same"] and not found["bits"] and found["calls_compared"] > 1000
              and found["digests_compared"] > 1000,
              f"a run is the same as itself: {found['calls_compared']} calls, {found['digests_compared']} digests")

        check_head(place)

        # Killed before its end, of the same program: shorter, and otherwise no different.
        status, found = compared(healthy, boxes(place, "killed"))
        check(status == 0 and found["same"] and found["a"]["calls_behind"] > 100, "a shorter run is no different")

        status, found = compared(healthy, boxes(place, "nan"))
        part = first(found, "bad")
        check(status == 1 and part["ranks"] == [5] and "1 NaN and 0 Inf in the input of ReduceScatter #42" in part["b"]
              and
              part["a"].startswith("0 NaN and 0 Inf"), f"the NaN parts them at rank 5's input: {part}")
        check(not found["calls"], "the calls are alike")
        status, backward = compared(boxes(place, "nan"), healthy)
        check(status == 1 and first(backward, "bad")["a"] == part["b"], "the other way round as well")

        for name, rank, call in (("desync-count", 2, "AllGather #62 of 8192 bf16"),
                                 ("desync-skip", 3, "ReduceScatter #30 of 16384 fp32"),
                                 ("desync-order", 1, "ReduceScatter #30 of 16384 fp32"),
                                 ("desync-extra", 5, "AllGather #71 of 16384 bf16")):
            status, found = compared(healthy, boxes(place, name))
            part = first(found, "calls")
            check(status == 1 and part["ranks"] == [rank] and part["b"] == call and part["a"] != call,
                  f"{name}: {part}")

        status, out, _ = diff(healthy, boxes(place, "desync-count"))
        check(status == 1 and "CALLS      rank 2 on the communicator of ranks 0-7" in out and "SAME" not in out, "text")
        check(max(map(len, diff(healthy, healthy)[1].splitlines())) < 200, "text of the same")

        check(diff(healthy)[0] == 2 and diff(healthy, place / "none")[0] == 2, "trouble is 2")
        damaged = place / "damaged"
        damaged.mkdir()
        for number, box in enumerate(sorted(healthy.iterdir())):
            content = box.read_bytes()
            (damaged / box.name).write_bytes(content[:len(content) // 2] if number == 3 else content)
        check(diff(healthy, damaged)[0] == 2, "a box that cannot be read is trouble, whatever the others say")
    finish()


if __name__ == "__main__":
    main()
