#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice when the code is wrong? Changes one place of plugin, blackbox, feed or analysis at a time, in a copy of
the tree, and runs the tests whose programs that makes anew, the likeliest and quickest first, until one of them fails.

  tests/mutants/mutants.py [--count N] [--seed S] [--only TEXT] [--list]

Needs a Linux machine that can run scripts/test quick. A mutant is *found* when a test fails or hangs, *the same* when the optimising
compiler makes the same machine code of it, and else has *survived*. Ends with 1 when fewer than nine in ten of those that
change the code were found."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("plugin", "blackbox", "feed", "analysis")
LEFT_OUT = ("check_headers.c",)  # assertions about headers, no code
FOUND_LEAST = 0.9
SUITES = {"unit", "abi", "preload", "tapes"}
# These ask what the build is like, and need another one, or a browser.
NOT_HERE = ("hardened", "pages in a browser", "callbacks take no more instructions than they did")
AT_ONCE = 2 * (os.cpu_count() or 1)  # many of them wait
NICE = 5  # hours of work: others go first
MEMORY_BYTES = 4 << 30  # a mutant may never stop allocating
PATIENCE = 6  # times what a test took without a change, and at least so many seconds:
PATIENCE_S = 30

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


def kill_session(session):
    """Everything that a test has started and left."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == session:
                os.kill(int(entry.parent.name), signal.SIGKILL)
        except (OSError, IndexError):
            pass


class Test:
    def __init__(self, told, directory):
        self.directory = directory
        self.name, self.command = told["name"], told["cmd"]
        self.alone = not told["is_parallel"]
        self.environment = {**os.environ, **told["env"]}
        self.depends = told["depends"]
        self.seconds = self.last_s = 0.0
        self.found = collections.Counter()  # mutants that it found, by file
        self.patience = told["timeout"] or 30

    def passes(self, running):
        begin = time.monotonic()
        process = subprocess.Popen(self.command, env=self.environment, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)))
        running.add(process.pid)
        try:
            self.hung = False
            return process.wait(self.patience) in (0, 77)
        except subprocess.TimeoutExpired:
            self.hung = True
            return False
        finally:
            kill_session(process.pid)
            process.wait()
            running.discard(process.pid)
            self.last_s = time.monotonic() - begin

    def learn(self):
        """How long it takes without a change."""
        self.seconds = self.last_s
        self.patience = max(PATIENCE_S, PATIENCE * self.seconds)


def first_failure(tests):
    """The first test that fails; None when all pass. Some at a time, and those that may not run beside others last."""
    running, failed = set(), []

    def play(test):
        if not failed and not test.passes(running):
            failed.append(test)
            for session in list(running):
                kill_session(session)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(play, [test for test in tests if not test.alone]))
    for test in tests:
        if test.alone:
            play(test)
    return failed[0] if failed else None


class Copy:
    """A copy of the tree with a build of its own, without optimisation and quick to link: it is made anew for each mutant."""

    def __init__(self, directory):
        self.root = pathlib.Path(directory) / "tree"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns("build*", ".git"))
        self.build = self.root / "build"
        environment = dict(os.environ)
        for linker, program in (("mold", "mold"), ("lld", "ld.lld")):
            if shutil.which(program):
                environment["CC_LD"] = environment["CXX_LD"] = linker
                break
        subprocess.run(["meson", "setup", self.build, self.root, "-Doptimization=0", "-Ddebug=false"], check=True,
                       env=environment, stdout=subprocess.DEVNULL)
        told = self.introspect("--tests")
        self.tests = [Test(test, self.build) for test in told
                      if SUITES & {suite.split(":")[-1] for suite in test["suite"]} and test["name"] not in NOT_HERE]
        self.files = {target["id"]: target["filename"] for target in self.introspect("--targets")}
        wanted = {target for test in self.tests for target in test.depends}
        self.targets = sorted({os.path.relpath(name, self.build) for target in wanted for name in self.files[target]})
        if self.compile():
            sys.exit("mutants: the copy does not compile")
        self.changed = None  # the room in which the last mutant was
        self.commands = {os.path.normpath(pathlib.Path(one["directory"]) / one["file"]): one
                         for one in json.loads((self.build / "compile_commands.json").read_text())}

    def introspect(self, what):
        return json.loads(subprocess.run(["meson", "introspect", self.build, what], check=True, capture_output=True, text=True).stdout)

    def compile(self):
        return subprocess.run(["ninja", "-C", self.build, *self.targets], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def machine_code(self, source, text):
        """What the optimising compiler makes of this text of a file, with what every build asks beside that; None: nothing."""
        told = self.commands[str(source)]
        words = shlex.split(told["command"])
        keep = [word for word in words if word not in ("-O0", "-g", "-c", told["file"]) and not word.startswith("-M")]
        for option in ("-MF", "-MQ", "-o"):
            if option in words:
                value = words[words.index(option) + 1]
                keep = [word for word in keep if word not in (option, value)]
        with tempfile.NamedTemporaryFile(suffix=".o") as made:
            done = subprocess.run([*keep, "-O2", "-w", "-o", made.name, "-iquote", source.parent, "-c", "-x", "c", "-"], cwd=self.build,
                                  input=text.encode(), capture_output=True)
            return pathlib.Path(made.name).read_bytes() if done.returncode == 0 else None

    def newest(self, test):
        names = [name for target in test.depends for name in self.files[target]]
        return max((os.stat(name).st_mtime_ns for name in names), default=0)

    def learn(self):
        """Plays every test without a change; one that fails then can say nothing."""
        beside, alone = ([test for test in self.tests if test.alone == value] for value in (False, True))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            right = [*zip(beside, pool.map(lambda test: test.passes(set()), beside))]
        right += [(test, test.passes(set())) for test in alone]
        self.tests = [test for test, passes in right if passes]
        for test in self.tests:
            test.learn()
        return [test.name for test, passes in right if not passes]

    def judge(self, place):
        path, start, end, other = place
        source = self.root / path
        text = source.read_text()
        changed = text[:start] + other + text[end:]
        before, after = self.machine_code(source, text), self.machine_code(source, changed)
        if after is None:
            return "does not compile", None
        if after == before:
            return "the same", None
        if self.changed not in (None, path.parts[0]):
            self.compile()  # or the tests of that room would seem to see this one
        self.changed = path.parts[0]
        begun_ns = time.time_ns()
        source.write_text(changed)
        try:
            if self.compile():
                return "does not compile", None
            seeing = [test for test in self.tests if self.newest(test) >= begun_ns]
            seeing.sort(key=lambda test: (-test.found[path], path.stem not in test.name, -sum(test.found.values()), test.seconds))
            test = first_failure(seeing)
            if test:
                test.found[path] += 1
                return "found", test.name + (", which hangs" if test.hung else "")
            return "SURVIVED", f"{len(seeing)} tests"
        finally:
            source.write_text(text)


def have_own_shared_memory():
    """Tests that are killed leave black boxes behind: where this may be done, they go with a /dev/shm of our own."""
    if os.environ.get("MUTANTS_INSIDE") or shutil.which("unshare") is None:
        return
    space = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"']
    if subprocess.run([*space, "true"], capture_output=True).returncode == 0:
        os.environ["MUTANTS_INSIDE"] = "1"
        os.execvp(space[0], [*space, sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--only", metavar="TEXT", default="", help="only places of which --list prints this text")
    parser.add_argument("--list", action="store_true", help="print every place and change nothing")
    options = parser.parse_args()
    known = [place for place in all_places() if options.only in describe(place)]
    if options.list:
        print("\n".join(describe(place) for place in known))
        return 0
    have_own_shared_memory()
    os.nice(NICE)
    print(f"seed {options.seed}, {min(options.count, len(known))} of {len(known)} places", flush=True)
    drawn = random.Random(options.seed).sample(known, min(options.count, len(known)))
    drawn = [(place, describe(place)) for place in drawn]  # as they are now: somebody may work on the tree
    counts, survivors = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="rankwatch-mutants.") as directory:
        copy = Copy(directory)
        broken = copy.learn()
        print(f"{len(copy.tests)} tests; without any change fail and are left out: {broken}", flush=True)
        for number, (place, text) in enumerate(drawn, 1):
            begin = time.monotonic()
            verdict, detail = copy.judge(place)
            counts[verdict] += 1
            line = f"{text}{f' ({detail})' if detail else ''}"
            print(f"{number:3} {verdict:16} {time.monotonic() - begin:4.0f} s  {line}", flush=True)
            if verdict == "SURVIVED":
                survivors.append(line)
    changed = counts["found"] + counts["SURVIVED"]
    print(f"{counts['found']} of {changed} that change the code were found; " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    print("survivors:", *survivors, sep="\n  ")
    return 0 if counts["found"] >= FOUND_LEAST * changed else 1


if __name__ == "__main__":
    sys.exit(main())
