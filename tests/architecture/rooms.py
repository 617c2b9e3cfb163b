#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the includes agree with the picture of the rooms? rooms.py TREE PAGE: each line of a block that begins with
```rooms in PAGE is
    room ─► rooms whose headers its files include
Fails when a file includes a header of a room that its line does not name, when a line names a room of which nothing is
included, when a room is missing, and when a line names a room that does not stand below it: so no two rooms know each
other."""
import os
import re
import sys

SOURCES = (".c", ".h", ".cc", ".cu")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([\w./-]+)[>"]', re.M)
# tests know everything, and so may a program that writes a page; others' sources are others'
LEFT_OUT = ("tests", "docs", "subprojects")


def picture(page):
    """Rooms in the order of the picture, each with those that it may include."""
    rooms, drawing = {}, False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            drawing = line.startswith("```rooms")
            continue
        if not drawing or not line.strip():
            continue
        if "─►" not in line and "─" not in line:
            sys.exit(f"line {number}: no room ─► rooms: {line}")
        name, _, others = line.partition("─")
        name, others = name.strip(), others.lstrip("─►").split()
        if name in rooms:
            sys.exit(f"line {number}: {name} is drawn twice")
        rooms[name] = others
    return rooms


def room_of(path, rooms):
    """The longest folder that is a room; None: it lies in none."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in rooms:
        parts.pop()
    return "/".join(parts) or None


def sources(tree):
    for folder, folders, names in os.walk(tree):
        top = os.path.relpath(folder, tree).split(os.sep)[0]
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        if top in LEFT_OUT:
            folders[:] = []
            continue
        yield from (os.path.relpath(os.path.join(folder, n), tree) for n in sorted(names) if n.endswith(SOURCES))


def included(tree, path):
    """Headers of the tree that the file includes, as paths from its root."""
    with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as file:
        for name in INCLUDE.findall(file.read()):
            for candidate in (name, "include/" + name, os.path.join(os.path.dirname(path), name)):
                if os.path.isfile(os.path.join(tree, candidate)):
                    yield os.path.normpath(candidate)
                    break


def crossings(tree, rooms):
    """What is wrong, as sentences."""
    order, used = list(rooms), {name: set() for name in rooms}
    for path in sources(tree):
        own = room_of(path, rooms)
        if own is None:
            yield f"{path} lies in no room of the picture"
            continue
        for header in included(tree, path):
            other = room_of(header, rooms)
            if other in (None, own):
                continue
            used[own].add(other)
            if other not in rooms[own]:
                yield f"{path} includes {header}, and the picture has no arrow {own} ─► {other}"
    for name, others in rooms.items():
        for other in others:
            if other not in rooms:
                yield f"{name} ─► {other}: there is no such room"
            elif order.index(other) < order.index(name):
                yield f"{name} ─► {other}: {other} stands above {name}"
            elif other not in used[name]:
                yield f"{name} ─► {other}: nothing of it is included any more"


def main():
    tree, page = sys.argv[1:3]
    with open(page, encoding="utf-8") as file:
        rooms = picture(file.read())
    if not rooms:
        sys.exit(f"{page} has no picture of the rooms")
    wrong = list(crossings(tree, rooms))
    for sentence in wrong:
        print(sentence)
    print(f"{len(rooms)} rooms, {sum(map(len, rooms.values()))} arrows, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
