#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job that was started again, as torchrun --max_restarts does: the boxes of its first start, in which a rank was
killed, lie beside those of its second, which is well. The recorded jobs have the same name; the later one gets the
restart count."""

import gzip
import json
import os
import pathlib
import struct
import subprocess
import tempfile

from recorded import RANKWATCH, check, finish, unpack

TOTAL_SIZE, JOB, GENERATION = 32, 240, 364  # offsets in the header: docs/black-box.md


def add_start(scratch, name, generation, job):
    """Unpacks a recorded job's boxes, and gives them this restart count and name."""
    boxes = pathlib.Path(scratch) / job / f"start{generation}-{name}"
    unpack(name, boxes)
    for path in list(boxes.iterdir()):
        data = bytearray(gzip.decompress(path.read_bytes()))
        struct.pack_into("<64s", data, JOB, job.encode())
        struct.pack_into("<i", data, GENERATION, generation)
        plain = path.with_suffix("")
        plain.write_bytes(data)
        os.truncate(plain, *struct.unpack_from("<Q", data, TOTAL_SIZE))  # a saved box lacks the zeros at its end
        path.unlink()


def report(*arguments):
    return subprocess.run([RANKWATCH, "report", *map(str, arguments)], capture_output=True, text=True)


def findings(done):
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(line["job"]["generation"], line["kind"], line["ranks"]) for line in lines if "kind" in line]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        add_start(scratch, "killed", 0, "again")
        add_start(scratch, "healthy", 1, "again")  # recorded later
        boxes = pathlib.Path(scratch) / "again"
        text = report(boxes)
        head, _, earlier = text.stdout.partition("\nearlier ")
        check("again, restart 1" in head and "\n\nno finding in this start; the earlier ones follow below\n\n" in head,
              "the newest start comes first, and is well")
        check("its first start (restart 0)" in earlier and "rank 6" in earlier and "GONE" in earlier,
              "why the first start ended is told behind it")
        check("8 of 8 left a black box: 0-7" in earlier, "with who was seen of it")
        check(text.stderr == "", f"nothing is left out: {text.stderr}")
        check(findings(report("--json", boxes)) == [(0, "gone", [6])], "as JSON the finding bears its restart count")
        check(report("--exit-code", boxes).returncode == 5, "and it counts for the exit status")
        every = report("--all", boxes)
        check(every.stdout.count("job       ") == 2 and "\nearlier " not in every.stdout,
              "--all shows both in full, each once")
        page = report("--html", boxes / "page.html", boxes)
        check("this is the newest of 2 runs" in page.stderr, "a page says that there is another run")

        add_start(scratch, "killed", 0, "launches")
        add_start(scratch, "healthy", 0, "launches")
        other = report(pathlib.Path(scratch) / "launches")
        check("GONE" not in other.stdout and "\n\nno finding\n\n" in other.stdout
              and "newest of 2 runs; --all" in other.stderr, "another launch of the same name is no earlier start")
        empty = pathlib.Path(scratch) / "empty"
        empty.mkdir()
        nothing = report(empty)
        check("no black box (*.rwbox, *.rwbox.gz) there" in nothing.stderr,
              f"where there is none it says what is looked for: {nothing.stderr}")
    finish()


main()
