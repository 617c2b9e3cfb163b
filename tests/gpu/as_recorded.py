#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the stand-in as it was recorded?
  as_recorded.py BUILD                     plays the parts of tests/gpu/run that record on the stand-in, and compares
                                           with every recordings/*.jsonl; what a recordings/*.known lists may differ
  as_recorded.py BUILD --record            writes recordings/rehearsal.jsonl anew, after the stand-in was changed
  as_recorded.py --keep RECORDING… NAME    writes recordings/NAME.jsonl: of these recording.jsonl what is compared,
                                           which is of the parts drill, capture, sequence and stuck (of
                                           the call first) and of context (of the call defaults)"""

import copy
import fileinput
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import compare

HERE = pathlib.Path(__file__).resolve().parent
RECORDINGS = HERE / "recordings"
PARTS = ("drill", "capture", "sequence", "stuck", "context")
REHEARSAL = RECORDINGS / "rehearsal.jsonl"
OF_ONE_RUN = ("us", "share", "cpu", "switches_per_s", "name", "wchan")  # fields that are never compared


def play(build, directory):
    """The recording's lines."""
    command = [HERE / "run", "--stand-in", "--build", build, "--out", directory]
    for name in PARTS:
        command += ["--only", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tests/gpu/run: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return pathlib.Path(directory, "only", "recording.jsonl").read_text().splitlines()


def keep(lines, path):
    """Of other threads' callbacks one of each kind; no numbers, which are the machine's; no part that is not played."""
    kept, seen = [], set()
    for line in map(json.loads, lines):
        if line["kind"] != "machine" and line["part"] not in PARTS:
            continue
        if line["kind"] == "callback" and line["text"].startswith(compare.OTHER_THREAD):
            line.update(text=compare.OTHER_THREAD + compare.kind_of(line["text"]), thread=None)
        if line["kind"] == "number" or (line["kind"] == "thread" and line["thread"] != "main"):
            continue
        text = json.dumps({key: value for key, value in line.items() if key not in OF_ONE_RUN})
        if compare.OTHER_THREAD not in text or text not in seen:
            kept.append(text + "\n")
        seen.add(text)
    path.write_text("".join(kept))


def silent(_):
    pass


def is_compared(line):
    return line.get("thread") == "main" or line["kind"] == "fact" or (
        line["kind"] == "callback" and not line["text"].startswith(compare.OTHER_THREAD))


def check_that_changes_are_seen(path, directory):
    """One line of each kind changed, and one left out; and that what is known passes as long as it is so."""
    recorded, results = compare.read(path), []
    for kind, field in (("callback", "text"), ("fact", "value"), ("thread", "state")):
        places = [i for i, line in enumerate(recorded[kind]) if is_compared(line)]
        changed, shorter = copy.deepcopy(recorded), copy.deepcopy(recorded)
        changed[kind][places[len(places) // 2]][field] += "?"
        del shorter[kind][places[len(places) // 2]]
        results.append((list(compare.differences(recorded, changed)), f"a {kind} changed is seen"))
        results.append((list(compare.differences(recorded, shorter)), f"a {kind} left out is seen"))
    results.append((not list(compare.differences(recorded, recorded)), "a recording is as itself"))
    other, known = directory / "other.jsonl", directory / "other.known"
    other.write_text("".join(json.dumps(line) + "\n" for kind in recorded.values() for line in kind[1:]
                             if is_compared(line)))
    known.write_text("\n".join(compare.differences(recorded, compare.read(other))))
    results.append((known.read_text() and compare.status(path, other, known, silent) == 0, "what is known may differ"))
    results.append((compare.status(path, path, known, silent) == 1, "what is known and no longer so is told"))
    for right, what in results:
        print(f"{'ok     ' if right else 'FAILED '}{what}")
    return sum(not right for right, _ in results)


def check(recording, played, build):
    known = recording.with_suffix(".known")
    wrong = compare.status(recording, played, known if known.exists() else None)
    print(f"{'FAILED ' if wrong else 'ok     '}the stand-in is as {recording.name} has it")
    if wrong and recording == REHEARSAL:
        print(f"If the stand-in was meant to change: tests/gpu/as_recorded.py {build} --record")
    return wrong


def main():
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if sys.argv[1:2] == ["--keep"] and len(sys.argv) >= 4:
        keep(fileinput.input(sys.argv[2:-1]), RECORDINGS / f"{sys.argv[-1]}.jsonl")
        return
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--record"]):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        lines = play(sys.argv[1], directory)
        if sys.argv[2:]:
            keep(lines, REHEARSAL)
            return
        played = pathlib.Path(directory, "only", "recording.jsonl")
        wrong = check_that_changes_are_seen(played, pathlib.Path(directory))
        for recording in sorted(RECORDINGS.glob("*.jsonl")):
            wrong += check(recording, played, sys.argv[1])
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
