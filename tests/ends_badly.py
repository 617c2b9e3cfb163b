#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ends_badly.py PROGRAM [leaks]: what a test of Criterion does behind its function, and leaves, counts. The program's
tests end badly, and each must have failed for its own reason; leaks: it is built so that leaks are found."""

import os
import re
import subprocess
import sys
import tempfile

ASSERTED, CRASHED, LEAKED = r"\(1\) == \(2\)", "unexpected signal", "it leaks memory"
FAIL = {
    "ends_badly::an_assertion_in_the_end_of_its_suite_fails": ASSERTED,
    "ends_well::an_assertion_in_its_own_end_fails": ASSERTED,
    "ends_well::its_own_end_crashes": CRASHED,
}
FAIL_WITH_LEAKS = {
    "ends_well::memory_is_lost": LEAKED,
    "ends_well::memory_is_lost_in_the_end": LEAKED,
    "ends_well::memory_is_lost_in_the_begin": LEAKED,
    "ends_well::as_much_is_lost_as_the_begin_took_and_the_end_gives_back": LEAKED,
}
PASS = {"ends_well::what_its_suite_gives_back_is_no_leak", "ends_well::nothing_is_done"}


def main(program, *what):
    fail = {**FAIL, **(FAIL_WITH_LEAKS if "leaks" in what else {})}
    options = [option for option in os.environ.get("ASAN_OPTIONS", "").split(":") if option
               and not option.startswith("log_path=")]
    with tempfile.TemporaryDirectory() as unread:  # what the sanitizer says of these leaks is for nobody
        environment = {**os.environ, "ASAN_OPTIONS": ":".join([*options, f"log_path={unread}/said"])}
        done = subprocess.run([program, "--tap", "-j1"], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    results = dict(re.findall(r"^(?:not )?ok - (\S+)(.*(?:\n(?!ok|not ok).*)*)", done.stdout, re.M))
    passed = set(re.findall(r"^ok - (\S+)", done.stdout, re.M))
    wrong = [name for name in fail if name in passed or not re.search(fail[name], results.get(name, ""))]
    wrong += [f"{name} (should pass)" for name in PASS - passed]
    if wrong or passed != PASS or done.returncode == 0:
        print(done.stdout, f"not as it must be: {wrong}, status {done.returncode}", sep="\n")
        return 1
    print(f"{len(fail)} tests fail by how they end")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
