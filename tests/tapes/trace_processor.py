#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace_processor.py: Perfetto's own trace processor, which ui.perfetto.dev runs, on traces of recorded jobs in both
formats. RANKWATCH_TRACE_PROCESSOR is the program (trace_processor_shell of https://github.com/google/perfetto). Without
it it is skipped aloud."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

from foreign import RANKS, place, rankwatch
from recorded import boxes_of, check, finish

FINDING = {"never": "HANG: rank 4", "io-rank0": "STRAGGLER: rank 0", "nan-mesh": "NAN: rank 1"}

ASKS = {
    "lost": "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
    "processes": "select name from process where name is not null order by pid",
    "slices": "select count(*) from slice",
    "flows": "select count(*) from flow",
    "counters": "select count(*) from counter",
    "findings": "select slice.name from slice join process_track on slice.track_id = process_track.id join process "
                "using (upid) "
                "where process.name glob 'job *' union select slice.name from slice join thread_track on "
                "slice.track_id = thread_track.id "
                "join thread using (utid) join process using (upid) where process.name glob 'job *'",
}


def ask(program, path, query):
    done = subprocess.run([program, "-q", "/dev/stdin", path], input=query, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAILED {path}: {query}: {done.stderr[-600:]}")
    return [row if len(row) > 1 else row[0] for row in list(csv.reader(done.stdout.strip().splitlines()))[1:] if row]


def written(path):
    """What is in the file: slices and instants, arrows, samples of counters."""
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return tuple(str(sum(event["ph"] in kinds for event in events)) for kinds in ("Xi", "tf", "C"))


def look(program, name, directory):
    boxes = boxes_of(name, directory)
    paths = [directory / f"{name}.{suffix}" for suffix in ("json", "pftrace")]
    for path in paths:
        rankwatch("trace", "-o", path, boxes)
    expected = written(paths[0])
    for path in paths:
        answer = {what: ask(program, path, query) for what, query in ASKS.items()}
        check(not answer["lost"], f"{path.name}: nothing is lost: {answer['lost']}")
        ranks = [process.split(" ·")[0] for process in answer["processes"]]
        check(ranks == ["job", *(f"rank {rank}" for rank in RANKS)], f"{path.name}: {ranks}")
        counts = tuple(answer[what][0] for what in ("slices", "flows", "counters"))
        check(counts == expected, f"{path.name}: slices, arrows, samples: {counts}, written {expected}")
        check(len(answer["findings"]) == 1 and answer["findings"][0].startswith(FINDING[name]),
              f"{path.name}: {answer['findings']}")


def main():
    program = place("RANKWATCH_TRACE_PROCESSOR", "trace_processor_shell of Perfetto")
    with tempfile.TemporaryDirectory(prefix="rankwatch-perfetto.") as directory:
        for name in FINDING:
            look(program, name, pathlib.Path(directory))
    finish()


main()
