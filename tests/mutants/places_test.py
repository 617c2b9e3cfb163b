#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""places_test.py CC: the rewritten file does what each changed file does. Rewrites sample.c, and runs it with places
changed by the switch and changed in its text: both must print the same. Compiles twelve of them, with
RANKWATCH_TEST_LONG every one."""

import concurrent.futures
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import mutants  # noqa: E402
import places  # noqa: E402

SAMPLE = HERE / "sample.c"
# A hundred times what the sample needs, and ten times. No limit of time that passes: beside other tests it may get no
# processor for seconds.
CPU_S, OUTPUT_BYTES = 1, 4096
DRAWN = 12
ENDLESS = "does not end"
HEAD = "#define RW_MUTANTS 1024\n#define RW_MUTANT_BASE 0\n"
SANITIZER = "-fsanitize=address,undefined"


def compiled(cc, text, directory, name, *options):
    source, program = directory / f"{name}.c", directory / name
    source.write_bytes(text.encode("latin-1"))
    subprocess.run([*cc, "-std=gnu17", "-w", "-O0", *options, "-o", program, source], check=True)
    return program


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


def printed(program, **variables):
    """A changed loop may never end: then it does not matter what it has printed when it is ended. What does end needs
    no more than hundredths of a second, so that no place lies near the limit."""
    with tempfile.TemporaryFile() as out:
        done = subprocess.run([program], env={**os.environ, **variables}, stdout=out, preexec_fn=limit)
        out.seek(0)
        return ENDLESS if done.returncode < 0 else (out.read(), done.returncode)


class Checks:
    def __init__(self):
        self.failed = 0

    def equal(self, got, wanted, what):
        if got != wanted:
            self.failed += 1
            print(f"FAILED {what}: {got!r}, not {wanted!r}")


# Is `<` with "or equal" the same here?
EITHER = (
    ("x = a < b ? a : b;", True), ("x = b->c < a[i].d ? a[i].d : b->c;", True),
    ("return f(a < MOST ? a : MOST, 1);", True),
    ("if (a < b)\n\ta = b;", True), ("if (a < b)\n\ta = b;\n\telse c = b;", False), ("if (a < b)\n\ta = c;", False),
    ("x = a < b ? a : c;", False), ("x = y + a < b ? a : b;", False), ("x = y - a < b ? a : b;", False),
    ("x = a < b + 1 ? a : b;", False),
    ("x = a < b ? a : b + 1;", False), ("x = a < b ? 1 : 0;", False), ("while (a < b)\n\ta = b;", False),
    ("x = (a + b)->c < d ? c : d;", False),
    ("if (a->b != c->b)\n\t\treturn a->b < c->b ? -1 : 1;", True),
    ("if (a->b != c->b)\n\t\treturn a->b < c->d ? -1 : 1;", False),
    ("if (a != b)\n\treturn a < b + 1 ? -1 : 1;", False),
    ("if (a->b == c->b)\n\t\treturn a->b < c->b ? -1 : 1;", False),
    ("if (a != b)\n\t\tc = d;\n\treturn a < b ? -1 : 1;", False),
)


MORE = (
    ("x = a > b ? a - b : 0;", True), ("f(a->c > B ? a->c - B : 0, 1);", True), ("x = a > b ? b - a : 0;", False),
    ("x = a > b ? a - b : 1;", False),
    ("x = a > b ? a - b : 0 + c;", False), ("x = a > b + 1 ? a - b : 0;", False),
    ("x = a > b ? (a - b) / 2 : 0;", False),
)
ELEMENTS = "\tint a = *(const int *)left, b = *(const int *)right;\n"
EITHER += (
    (ELEMENTS + "\treturn (a > b) - (a < b);", True), (ELEMENTS + "\treturn (a > b) - (a < b + 1);", False),
    (ELEMENTS + "\treturn (a < b) - (a > b);", False),
    (ELEMENTS + "\treturn (a > b) - (a < b);\n\tbsearch(", False),
    ("\tint a = *(const int *)left, b = 3;\n\treturn (a > b) - (a < b);", False),
    ("\tint a = (*(const struct one *)left).a, b = (*(const struct one *)right).a;\n\treturn (a > b) - (a < b);",
     False),
)


def check_either(checks):
    for text, wanted in MORE:
        at = text.index(" > ") + 1
        checks.equal(places.Place(at, at + 1, ">=").is_either_of_equals(text), wanted, text)
        checks.equal(places.Place(at, at + 1, "<=").is_either_of_equals(text), False, text)
    for text, wanted in EITHER:
        at = text.index("<")
        checks.equal(places.Place(at, at + 1, "<=").is_either_of_equals(text), wanted, text)
        checks.equal(places.Place(at, at + 1, ">=").is_either_of_equals(text), False, text)


def check_switch(checks, cc, directory, text, file):
    switched = compiled(cc, HEAD + file.rewritten(HERE / "switch.h"), directory, "switched")
    usual = printed(compiled(cc, text, directory, "usual"))
    checks.equal(printed(switched), usual, "nothing is changed")
    seen = directory / "seen"
    seen.write_bytes(bytes(1024))
    checks.equal(printed(switched, MUTANT_SEEN=str(seen)), usual, "nothing is changed while it is seen")
    executed = {number for number, byte in enumerate(seen.read_bytes()) if byte}
    outcomes = set()

    def one(place):
        line, change = place.describe(text)
        changed = compiled(cc, place.changed(text), directory, f"changed{place.number}")
        return place, f"line {line}: {change}", printed(changed), printed(switched, MUTANT_NUMBER=str(place.number))

    seed = int(os.environ.get("RANKWATCH_TEST_SEED") or random.randrange(1 << 30))
    print(f"INFO: Seed {seed}")
    drawn = file.places if os.environ.get("RANKWATCH_TEST_LONG") else random.Random(seed).sample(file.places, DRAWN)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for place, what, by_text, by_switch in pool.map(one, drawn):
            checks.equal(by_switch, by_text, what)
            outcomes.add(place.number if by_switch != usual else 0)
            if place.number not in executed:
                checks.equal(by_switch, usual, f"{what} changes something and was not executed")
    unexecuted = {text.split("\n")[place.describe(text)[0] - 1].strip() for place in file.places
                  if place.number not in executed}
    checks.equal(all("never" in line for line in unexecuted), True, f"what is executed: {sorted(unexecuted)}")
    print(f"{len(drawn)} of {len(file.places)} places, of which {len(outcomes - {0})} change what is printed")


def check_sanitized(checks, directory, text, file):
    """On the lines that say so "or equal" and a call that is left out are found with sanitizers, and only with them."""
    if not shutil.which("clang"):
        print("not checked with sanitizers, as there is no clang")
        return
    works = subprocess.run(["clang", SANITIZER, "-x", "c", "-", "-o", directory / "works"],
                           input=b"int main(void) { return 0; }", capture_output=True)
    begin = mutants.fixed_addresses()
    if works.returncode or subprocess.run([*begin, directory / "works"], capture_output=True).returncode:
        print("not checked with sanitizers, as they do not work here")
        return
    usual = printed(directory / "switched")
    sanitized = compiled(["clang"], HEAD + file.rewritten(HERE / "switch.h"), directory, "sanitized", SANITIZER)
    lines, found = text.split("\n"), 0

    def end(place):
        variables = {} if place is None else {"MUTANT_NUMBER": str(place.number)}
        return subprocess.run([*begin, sanitized], env={**os.environ, **variables}, capture_output=True).returncode

    checks.equal(end(None), usual[1], "nothing is changed, with sanitizers")
    for place in file.places:
        line, change = place.describe(text)
        if "/* sanitizer */" in lines[line - 1] and place.other in ("<=", ";"):
            checks.equal(printed(directory / "switched", MUTANT_NUMBER=str(place.number)), usual,
                         f"line {line}: {change}, without sanitizers")
            checks.equal(end(place) > 0, True, f"line {line}: {change} ends badly with sanitizers")
            found += 1
    checks.equal(found, 3, "places that only sanitizers find")


def check_places(checks, text, file):
    """Each kind is found; each line that says so has none."""
    lines = text.split("\n")
    for place in file.places:
        line, change = place.describe(text)
        checks.equal("no place" in lines[line - 1], False, f"line {line} has a place: {change}")
    changes = {place.describe(text)[1] for place in file.places}
    for operators in (places.COMPARED, places.COMPUTED, places.LOGICAL):
        for operator, others in operators.items():
            for other in others:
                checks.equal(f"{operator!r} -> {other!r}" in changes, True, f"{operator} -> {other} is found")
    for operator, other in {**places.ASSIGNED, **places.STEPS, "continue;": "break;", "break;": ";",
                            "return true;": "return false;",
                            "return false;": "return true;"}.items():
        checks.equal(f"{operator!r} -> {other!r}" in changes, True, f"{operator} -> {other} is found")


def check_list(checks):
    """The kept list is read, and all of it is of today's tree, or said to be no more."""
    for key, reason in mutants.equivalents().items():
        path = pathlib.Path(key.split(":")[0])
        checks.equal(bool(reason) and " -> " in key and (mutants.ROOT / path.parts[0]).is_dir(), True,
                     f"the list of equivalents has {key!r}")


def main(*cc):
    if places.cindex is None:
        print(f"skipped: needs libclang for Python ({places.NEEDED})")
        return 77
    checks = Checks()
    text = mutants.text_of(SAMPLE)
    file = places.File(SAMPLE, text, ["-std=gnu17"])
    checks.equal(file.errors, [], "libclang reads the sample")
    check_places(checks, text, file)
    check_list(checks)
    check_either(checks)
    with tempfile.TemporaryDirectory(prefix="rankwatch-places.") as directory:
        check_switch(checks, cc, pathlib.Path(directory), text, file)
        check_sanitized(checks, pathlib.Path(directory), text, file)
    return min(checks.failed, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
