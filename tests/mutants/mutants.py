#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice when the code is wrong? Makes each place of plugin, blackbox, feed and analysis switchable
(places.py), builds that once in a copy of the tree, learns which test executes which place, and then changes one place
at a time and runs the tests that execute it, the likeliest and quickest first, until one of them fails.

  tests/mutants/mutants.py [--count N] [--seed S] [--file TEXT] [--json FILE] [--keep DIRECTORY] [--sanitize] [--list]

Needs a Linux machine that can run scripts/test quick, and libclang (Debian: python3-clang-14). A mutant is *found* when
a test fails or hangs, *the same* when the optimising compiler makes the same machine code of it, and else has
*survived*. Those that are known to change nothing (equivalent) are not drawn. Ends with 1 when fewer than nine in ten
of those that change the code were found."""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import places  # noqa: E402

ROOT = HERE.parents[1]
ROOMS = ("plugin", "blackbox", "feed", "analysis")
LEFT_OUT = ("check_header.c", "check_headers.c")  # assertions about headers, no code
EQUIVALENT = HERE / "equivalent"
FOUND_LEAST = 0.9
SUITES = {"unit", "abi", "preload", "tapes", "stress"}  # "unit" has the kept corpora of the fuzzers
SANITIZED = {"unit", "abi"}  # of these, what scripts/sanitized plays
# These ask what the build is like, and need another one, or a browser.
NOT_HERE = ("hardened", "pages in a browser", "callbacks take no more instructions than they did")
NICE = 5  # hours of work: others go first
OWN_SANITIZER = ("box_stress",)  # in any build: it is there to find races
MEMORY_BYTES = 4 << 30  # a mutant may never stop allocating
PATIENCE = 6  # times what a test took without a change, and at least so many seconds:
PATIENCE_S = 15
# As scripts/sanitized builds and plays.
SANITIZER_ARGS = "-g1 -fno-sanitize-recover=undefined -fno-sanitize=null,object-size"
EARLY_S = 15
STRIDE = 1024  # numbers of one file's places, so that a change of one file makes no other anew


def fixed_addresses():
    """What begins the command of a program with sanitizers, which may find no room for their shadow otherwise."""
    command = ["setarch", os.uname().machine, "-R"]
    works = shutil.which(command[0]) and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if works else []


def sources():
    return sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.c")
                  if path.name not in LEFT_OUT)


def chosen_sources(chosen):
    """Files that the beginnings of lines of --list name, or all. Files of other rooms only where they are named; so
    each file keeps its numbers."""
    of_rooms = sources()
    named = [pathlib.Path(text.split(":")[0]) for text in chosen]
    everything = of_rooms + sorted({path for path in named if (ROOT / path).is_file()} - set(of_rooms))
    return (everything,
            [path for path in everything if not chosen or any(str(path).startswith(str(name)) for name in named)])


def text_of(path):
    return path.read_bytes().decode("latin-1")


class KnownFile:
    """What is remembered of a File that was rewritten before."""

    def __init__(self, text, found):
        self.text = text
        self.places = [places.Place(*one) for one in found]


class Mutant:
    """One place of the tree, and what became of it."""

    def __init__(self, path, file, place, base):
        self.path, self.place, self.number = path, place, base + place.number
        self.line, self.change = place.describe(file.text)
        self.text = file.text
        source = " ".join(file.text.split("\n")[self.line - 1].split())
        column = place.start - (file.text.rfind("\n", 0, place.start) + 1)
        self.name = f"{path}: {source}"  # without the number of the line, which a change elsewhere moves
        self.nth = file.text[place.start - column:place.start].count(file.text[place.start:place.end]) + 1
        self.alike = 1  # the how manieth of this file that is called so
        self.verdict, self.detail, self.seconds = None, None, 0.0
        self.played = []  # names of tests that did not find it

    def __str__(self):
        return f"{self.path}:{self.line}: {self.change}"

    def key(self):
        return (f"{self.name} | {self.change}" + (f" | {self.nth}" if self.nth > 1 else "")
                + (f" | line {self.alike}" if self.alike > 1 else ""))


def equivalents():
    """Reasons by Mutant.key(). The file: a line that begins with "= " has the reason for those that follow it."""
    known, reason = {}, None
    for line in EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else ():
        if line.startswith("= "):
            reason = line[2:]
        elif line and not line.startswith("#"):
            known[line] = reason
    return known


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
        self.suites = {suite.split(":")[-1] for suite in told["suite"]}
        self.name, self.command = told["name"], list(told["cmd"])
        if "--tap" in self.command:
            self.command.append("--fail-fast")
        self.alone = not told["is_parallel"]
        self.environment = {**os.environ, **told["env"]}
        self.memory_bytes = MEMORY_BYTES
        if self.name in OWN_SANITIZER:
            self.let_sanitizer_limit_memory("TSAN_OPTIONS")
        self.depends = told["depends"]
        self.seconds = self.last_s = 0.0
        self.found = collections.Counter()  # mutants that it found, by file
        self.patience = told["timeout"] or 30
        self.executes = frozenset()
        self.hung = False

    def let_sanitizer_limit_memory(self, variable):
        """The shadow that a sanitizer reserves is larger than any limit, so the sanitizer itself ends what takes too
        much memory."""
        self.memory_bytes = resource.RLIM_INFINITY
        given = self.environment.get(variable)
        self.environment[variable] = (f"{given}:" if given else "") + f"hard_rss_limit_mb={MEMORY_BYTES >> 20}"

    def passes(self, running, **variables):
        begin = time.monotonic()
        process = subprocess.Popen(self.command, env={**self.environment, **variables}, cwd=self.directory,
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA,
                                                                         (self.memory_bytes, self.memory_bytes)))
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

    def finds(self, number, running):
        """Does it fail with this place changed? One that hangs is played again, as long as it takes now without the
        change: the machine may be busier than when that was learned."""
        if self.passes(running, MUTANT_NUMBER=str(number)):
            return False
        if not self.hung:
            return True
        if not self.passes(running):
            return False
        self.patience = max(self.patience, PATIENCE * self.last_s)
        return not self.passes(running, MUTANT_NUMBER=str(number))

    def learn(self, known, seen, size, within_s):
        """Plays it without a change: how long it takes, and which places it executes. Why it is left out, or None."""
        newest = self.newest()
        old = known.get(self.name)
        if old is None or old["newest"] != newest or not old["passes"] and old["seconds"] < within_s:
            seen.write_bytes(bytes(size))
            self.patience = min(self.patience, within_s)
            passes = self.passes(set(), MUTANT_SEEN=str(seen))
            old = {"newest": newest, "passes": passes, "seconds": self.last_s,
                   "executes": [number for number, byte in enumerate(seen.read_bytes()) if byte]}
            known[self.name] = old  # one assignment: others do the same
        self.seconds, self.executes = old["seconds"], frozenset(old["executes"])
        self.by_file = collections.Counter(number // STRIDE for number in self.executes)
        self.patience = max(PATIENCE_S, PATIENCE * self.seconds)
        if not old["passes"]:
            return "fails" if self.seconds < within_s else "takes too long"
        return None if self.seconds < within_s else "takes too long"

    def promises(self, mutant):
        """How likely it is to find this: it is about this file, executes much, or has found something there before."""
        there = self.by_file[mutant.number // STRIDE] / len(self.executes)
        return (1 + 3 * self.found[mutant.path]) * (100 * there + len(self.executes) / 500)

    def newest(self):
        """When the newest of the files that it needs was built."""
        return max((os.stat(name).st_mtime_ns for name in self.files), default=0)


class SanitizedTest(Test):
    def __init__(self, told, directory):
        super().__init__(told, directory)
        self.command = [*fixed_addresses(), *self.command]
        self.let_sanitizer_limit_memory("ASAN_OPTIONS")

    def passes_unchanged(self):
        passes = self.passes(set())
        self.patience = max(PATIENCE_S, PATIENCE * self.last_s)
        return passes


def answers_early(tests):
    """Kept answers ("nothing changes unnoticed") find what few other tests do, and take long: they come behind what
    takes EARLY_S."""
    spent, first = 0.0, 0
    while first < len(tests) and spent + tests[first].seconds <= EARLY_S:
        spent += tests[first].seconds
        first += 1
    return tests[:first] + sorted(tests[first:], key=lambda test: "answers" not in test.name)


def within(tests, seconds):
    """Those of them, the first ones before the others, that together take so long without a change."""
    played = []
    for test in tests:
        if not played or test.seconds <= seconds:
            played.append(test)
            seconds -= test.seconds
    return played


def first_failure(tests, number, at_once):
    """The first test that fails with this place changed; None when all pass. Some at a time, and those that may not run
    beside others last."""
    running, failed = set(), []

    def play(test):
        if not failed and test.finds(number, running) and not failed:
            failed.append(test)
            for session in list(running):
                kill_session(session)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(play, [test for test in tests if not test.alone]))
    for test in tests:
        if test.alone:
            play(test)
    return failed[0] if failed else None


def run(command, what, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)
    if done.returncode:
        sys.exit(f"mutants: {what}:\n{done.stdout[-4000:]}")
    return done.stdout


class Build:
    """A build of the copy."""
    tests_are, suites = Test, SUITES

    def __init__(self, root, directory, jobs, options, environment):
        self.directory, self.jobs = directory, jobs
        if (directory / "build.ninja").exists():
            run(["ninja", "-C", directory, "build.ninja"], "no build of what has changed")  # files may have come since
            return
        linkers = [linker for linker, program in (("mold", "mold"), ("lld", "ld.lld")) if shutil.which(program)]
        linker = {"CC_LD": linkers[0], "CXX_LD": linkers[0]} if linkers else {}
        run(["meson", "setup", directory, root, "-Dwarning_level=0", *options], "no build",
            env={**os.environ, **linker, **environment})

    def introspect(self, what):
        return json.loads(run(["meson", "introspect", self.directory, what], "meson"))

    def tests(self):
        files = {target["id"]: target["filename"] for target in self.introspect("--targets")}
        made = [self.tests_are(test, self.directory) for test in self.introspect("--tests")]
        made = [test for test in made if self.suites & test.suites and test.name not in NOT_HERE]
        for test in made:
            test.files = [name for target in test.depends for name in files[target]]
        return made

    def compile(self, tests):
        """What these tests need."""
        targets = sorted({os.path.relpath(name, self.directory) for test in tests for name in test.files})
        run(["ninja", "-C", self.directory, f"-j{self.jobs}", *targets], "the rewritten tree cannot be built")


class SanitizedBuild(Build):
    """What reads behind an array or does not give memory back is found by scripts/sanitized, and by no other build."""
    tests_are, suites = SanitizedTest, SANITIZED

    def __init__(self, root, jobs):
        options = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1",
                   f"-Dc_args={SANITIZER_ARGS}", f"-Dcpp_args={SANITIZER_ARGS}"]
        super().__init__(root, root / "build-sanitized", jobs, options, {"CC": "clang"})

    def judge(self, mutants):
        """Plays the tests again that have found nothing of these."""
        wanted = {name for mutant in mutants for name in mutant.played}
        tests = [test for test in self.tests() if test.name in wanted]
        self.compile(tests)
        passing = {test.name: test for test in tests if test.passes_unchanged()}
        left_out = [test.name for test in tests if test.name not in passing]
        print(f"{len(passing)} tests with sanitizers; left out, as they fail: {', '.join(left_out) or 'none'}",
              flush=True)
        for mutant in mutants:
            played = [passing[name] for name in mutant.played if name in passing]
            test = first_failure(played, mutant.number, self.jobs)
            if test:
                mutant.verdict, mutant.detail = "found", f"{test.name}, with sanitizers"
            else:
                mutant.detail += f", {len(played)} with sanitizers"
            print(f"    {mutant.verdict:9} {mutant} ({mutant.detail})", flush=True)


class Copy:
    """A copy of the tree in which the places of the rooms are switchable, with a build of its own."""

    def __init__(self, directory, jobs, chosen):
        self.root = pathlib.Path(directory) / "tree"
        self.jobs = jobs
        self.sources, self.rewritten = chosen_sources(chosen)
        self.files = {}  # by path
        self.mirror()
        self.build = Build(self.root, self.root / "build", jobs, ["-Doptimization=0", "-Ddebug=false"], {})
        self.commands = {os.path.normpath(pathlib.Path(one["directory"]) / one["file"]): one
                         for one in json.loads((self.build.directory / "compile_commands.json").read_text())}
        self.size = (len(self.sources) + 1) * STRIDE

    def mirror(self):
        """What git knows or does not ignore, as it is now; the sources of the places come rewritten, later."""
        listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], "not a git checkout",
                     cwd=ROOT)
        own = set(self.rewritten)
        for name in filter(None, listed.split("\0")):
            source, place = ROOT / name, self.root / name
            if not source.is_file() or pathlib.Path(name) in own and place.exists():
                continue
            if source.is_symlink() or not place.exists() or place.read_bytes() != source.read_bytes():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                shutil.copy2(source, place, follow_symlinks=False)
                os.utime(place, follow_symlinks=False)  # newer than what was built of the last one

    def arguments(self, path):
        """The compiler's, of those that change what a file means, with absolute paths."""
        told = self.commands[str(self.root / path)]
        kept, words = [], shlex.split(told["command"])
        for word, value in zip(words, words[1:] + [""]):
            if word.startswith("-I") and len(word) > 2:
                kept.append("-I" + os.path.normpath(self.build.directory / word[2:]))
            elif word == "-include":
                kept += [word, value]
            elif word.startswith(("-D", "-std=")):
                kept.append(word)
        return kept

    def rewrite(self, path, base, known):
        """Lines on which the rewritten file is wrong C are left as they are. known: of earlier times, by path; read and
        written."""
        place, dropped, header = self.root / path, set(), HERE / "switch.h"
        arguments = [*self.arguments(path), f"-I{ROOT / path.parent}", f"-I{ROOT}"]
        digest = hashlib.sha256(repr((text_of(ROOT / path), arguments, base, self.size,
                                      text_of(HERE / "places.py"))).encode()).hexdigest()
        if known.get(str(path), {}).get("digest") == digest:
            return KnownFile(text_of(ROOT / path), known[str(path)]["places"])
        file = self.rewrite_anew(path, base, arguments, place, dropped, header)
        known[str(path)] = {"digest": digest, "places": [dataclasses.astuple(one) for one in file.places]}
        return file

    def rewrite_anew(self, path, base, arguments, place, dropped, header):
        while True:
            file = places.File(ROOT / path, text_of(ROOT / path), arguments, dropped)
            if len(file.places) >= STRIDE:
                sys.exit(f"mutants: {path} has too many places: make STRIDE larger")
            text = f"#define RW_MUTANTS {self.size}\n#define RW_MUTANT_BASE {base}\n" + file.rewritten(header)
            if place.exists() and text_of(place) == text:
                return file
            made = subprocess.run(["cc", *arguments, f"-I{place.parent}", "-w", "-fsyntax-only", "-x", "c", "-"],
                                  input=text.encode("latin-1"),
                                  capture_output=True, cwd=self.build.directory)
            wrong = {int(line.split(":")[1]) for line in made.stderr.decode(errors="replace").splitlines()
                     if ": error:" in line}
            if not made.returncode:
                place.write_bytes(text.encode("latin-1"))
                return file
            if not wrong - dropped:
                sys.exit(f"mutants: {path}: {made.stderr.decode(errors='replace')}")
            dropped |= wrong

    def rewrite_all(self):
        """Every mutant there is."""
        generated = [target["filename"] for target in self.build.introspect("--targets") if target["type"] == "custom"
                     and "plugin/scan" in target["defined_in"]]
        names = [os.path.relpath(name, self.build.directory) for group in generated for name in group]
        if names:
            run(["ninja", "-C", self.build.directory, *names], "headers cannot be made")
        mutants, store = [], self.build.directory / "mutants-places.json"
        known = json.loads(store.read_text()) if store.exists() else {}
        for index, path in enumerate(self.sources):
            if path not in self.rewritten:
                continue
            file = self.files[path] = self.rewrite(path, index * STRIDE, known)
            mutants += [Mutant(path, file, place, index * STRIDE) for place in file.places]
        store.write_text(json.dumps(known))
        called = collections.Counter()
        for mutant in mutants:
            called[mutant.key()] += 1
            mutant.alike = called[mutant.key()]
        return mutants

    def compile(self):
        self.tests = self.build.tests()
        self.build.compile(self.tests)

    def learn(self, within_s):
        """Plays every test that has changed without a mutant. Who is left out, and why: it fails even so, or takes too
        long."""
        store = self.build.directory / "mutants-learned.json"
        known = json.loads(store.read_text()) if store.exists() else {}

        def one(numbered):
            return numbered[1].learn(known, self.build.directory / f"mutants-seen-{numbered[0]}", self.size, within_s)

        beside, alone = ([test for test in enumerate(self.tests) if test[1].alone == value] for value in (False, True))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            wrong = [*zip(beside, pool.map(one, beside))]
        wrong += [(numbered, one(numbered)) for numbered in alone]
        for seen in self.build.directory.glob("mutants-seen-*"):
            seen.unlink()
        store.write_text(json.dumps(known))
        self.tests = [test for (_, test), why in wrong if not why]
        return [f"{test.name} ({why})" for (_, test), why in wrong if why]

    def machine_code(self, path, text):
        """What the optimising compiler makes of this text of a file; None: nothing."""
        arguments = [*self.arguments(path), "-I" + str(ROOT / path.parent), f"-I{ROOT}"]
        with tempfile.NamedTemporaryFile(suffix=".o") as made:
            done = subprocess.run(["cc", *arguments, "-O2", "-w", "-o", made.name, "-c", "-x", "c", "-"],
                                  cwd=self.build.directory,
                                  input=text.encode("latin-1"), capture_output=True)
            return pathlib.Path(made.name).read_bytes() if done.returncode == 0 else None

    def judge(self, mutant, seconds):
        begin = time.monotonic()
        seeing = [test for test in self.tests if mutant.number in test.executes]
        # The file's own tests, those of its room, the others.
        seeing.sort(key=lambda test: (mutant.path.stem not in test.name, mutant.path.parts[0] not in test.name,
                                      (test.seconds + 0.2) / test.promises(mutant)))
        played = within(answers_early(seeing), seconds)
        test = first_failure(played, mutant.number, self.jobs)
        if test:
            test.found[mutant.path] += 1
            mutant.verdict, mutant.detail = "found", test.name + (", which hangs" if test.hung else "")
        else:
            mutant.played = [test.name for test in played]
            text = self.files[mutant.path].text
            after = self.machine_code(mutant.path, mutant.place.changed(text))
            same = after is not None and after == self.machine_code(mutant.path, text)
            mutant.verdict, mutant.detail = ("the same" if same else "SURVIVED", f"{len(seeing)} tests execute it"
                                             + (f", {len(played)} of them played" if len(played) < len(seeing) else ""))
        mutant.seconds = round(time.monotonic() - begin, 1)


def have_own_shared_memory():
    """Tests that are killed leave black boxes behind: where this may be done, they go with a /dev/shm of our own."""
    if os.environ.get("MUTANTS_INSIDE") or shutil.which("unshare") is None:
        return
    space = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"']
    if subprocess.run([*space, "true"], capture_output=True).returncode == 0:
        os.environ["MUTANTS_INSIDE"] = "1"
        os.execvp(space[0], [*space, sys.executable, *sys.argv])


def table(mutants):
    """Lines of text: per room and file, how many were found."""
    def row(name, some):
        verdicts = collections.Counter(mutant.verdict for mutant in some)
        changed = verdicts["found"] + verdicts["SURVIVED"]
        share = f"{100 * verdicts['found'] / changed:4.0f} %" if changed else "     -"
        return f"{name:44} {changed:5} {verdicts['found']:5} {share} {verdicts['the same']:9}"

    lines = [f"{'':44} {'drawn':>5} {'found':>5} {'':6} {'the same':>9}"]
    for room in sorted({mutant.path.parts[0] for mutant in mutants}):
        of_room = [mutant for mutant in mutants if mutant.path.parts[0] == room]
        if of_room:
            lines.append(row(room, of_room))
            lines += [row(f"  {path}", [mutant for mutant in of_room if mutant.path == path])
                      for path in sorted({mutant.path for mutant in of_room if mutant.verdict == "SURVIVED"})]
    return lines + [row("all", mutants)]


def keep(drawn, file):
    if file:
        file.write_text(json.dumps([{"key": one.key(), "place": str(one), "verdict": one.verdict, "detail": one.detail,
                                     "seconds": one.seconds}
                                    for one in drawn if one.verdict], indent=1) + "\n")


def play(copy, drawn, options):
    copy.compile()
    left_out = copy.learn(options.within)
    print(f"{len(copy.tests)} tests; left out: {', '.join(left_out) or 'none'}", flush=True)
    for number, mutant in enumerate(drawn, 1):
        copy.judge(mutant, options.seconds)
        print(f"{number:3} {mutant.verdict:9} {mutant.seconds:5.1f} s  {mutant} ({mutant.detail})", flush=True)
        keep(drawn, options.json)
    if options.sanitize:
        SanitizedBuild(copy.root, options.jobs).judge([mutant for mutant in drawn if mutant.verdict == "SURVIVED"])
        keep(drawn, options.json)
    print("", *table(drawn), sep="\n")
    print("survivors:", *[str(mutant) for mutant in drawn if mutant.verdict == "SURVIVED"], sep="\n  ")
    counts = collections.Counter(mutant.verdict for mutant in drawn)
    return 0 if counts["found"] >= FOUND_LEAST * (counts["found"] + counts["SURVIVED"]) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many to draw (100)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="draws the same ones again")
    parser.add_argument("--file", metavar="TEXT", action="append", default=[],
                        help="only places whose line of --list begins with this: a room, a file (also of another "
                             "room), FILE:LINE:; may be given again")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="what became of each, written after each")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE",
                        help="of an earlier --json: those that survived there, all of them, instead of a draw")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIRECTORY",
                        help="where the copy stays, for the next time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="tests and compilers at once (as many as processors)")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="of tests that are played for one mutant, at most; unlimited without")
    parser.add_argument("--within", type=float, metavar="SECONDS", default=300,
                        help="leave out tests that take longer without a change (300)")
    parser.add_argument("--sanitize", action="store_true",
                        help="play what survives again in a second build, with the sanitizers of clang")
    parser.add_argument("--list", action="store_true",
                        help="print every place, with what it is called in the list of equivalents")
    options = parser.parse_args()
    if places.cindex is None:
        sys.exit(f"mutants: needs libclang for Python: apt install {places.NEEDED}")
    have_own_shared_memory()
    os.nice(NICE)
    with tempfile.TemporaryDirectory(prefix="rankwatch-mutants.") as scratch:
        copy = Copy(options.keep.resolve() if options.keep else scratch, options.jobs, options.file)
        everything = copy.rewrite_all()
        same = equivalents()
        stale = {key for key in same.keys() - {mutant.key() for mutant in everything}
                 if pathlib.Path(key.split(":")[0]) in copy.rewritten}
        known = [mutant for mutant in everything if (not options.file or str(mutant).startswith(tuple(options.file)))
                 and mutant.key() not in same and
                 not mutant.place.is_either_of_equals(mutant.text)]
        if options.list:
            for mutant in known:
                print(f"{mutant}\n\t{mutant.key()}")
            return 0
        drawn = random.Random(options.seed).sample(known, min(options.count, len(known)))
        if options.again:
            survived = {one["key"] for one in json.loads(options.again.read_text()) if one["verdict"] == "SURVIVED"}
            drawn = [mutant for mutant in everything if mutant.key() in survived]
        print(f"seed {options.seed}, {len(drawn)} of {len(known)} places; {len(same)} are known to change nothing",
              flush=True)
        if stale:
            print("of these are no more:", *sorted(stale), sep="\n  ")
        return play(copy, drawn, options)


if __name__ == "__main__":
    sys.exit(main())
