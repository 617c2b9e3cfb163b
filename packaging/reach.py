#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reach.py VERSION FILE…: fails unless every FILE loads with glibc VERSION (2.28) and nothing else: it may need no
other library, no newer symbol, no path of its own to look for libraries in, no executable stack. Prints the newest
version that each one needs."""
import re
import subprocess
import sys

LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}


def number(version):
    return tuple(int(part) for part in version.split("."))


def needs(file):
    """Libraries, versions of glibc and objections, as readelf shows them."""
    text = subprocess.run(["readelf", "-W", "-d", "-V", "-l", file], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    versions = set(re.findall(r"Name: (GLIBC_\S+)", text))
    objections = [f"has {name}" for name in re.findall(r"\((RPATH|RUNPATH)\)", text)]
    if re.search(r"GNU_STACK.*\bRWE\b", text):
        objections.append("has an executable stack")
    return libraries, versions, objections


def judge(file, most):
    libraries, versions, objections = needs(file)
    objections += [f"needs {name}" for name in sorted(libraries - LIBRARIES)]
    numbers = sorted(number(name[6:]) for name in versions if re.fullmatch(r"GLIBC_[\d.]+", name))
    objections += [f"needs {name}" for name in sorted(versions) if not re.fullmatch(r"GLIBC_[\d.]+", name)]
    newest = ".".join(map(str, numbers[-1])) if numbers else "any"
    if numbers and numbers[-1] > number(most):
        objections.append(f"needs glibc {newest}, not {most}")
    return newest, objections


def main():
    bad = False
    for file in sys.argv[2:]:
        newest, objections = judge(file, sys.argv[1])
        print(f"{file}: glibc {newest}", *objections, sep="; ")
        bad = bad or bool(objections)
    return bad


if __name__ == "__main__":
    sys.exit(main())
