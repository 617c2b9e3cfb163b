#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flight_recorder.py: the boxes of recorded jobs as PyTorch's Flight Recorder would have written them, read by Python's
pickle and compared as PyTorch's analyser compares them: entries of equal number within one process group, on all of its
ranks. What it says of a group first is what people act on."""

import ast
import json
import pathlib
import pickle
import re
import subprocess
import tempfile

from recorded import RANKWATCH, check, finish, unpack


# What the first entry that does not match says, by tape: ranks that lack it, or which ranks' calls differ.
EXPECTED = {
    "healthy": None,
    "nan-mesh": None,  # pipeline, data and tensor parallel: transfers, too
    "bitflip-p2p": None,
    "never": ("missing", {4}),
    "killed": ("missing", {6}),
    "stopped": ("missing", {2}),
    "desync-count": ("differs", {2}),
    "desync-order": ("differs", {1}),
    "desync-skip": ("differs", {3}),
    "desync-extra": ("differs", {5}),
    "init-never": None,
}
KNOWN_NAME = re.compile(r"nccl:(all_reduce|_all_gather_base|_reduce_scatter_base|broadcast|reduce|gather|scatter|"
                        r"all_to_all|send [01]->[01]|recv [01]<-[01])")
FIELDS = {"record_id", "pg_id", "process_group", "collective_seq_id", "p2p_seq_id", "op_id", "profiling_name",
          "input_sizes", "output_sizes",
          "input_dtypes", "output_dtypes", "time_created_ns", "time_discovered_started_ns",
          "time_discovered_completed_ns", "state", "is_p2p",
          "retired", "timeout_ms", "frames"}


class OnlyData(pickle.Unpickler):
    """A dump holds plain data: nothing in it may ask for a class or a function."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"asks for {module}.{name}")


def load(directory):
    dumps = {}
    for file in directory.iterdir():
        prefix, rank = re.fullmatch(r"([\w\-]*?)(\d+)", file.name).groups()
        check(prefix == "rank_", f"file {file.name}")
        with file.open("rb") as stream:
            dumps[int(rank)] = OnlyData(stream).load()
    return dumps


def members(dumps):
    """{group: its ranks}; every rank that has a group must say the same of it."""
    groups = {}
    for rank, dump in dumps.items():
        for name, group in dump["pg_config"].items():
            ranks = ast.literal_eval(group["ranks"])
            same = groups.setdefault(name, (ranks, group["desc"])) == (ranks, group["desc"])
            if not same or rank not in ranks:
                check(False, f"group {name} of rank {rank}: {group}, elsewhere {groups[name]}")
    return {name: ranks for name, (ranks, _) in groups.items()}


def check_form(name, dumps):
    wrong = []
    for rank, dump in dumps.items():
        for number, entry in enumerate(dump["entries"]):
            group, description = entry["process_group"]
            right = (set(entry) == FIELDS and entry["record_id"] == number
                     and KNOWN_NAME.fullmatch(entry["profiling_name"]))
            right = (right and dump["pg_config"][group]["desc"] == description
                     and entry["state"] in ("scheduled", "started", "completed"))
            right = (right
                     and all(isinstance(size, int) for sizes in entry["input_sizes"] + entry["output_sizes"]
                             for size in sizes))
            if not right:
                wrong.append((rank, entry))
    check(not wrong, f"{name}: entries have the form that the analyser reads {wrong[:1]}")
    check(all(dump["version"] == "2.4" for dump in dumps.values()), f"{name}: version")


def call_of(entry):
    """What must be equal on both sides."""
    kind, _, pair = entry["profiling_name"].partition(" ")
    return ("transfer", sorted(re.findall(r"\d", pair)), entry["input_sizes"]) if pair else (kind, entry["input_sizes"],
                                                                                             entry["output_sizes"])


def first_mismatch(dumps, groups):
    """("missing" or "differs", ranks) of the lowest number in any group whose entries do not match; how many match."""
    table = {}
    for rank, dump in dumps.items():
        for entry in dump["entries"]:
            at = table.setdefault((entry["process_group"][0], entry["collective_seq_id"]), {})
            if rank in at:
                check(False, f"rank {rank} has {entry['process_group'][0]} #{entry['collective_seq_id']} twice")
            at[rank] = entry
    found, matched = None, 0
    for (group, number), at in sorted(table.items(), key=lambda item: item[0][1]):
        lacking = set(groups[group]) - set(at)
        calls = {rank: str(call_of(entry)) for rank, entry in at.items()}
        usual = max(calls.values(), key=list(calls.values()).count)
        differing = {rank for rank, call in calls.items() if call != usual}
        matched += not lacking and not differing
        if not found and (lacking or differing):
            found = ("missing", lacking) if lacking else ("differs", differing)
    return found, matched


def play(name, directory):
    boxes, out = directory / "boxes", directory / "out"
    unpack(name, boxes)
    done = subprocess.run([RANKWATCH, "dump", "--flight-recorder", out, boxes], capture_output=True, text=True)
    check(done.returncode == 0, f"{name}: {done.stderr.strip()}")
    dumps = load(out)
    groups = members(dumps)
    check_form(name, dumps)
    found, matched = first_mismatch(dumps, groups)
    check(found == EXPECTED[name] and matched > (40 if name != "init-never" else -1),
          f"{name}: {matched} entries match, then {found}")
    again = subprocess.run([RANKWATCH, "dump", "--flight-recorder", out, boxes], capture_output=True, text=True)
    check(again.returncode == 1 and "File exists" in again.stderr,
          f"{name}: does not write over it: {again.stderr.strip()}")
    check_json(name, directory, dumps)
    check(all((file.stat().st_mode & 0o777) == 0o600 for file in out.iterdir()), f"{name}: nobody else may read them")


def check_json(name, directory, dumps):
    """The same as JSON: every number, text and list, in the same order."""
    out = directory / "json"
    done = subprocess.run([RANKWATCH, "dump", "--flight-recorder", out, "--json", directory / "boxes"],
                          capture_output=True, text=True)
    check(done.returncode == 0 and "torchfrtrace" not in done.stderr, f"{name}: {done.stderr.strip()}")
    check({file.name for file in out.iterdir()} == {f"rank_{rank}.json" for rank in dumps},
          f"{name}: a file of JSON for each rank")
    for rank, dump in dumps.items():
        read = json.loads((out / f"rank_{rank}.json").read_text(encoding="utf-8"))
        check(repr(read) == repr(dump), f"{name}: the JSON of rank {rank} is its pickle")


def main():
    for name in EXPECTED:
        with tempfile.TemporaryDirectory(prefix="rankwatch-flight.") as directory:
            play(name, pathlib.Path(directory))
    finish()


if __name__ == "__main__":
    main()
