#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch dump --format csv` over a recorded job, read with Python's csv: the same values as in JSON."""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PLAYER, RANKWATCH = os.environ["TEST_TAPE_PLAYER"], os.environ["TEST_RANKWATCH"]
NAMES = {"scan_in", "scan_out"}


def flat(line):
    """A line of JSON as the table has it."""
    found = {}
    for key, value in line.items():
        if key in NAMES:
            found.update({f"{key}_{name}": one for name, one in value.items()})
        else:
            found[key] = " ".join(value) if isinstance(value, list) else value
    return {key: value for key, value in found.items() if value not in (None, "")}


def is_same(text, value):
    return abs(float(text) - value) <= abs(value) * 1e-7 if isinstance(value, float) else text == str(value)


def dump(boxes, *arguments):
    return subprocess.run([RANKWATCH, "dump", *arguments, boxes], check=True, capture_output=True, text=True).stdout


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as boxes:
        subprocess.run([PLAYER, HERE / "nan-mesh.tape", "boxes", boxes], check=True)
        table = list(csv.DictReader(io.StringIO(dump(boxes, "--format", "csv"), newline="")))
        lines = [flat(json.loads(line)) for line in dump(boxes).splitlines()]
    for row, line in zip(table, lines):
        line.pop("part")
        row = {key: value for key, value in row.items() if value != ""}
        if row.keys() != line.keys() or not all(is_same(row[key], line[key]) for key in row):
            wrong.append({key: (row.get(key), line.get(key)) for key in row.keys() | line.keys()
                          if key not in row or key not in line or not is_same(row[key], line[key])})
    print(f"{len(table)} rows of {len(lines)} operations, {len(wrong)} differ {wrong[:1]}")
    sys.exit(1 if wrong or len(table) != len(lines) or len(table) < 1000 else 0)


main()
