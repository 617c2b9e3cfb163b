#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice when the code is wrong? Changes one place of plugin, blackbox, feed or analysis at a time, in a copy of
the tree, and runs the tests that could see it.

  tests/mutants/mutants.py [--count N] [--seed S] [--list]

Needs a Linux machine that can run scripts/test quick. A mutant is *found* when a test fails or hangs, *the same* when the compiler
makes the same machine code of it, and else has *survived*. Ends with 1 when fewer than nine in ten of those that change the
code were found."""

import argparse
import hashlib
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("plugin", "blackbox", "feed", "analysis")
LEFT_OUT = ("check_headers.c",)  # assertions about headers, no code
FOUND_LEAST = 0.9

# Which tests can see a room: suites of meson, the quickest first.
SUITES = {
    "analysis": ("unit", "tapes"),
    "feed": ("unit", "tapes"),
    "blackbox": ("unit", "abi", "preload", "tapes"),
    "plugin": ("unit", "abi", "preload"),
}

# What becomes of each token; an operator between spaces is binary.
SWAPS = {
    " < ": (" <= ", " >= "), " <= ": (" < ", " > "), " > ": (" >= ", " <= "), " >= ": (" > ", " < "),
    " == ": (" != ",), " != ": (" == ",), " && ": (" || ",), " || ": (" && ",),
    " + ": (" - ",), " - ": (" + ",), " * ": (" / ",), " | ": (" & ",), " & ": (" | ",),
    " << ": (" >> ",), " >> ": (" << ",), " += ": (" -= ",), " -= ": (" += ",), " |= ": (" &= ",),
    "return true;": ("return false;",), "return false;": ("return true;",),
    "++": ("--",), "--": ("++",), "continue;": ("break;",), "break;": (";",),
}
TOKEN = re.compile("|".join(re.escape(token) for token in sorted(SWAPS, key=len, reverse=True)))
CONDITION = re.compile(r"\b(?:if|while) \(")
CALL = re.compile(r"(?m)^\t+[a-z_][\w.>\[\]-]*\([^;{}]*\);$")
NUMBER = re.compile(r"(?<![\w.\"'])([1-9]\d{0,8})(?![\w.\"'])")
HIDDEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|"
                    r"static_assert\([^;]*;", re.S | re.M)


def blank(text):
    """The code with comments, strings and directives as spaces: positions stay."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def closing(code, at):
    """Behind the bracket that closes the one before `at`; None when there is none."""
    depth = 1
    for end in range(at, len(code)):
        depth += (code[end] == "(") - (code[end] == ")")
        if not depth:
            return end
    return None


def places(path):
    """(path, from, to, text that goes there) of each possible change of one file."""
    text = path.read_text()
    code = blank(text)
    name = path.relative_to(ROOT)
    for match in TOKEN.finditer(code):
        for other in SWAPS[match.group()]:
            yield name, match.start(), match.end(), other
    for match in CONDITION.finditer(code):
        end = closing(code, match.end())
        if end:
            yield name, match.end(), end, f"!({text[match.end():end]})"
    for match in CALL.finditer(code):
        yield name, match.start(), match.end(), ";"
    for match in NUMBER.finditer(code):
        yield name, match.start(), match.end(), str(int(match.group()) + 1)


def all_places():
    files = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.c") if path.name not in LEFT_OUT)
    return [place for path in files for place in places(path)]


def describe(place):
    path, start, end, other = place
    text = (ROOT / path).read_text()
    line = text.count("\n", 0, start) + 1
    return f"{path}:{line}: {text[start:end].strip()!r} -> {other.strip()!r}"


def run(command, seconds, **more):
    """Status; None when the time was over."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **more)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
        process.wait()
        return None


class Copy:
    """A copy of the tree, with a build of its own."""

    def __init__(self, directory):
        self.root = pathlib.Path(directory) / "tree"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns("build*", ".git"))
        self.build = self.root / "build"
        subprocess.run(["meson", "setup", self.build, self.root], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", self.build], check=True, stdout=subprocess.DEVNULL)

    def objects(self, path):
        """A digest of the machine code that comes of a source file, without its line numbers."""
        found = hashlib.sha256()
        for item in sorted(self.build.rglob(f"*{path.stem}.c.o")):
            bare = item.with_suffix(".bare")
            subprocess.run(["objcopy", "--strip-debug", item, bare], check=True)
            found.update(bare.read_bytes())
            bare.unlink()
        return found.hexdigest()

    def passes(self, suite):
        command = ["meson", "test", "-C", self.build, "--no-rebuild", "--maxfail=1", f"--suite={suite}"]
        return run(command, 900) == 0

    def judge(self, place):
        path, start, end, other = place
        source = self.root / path
        text = source.read_text()
        before = self.objects(path)
        source.write_text(text[:start] + other + text[end:])
        try:
            status = run(["ninja", "-C", self.build], 600)
            if status:
                return "does not compile"
            if self.objects(path) == before:
                return "the same"
            for suite in SUITES[path.parts[0]]:
                if not self.passes(suite):
                    return f"found by {suite}"
            return "SURVIVED"
        finally:
            source.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--list", action="store_true", help="print every place and change nothing")
    options = parser.parse_args()
    known = all_places()
    if options.list:
        print("\n".join(describe(place) for place in known))
        return 0
    print(f"seed {options.seed}, {options.count} of {len(known)} places", flush=True)
    drawn = random.Random(options.seed).sample(known, min(options.count, len(known)))
    counts = {}
    with tempfile.TemporaryDirectory(prefix="rankwatch-mutants.") as directory:
        copy = Copy(directory)
        for suite in sorted({suite for suites in SUITES.values() for suite in suites}):
            if not copy.passes(suite):
                print(f"suite {suite} fails without any change: nothing can be said", file=sys.stderr)
                return 2
        for number, place in enumerate(drawn, 1):
            begin = time.monotonic()
            verdict = copy.judge(place)
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{number:3} {verdict:16} {time.monotonic() - begin:4.0f} s  {describe(place)}", flush=True)
    found = sum(count for verdict, count in counts.items() if verdict.startswith("found"))
    changed = found + counts.get("SURVIVED", 0)
    print(f"{found} of {changed} that change the code were found; " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 0 if found >= FOUND_LEAST * changed else 1


if __name__ == "__main__":
    sys.exit(main())
