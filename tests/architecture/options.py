#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""options.py MESON SOURCE: every optional part can be left out of the build, as it is on a machine that lacks its
library. Only configures; the compiler says nothing here."""

import subprocess
import sys
import tempfile

# The last is a machine that has nothing but what every build needs.
CHOICES = (["-Dtests=disabled"], ["-Dauto_features=disabled", "-Dtests=auto", "-Dsim=auto"],
           ["-Dauto_features=disabled"])


def configure(meson, source, options):
    with tempfile.TemporaryDirectory(prefix="rankwatch-options-") as build:
        done = subprocess.run([meson, "setup", build, source, *options], capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
    print("FAILED" if done.returncode else "ok    ", " ".join(options), *errors)
    return done.returncode == 0


def main(meson, source):
    sys.exit(not all([configure(meson, source, options) for options in CHOICES]))


main(*sys.argv[1:])
