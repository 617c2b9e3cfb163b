#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""together.py DIRECTORY SOURCE…: some C sources at a time as one, which costs half as much to compile. Writes files that
include them into DIRECTORY, and prints their names, one a line.

Sources are apart where one defines a name for itself (a static function, a macro, a type) that the other one, or a header
of it, has as well, or where two headers define the same name. Meson's unity builds would ask each name to be of one file."""
import functools
import pathlib
import re
import sys

MOST = 8  # so that all processors have something to do
ROOT = pathlib.Path(__file__).resolve().parents[1]
SYSTEM = (pathlib.Path("/usr/include"), *pathlib.Path("/usr/include").glob("*-linux-gnu"))
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+[<"]([\w./-]+)[>"]', re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
STATIC = re.compile(r"^static\b[^;=({\[]*?\b(\w+)\s*[(\[=;]", re.M)
OF_UNNAMED_TYPE = re.compile(r"^\}\s*(\w+)\s*[\[=;]", re.M)
FUNCTION = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)\(", re.M)
TYPE = re.compile(r"^(?:typedef |static |const )*(?:struct|union|enum) (\w+)\s*\{", re.M)
ENUMERATORS = re.compile(r"^(?:typedef |static |const )*enum\b[^;{(]*\{([^}]*)\}", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


@functools.cache
def code_of(path):
    return NO_CODE.sub(" ", text_of(path))


@functools.cache
def words_of(path):
    return frozenset(WORD.findall(code_of(path)))


@functools.cache
def macros_of(path):
    return frozenset(MACRO.findall(code_of(path)))


@functools.cache
def names_of(path):
    """What is defined outside of functions; a header also what it only declares."""
    code = code_of(path)
    listed = (word for body in ENUMERATORS.findall(code) for word in re.findall(r"(?:^|,)\s*(\w+)", body))
    functions = FUNCTION if path.suffix == ".h" else STATIC
    return macros_of(path).union(TYPE.findall(code), functions.findall(code), OF_UNNAMED_TYPE.findall(code), listed)


@functools.cache
def included(path):
    """Headers of ours and of the system, each where it is looked for first."""
    folders = (path.parent, ROOT, ROOT / "include", *SYSTEM) if ROOT in path.parents else SYSTEM
    places = ([folder / name for folder in folders] for name in INCLUDED.findall(text_of(path)))
    return [found[0].resolve() for of_name in places if (found := [place for place in of_name if place.is_file()])]


class Source:
    def __init__(self, path):
        self.path, self.names, self.macros, self.words = path, names_of(path), macros_of(path), words_of(path)
        headers, ahead = set(), [path]
        while ahead:
            new = set(included(ahead.pop())) - headers
            headers |= new
            ahead += new
        self.headers = {name: header for header in headers if ROOT in header.parents for name in names_of(header)}
        self.brought = set(self.headers).union(*(words_of(header) for header in headers if ROOT not in header.parents))

    def bears(self, other):
        return not (self.names & other.names or self.names & other.brought or other.names & self.brought
                    or self.macros & other.words or other.macros & self.words
                    or any(self.headers[name] != other.headers[name] for name in self.headers.keys() & other.headers.keys()))


def together(sources):
    """Each into the first group that has room and bears it: those of a folder stand beside each other."""
    groups = []
    for source in sources:
        group = next((one for one in groups if len(one) < MOST and all(map(source.bears, one))), None)
        if group is None:
            groups.append(group := [])
        group.append(source)
    return groups


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for number, group in enumerate(together([Source(pathlib.Path(name).resolve()) for name in sys.argv[2:]])):
        made = directory / f"together_{number}.c"
        text = "".join(f'#include "{source.path}"\n' for source in group)
        if not made.exists() or made.read_text(encoding="utf-8") != text:
            made.write_text(text, encoding="utf-8")
        print(made)


if __name__ == "__main__":
    main()
