#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py PRINT_BOUNDS [--write]: are the pages of this directory alike, and the bounds in docs/analysis.md those of
the code?

--write puts the code's bounds into that page. Without it a page that differs fails, with what to do.
"""

import pathlib
import re
import subprocess
import sys

HEADINGS = ["An example", "What it means", "What to do first", "How it is decided", "What it cannot see", "Thresholds"]
DRAWING_COLUMNS = 76  # a terminal has 80, and the program indents by two
HERE = pathlib.Path(__file__).resolve().parent


def kinds():
    """The names that a finding's `kind` can have, as finding/finding_names.c has them."""
    source = (HERE / "../../finding/finding_names.c").read_text()
    return set(re.findall(r'\[RW_KIND_\w+\] = "(\w+)"', source))


def parts(text):
    """[(heading, body)] of a page."""
    pieces = re.split(r"^## (.+)\n", text, flags=re.M)
    return list(zip(pieces[1::2], pieces[2::2]))


def drawings(body):
    return [block for language, block in re.findall(r"^```(\w*)\n(.*?)^```", body, flags=re.M | re.S) if not language]


def faults(kind, text):
    found = []
    if not re.match(rf"# {kind}: \w", text):
        found.append(f'the first line is not "# {kind}: " and what it is')
    headings = [heading for heading, _ in parts(text)]
    if headings != HEADINGS:
        return found + [f"headings are {headings}, not {HEADINGS}"]
    body = dict(parts(text))
    example = re.search(r"^```text\n(.*?)^```", body["An example"], flags=re.M | re.S)
    if not example or kind.upper() not in example.group(1):
        found.append("the example is no output of the program (```text, with the kind in capitals)")
    steps = re.findall(r"^(\d+)\. ", body["How it is decided"], flags=re.M)
    if steps != ["1", "2", "3", "4", "5"]:
        found.append(f"it is decided in steps {steps}, not in five")
    if len(drawings(body["How it is decided"])) != 1:
        found.append("there is not one drawing of how it is decided")
    for line in "".join(drawings(body["How it is decided"])).splitlines():
        if len(line) > DRAWING_COLUMNS:
            found.append(f"the drawing is {len(line)} columns wide, {DRAWING_COLUMNS} fit: {line.strip()[:40]} …")
    if "\n**How sure.** " not in body["What it means"]:
        found.append("what it means does not end with how sure it is (**How sure.**)")
    if not re.search(r"^1\. ", body["What to do first"], flags=re.M):
        found.append("what to do first is no list with numbers")
    if not re.search(r"^- ", body["What it cannot see"], flags=re.M):
        found.append("what it cannot see is no list")
    if body["Thresholds"].strip() != f"`rankwatch help {kind}` prints them.":
        found.append("the section Thresholds does not say where they are")
    return found


def bounds_differ(program, write):
    """Of the table behind "## Bounds" in docs/analysis.md, whose first paragraph is written by hand."""
    path = HERE / "../analysis.md"
    table = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    text = path.read_text(encoding="utf-8")
    before, rest = text.split("\n## Bounds\n", 1)
    section, after = rest.split("\n## ", 1)
    words = section.split("\n| ")[0]
    if write:
        path.write_text(f"{before}\n## Bounds\n{words}\n{table}\n## {after}", encoding="utf-8")
    return not write and section.strip() != (words + "\n" + table).strip()


def main(program, write=""):
    failed = False
    pages = {path.stem: path for path in HERE.glob("*.md")}
    for kind in sorted(kinds() | set(pages)):
        if kind not in pages or kind not in kinds():
            print(f"{kind}: " + ("no page" if kind not in pages else "a page, and no finding of this kind"))
            failed = True
            continue
        for fault in faults(kind, pages[kind].read_text(encoding="utf-8")):
            print(f"{kind}.md: {fault}")
            failed = True
    if bounds_differ(program, write == "--write"):
        print("analysis.md: the bounds are not those of the code: ninja -C build bounds writes them")
        failed = True
    if not failed:
        print(f"{len(pages)} pages alike, and the bounds as they are in the code")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
