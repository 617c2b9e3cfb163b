#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pytorch.py            plays the tapes of PyTorch's jobs on a real GPU at every level: the rank whose fault it was is
named,
                      nobody else, and what is found is exactly what pytorch/NAME.json says
pytorch.py --write    replaces these expectations, after a change that is meant; read the diff

docs/testing.md says how they were recorded. They cannot be recorded again without a GPU."""

import json
import subprocess
import sys

import tapes
import verdict

DIRECTORY = tapes.HERE / "pytorch"
# What was done to rank 1 of two: kind of finding, classes of cause that are true of it (None: a finding about values
# has none).
TRUTH = {
    "torch-nan": ("nan", {None}),
    "torch-python": ("straggler", {"lock"}),
    "torch-python-ddp": ("straggler", {"lock"}),
}
RANK = 1


def check_layout(failures, name, tape):
    world = json.loads(subprocess.run([tapes.PLAYER, "world"], check=True, capture_output=True, text=True).stdout)
    was = tapes.header_of(tape)["world"]
    fresh = tapes.fits(was, world)
    return failures.check(fresh, f"{name} has today's layout" +
                          ("" if fresh else f": it was {was}, is {world}; record it again on a GPU, or remove it"))


def check_truth(failures, name, level, found):
    kind, classes = TRUTH[name]
    wrong = [one["text"] for one in found if one["kind"] != kind or one["ranks"] != [RANK] or
             (one.get("cause") or {}).get("class") not in classes]
    failures.check(found and not wrong,
                   f"{name} at level {level}: rank {RANK}, {kind}" + "".join(f"\n         {one}" for one in wrong))


def main(*arguments):
    failures = tapes.Failures()
    for name in TRUTH:
        tape, expected = tapes.paths(name, DIRECTORY)
        check_layout(failures, name, tape)
        found = {level: tapes.play(tape, level) for level in tapes.LEVELS}
        if arguments == ("--write",):
            expected.write_text(json.dumps(found, indent=1) + "\n")
        expectation = json.loads(expected.read_text())
        for level in tapes.LEVELS:
            check_truth(failures, name, level, found[level])
            wrong = verdict.differences(expectation[level], found[level])
            failures.check(not wrong,
                           f"{name} at level {level}: as expected" + "".join(f"\n         {one}" for one in wrong))
    sys.exit(failures.count != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
