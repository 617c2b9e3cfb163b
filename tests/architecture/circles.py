#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do more than two files know each other in a circle? circles.py TREE: by the sources, so that calls of inline
functions count.

A file is a .c with its header. It knows another one when it includes its header, or calls it: uses a function that the
other one defines and whose header it includes, itself or through others. Functions of one name in two files are left
out, as are those that only a table names. ACCEPTED names circles that are larger, and may not grow."""
import collections
import os
import re
import sys

SOURCES = (".c", ".h", ".cu")
LEFT_OUT = ("contrib", "docs", "subprojects", "tests")
# A header that is the inside of another file, to be inlined by those who include it.
INSIDES = {"plugin/operations/operation_path": "plugin/operations/operation"}
# Folder in which a larger circle lies → how many files it may have. It has includes: by calls alone there is none.
ACCEPTED = {"analysis": 97}
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DEFINED = re.compile(r"^(?P<before>[A-Za-z_][\w \t*(),]*?[\s*])(?P<name>[A-Za-z_]\w*)\([^;{}]*\)\s*\n\{", re.M)
DECLARED = re.compile(r"^[A-Za-z_][^;{}=]*\([^{};]*\)[^{};]*;", re.M)
USED = re.compile(r"(?<![\w.>])[A-Za-z_]\w*(?=\()")
INCLUDED = re.compile(r'^\s*#\s*include\s+[<"]([\w./-]+)[>"]', re.M)


def file_of(path):
    name = re.sub(r"(\.bpf)?\.(c|h|cu)$", "", path)
    return INSIDES.get(name, name)


def sources(tree):
    """path → text"""
    found = {}
    for folder, folders, names in os.walk(tree):
        top = os.path.relpath(folder, tree).split(os.sep)[0]
        folders[:] = [] if top in LEFT_OUT else sorted(f for f in folders if not f.startswith((".", "build")))
        for name in names if top not in LEFT_OUT else ():
            if name.endswith(SOURCES):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    found[os.path.relpath(path, tree)] = file.read()
    return found


def headers(texts):
    """path → headers that it includes itself"""
    direct = {}
    for path, text in texts.items():
        candidates = ((name, "include/" + name, os.path.normpath(os.path.join(os.path.dirname(path), name)))
                      for name in INCLUDED.findall(text))
        direct[path] = {next((c for c in names if c in texts), None) for names in candidates} - {None}
    return direct


def includes(texts):
    """path → files whose headers it includes, itself or through others"""
    direct, closed = headers(texts), {}
    for path in texts:
        seen, ahead = set(), [path]
        while ahead:
            new = direct[ahead.pop()] - seen
            seen |= new
            ahead += new
        closed[path] = {file_of(header) for header in seen}
    return closed


def definitions(codes):
    """function → files that define it for others"""
    found = collections.defaultdict(set)
    for path, code in codes.items():
        for match in DEFINED.finditer(code):
            if path.endswith(".h") or "static" not in match["before"].split():
                found[match["name"]].add(file_of(path))
    return found


def calls(texts):
    """file → {other file: a function of it}"""
    codes = {path: NO_CODE.sub(" ", text) for path, text in texts.items()}
    seen, defined = includes(texts), definitions(codes)
    found = collections.defaultdict(dict)
    for path, code in codes.items():
        for name in sorted(set(USED.findall(DECLARED.sub("", code)))):
            owners = defined.get(name, ())
            if len(owners) == 1 and file_of(path) not in owners and owners <= seen[path]:
                found[file_of(path)].setdefault(*owners, name)
    return found


def knows(texts):
    """file → {other file: a function of it that it calls, or that it includes its header}"""
    found = calls(texts)
    for path, included in headers(texts).items():
        for other in sorted(map(file_of, included)):
            if other != file_of(path):
                found[file_of(path)].setdefault(other, "#include")
    return found


def circles(found):
    """Groups of files of which each reaches each other one."""
    reached = {}
    for file in list(found):
        seen, ahead = set(), [file]
        while ahead:
            new = set(found.get(ahead.pop(), ())) - seen
            seen |= new
            ahead += new
        reached[file] = seen
    groups = {frozenset(other for other in reached[file] if file in reached.get(other, ())) for file in reached}
    return sorted(sorted(group) for group in groups if len(group) > 2)


def accepted(group):
    return ACCEPTED.get(os.path.commonpath([os.path.dirname(file) for file in group]), 2)


def sentences(texts):
    called, known = calls(texts), knows(texts)
    wrong = [("call", called, group) for group in circles(called)]
    wrong += [("know", known, group) for group in circles(known) if len(group) > accepted(group)]
    for how, found, group in wrong:
        yield f"these files {how} each other in a circle: " + ", ".join(
            f"{one} → {other} ({found[one][other]})" for one in group for other in group if other in found[one])


def main():
    texts = sources(sys.argv[1])
    wrong = list(sentences(texts))
    for sentence in wrong:
        print(sentence)
    pairs = sum(map(len, calls(texts).values()))
    print(f"{len(texts)} sources, {pairs} pairs of files of which one calls the other, {len(wrong)} circles too large")
    sys.exit(1 if wrong or not pairs else 0)


if __name__ == "__main__":
    main()
