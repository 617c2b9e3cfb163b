#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py RECORDING OTHER [KNOWN]: what differs between two recordings of tests/gpu/run, one line each, in
callbacks, facts and what the main threads do; numbers are not compared. KNOWN: a file of such lines that may differ.
Exit status 0: nothing else does, and all of those still do."""

import collections
import difflib
import json
import re
import sys


def read(path):
    """{kind: [line]}"""
    kinds = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            kinds[json.loads(line)["kind"]].append(json.loads(line))
    return kinds


OTHER_THREAD = "(other thread) "


def kind_of(text):
    """Of a callback on another thread: when data comes decides about their order, numbers and amounts."""
    return re.sub(r"\d+", "N", text[len(OTHER_THREAD):])


def sequences(recording):
    """{(program, rank): (the calling thread's callbacks in order, kinds of those of other threads)}"""
    found = collections.defaultdict(lambda: ([], set()))
    for line in recording["callback"]:
        caller, others = found[line["program"], line["rank"]]
        if line["text"].startswith(OTHER_THREAD):
            others.add(kind_of(line["text"]))
        else:
            caller.append(line["text"])
    return found


def compare_callbacks(recorded, other):
    ours, theirs = sequences(recorded), sequences(other)
    for key in sorted(ours):
        name = f"callbacks of {key[0]}, rank {key[1]}"
        if key not in theirs:
            yield f"{name}: only recorded"
            continue
        for line in difflib.unified_diff(ours[key][0], theirs[key][0], lineterm="", n=0):
            if line[:1] in "+-" and not line.startswith(("+++", "---")):
                yield f"{name}: {'recorded' if line[0] == '-' else 'other'} alone: {line[1:]}"
        for line in sorted(ours[key][1] ^ theirs[key][1]):
            yield f"{name}: other threads, {'recorded' if line in ours[key][1] else 'other'} alone: {line}"


def compare_values(recorded, other, what):
    """What both were asked; and what only the recording was."""
    for key in sorted(recorded):
        if key not in other:
            yield f"{what}: {key}: {recorded[key]}, but the other was not asked"
        elif recorded[key] != other[key]:
            yield f"{what}: {key}: {recorded[key]}, but {other[key]}"


def facts(recording):
    return {line["what"]: line["value"] for line in recording["fact"]}


def doing(line):
    """Who runs does so in and out of system calls. Where a thread is in the kernel (wchan) has another name in each
    release of it, and sandboxes show none."""
    if line["state"].startswith("R"):
        return "running" + line["state"][1:]
    return f"{line['state']} in {line['call']}" + (f" on {line['about']}" if line["about"] else "")


def main_threads(recording):
    return {line["what"]: doing(line) for line in recording["thread"] if line["thread"] == "main"}


def differences(recorded, other):
    yield from compare_callbacks(recorded, other)
    yield from compare_values(facts(recorded), facts(other), "fact")
    yield from compare_values(main_threads(recorded), main_threads(other), "thread")


def status(recorded, other, known_file=None, say=print):
    """What main() exits with, and says."""
    found = list(differences(read(recorded), read(other)))
    known = open(known_file).read().splitlines() if known_file else []
    for line in known:
        if line not in found:
            say(f"no longer so: {line}")
    for line in found:
        if line not in known:
            say(f"differs: {line}")
    return int(collections.Counter(found) != collections.Counter(known))


def main():
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(status(*sys.argv[1:]))


if __name__ == "__main__":
    main()
