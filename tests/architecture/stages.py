#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the calls between files agree with the picture of the stages? stages.py PAGE NM LIBRARY...: each line of a block
that begins with ```stages in PAGE is
    stage ─► folders
from the top of the way to its end; the folder . holds the files that lie in none. The libraries are static ones; NM
lists their symbols. A file calls another one when it uses a symbol that the other one defines. Fails when a folder
stands in two stages or holds no file, when a file calls one of a stage above its own, and when files call each other in
a circle."""
import collections
import os
import re
import subprocess
import sys

MEMBER = re.compile(r"^(?P<name>\S+)\.c\.o:$")


def picture(page):
    """Stages from the top, each with its folders."""
    stages, drawing = {}, False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            drawing = line.startswith("```stages")
            continue
        if not drawing or not line.strip():
            continue
        name, arrow, folders = line.partition("─►")
        if not arrow:
            sys.exit(f"line {number}: no stage ─► folders: {line}")
        stages.setdefault(name.strip(), []).extend(folders.split())
    return stages


def symbols(nm, libraries):
    """Per file the names that it defines, and those that it uses. Meson writes a folder of the source as a prefix with
    _."""
    defined, used, member = {}, collections.defaultdict(set), None
    for library in libraries:
        listing = subprocess.run([nm, "--defined-only", library], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            found, words = MEMBER.match(os.path.basename(line)), line.split()
            if found:
                member = found["name"]
                used[member]
            elif member and len(words) == 3 and words[1] in "TDBRC":
                defined[words[2]] = member
        listing = subprocess.run([nm, "--undefined-only", library], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            found, words = MEMBER.match(os.path.basename(line)), line.split()
            if found:
                member = found["name"]
            elif member and len(words) == 2:
                used[member].add(words[1])
    return defined, used


def calls_between(defined, used):
    """(from, to) → a symbol that is called."""
    return {(one, defined[name]): name for one, names in used.items() for name in sorted(names)
            if name in defined and defined[name] != one}


def circles(files, calls):
    """Groups of files of which each reaches each other one, after Tarjan."""
    after = collections.defaultdict(list)
    for one, other in calls:
        after[one].append(other)
    index, low, stack, groups = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in after[file]:
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            at = stack.index(file)
            groups.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(files):
        if file not in index:
            visit(file)
    return [group for group in groups if len(group) > 1]


def folder_of(file, folders):
    """Of a file as the libraries call it: folder_file."""
    return next((folder for folder in folders if file.startswith(folder + "_")), ".")


def disagreements(stages, files, calls):
    """What is wrong, as sentences."""
    place = {}
    for height, (stage, folders) in enumerate(stages.items()):
        for folder in folders:
            if folder in place:
                yield f"{folder} stands in two stages, {place[folder][1]} and {stage}"
            place[folder] = height, stage
    of = {file: folder_of(file, place) for file in files}
    for folder in place.keys() - set(of.values()):
        yield f"{place[folder][1]} ─► {folder}: there is no file in it"
    for folder in sorted(set(of.values()) - place.keys()):
        yield f"files stand in no stage: {', '.join(sorted(file for file in files if of[file] == folder))}"
    for (one, other), name in sorted(calls.items()):
        if of[one] in place and of[other] in place and place[of[other]][0] < place[of[one]][0]:
            yield (f"{one} ({place[of[one]][1]}) calls {name} of {other}, which is of a stage above it, "
                   f"{place[of[other]][1]}")
    for group in circles(files, calls):
        yield "these files call each other in a circle: " + ", ".join(group)


def main():
    page, nm, *libraries = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        stages = picture(file.read())
    if not stages:
        sys.exit(f"{page} has no picture of the stages")
    defined, used = symbols(nm, libraries)
    calls = calls_between(defined, used)
    if not calls:
        sys.exit(f"{' '.join(libraries)}: no file calls another one; are these the libraries?")
    wrong = list(disagreements(stages, set(used), calls))
    for sentence in wrong:
        print(sentence)
    print(f"{len(stages)} stages, {len(used)} files, {len(calls)} pairs of which one calls the other, "
          f"{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
