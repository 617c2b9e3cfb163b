#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""links.py ROOT: do the links of the pages lead to pages and headings that are there, and do the sections that comments
name exist?

A comment names a section as docs/analysis.md, "Steps". Some sections are paragraphs that begin with their name in bold.
TAP on stdout. """
import pathlib
import re
import sys

PROSE = re.compile(r"^```.*?^```", re.M | re.S)
NAMED = re.compile(r'docs/([\w/-]+\.md), "([A-Z][^"]*?)[.,]?"(?: and "([^"]*)")?')


def slug(heading):
    """As GitHub and GitLab make it."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


class Page:
    def __init__(self, path):
        text = PROSE.sub("", path.read_text(encoding="utf-8"))
        headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
        self.anchors = {slug(heading) for heading in headings}
        self.sections = set(headings) | {bold.rstrip(".") for bold in re.findall(r"^\*\*([^*]+)\*\*", text, flags=re.M)}
        self.links = re.findall(r"\]\(([^)\s]+)\)", text)


def faults(root):
    paths = [root / "README.md", root / "CHANGELOG.md", *root.glob("docs/**/*.md")]
    pages = {path.resolve(): Page(path) for path in paths}
    for path, page in pages.items():
        for link in page.links:
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if "://" in link:
                continue
            if not target.exists():
                yield f"{path.relative_to(root)}: there is no {link}"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.relative_to(root)}: there is no heading {link}"
    rooms = [build.parent for build in root.glob("*/meson.build")]
    for path in (path for room in rooms for path in room.rglob("*") if path.suffix in (".c", ".h", ".py", ".build")):
        text = re.sub(r"\s*\n\s*(\*|#|//)?\s*", " ", path.read_text(encoding="utf-8"))
        for name, *sections in NAMED.findall(text):
            page = pages.get((root / "docs" / name).resolve())
            for section in filter(None, sections):
                if not page or section.rstrip(".,") not in page.sections:
                    yield f'{path.relative_to(root)}: there is no docs/{name}, "{section}"'


def main(root):
    found = list(faults(pathlib.Path(root).resolve()))
    print("1..1")
    print("not ok 1" if found else "ok 1", "links and names of sections lead to what is there")
    for fault in found:
        print("#", fault)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
