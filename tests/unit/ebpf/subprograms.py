#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No function of the BPF programs that the compiler left out of line returns a pointer: the verifier of Linux 6.1 takes
a record that such a function returns for one that may still be NULL, and refuses the programs. Which functions the
compiler puts in line changes with their size, so this is seen in the object's types; newer kernels load the programs
either way."""

import json
import subprocess
import sys


def pointers(types):
    """Names of functions out of line that return a pointer."""
    by_id = {one["id"]: one for one in types}
    for one in types:
        if one["kind"] == "FUNC":
            returned = by_id.get(by_id[one["type_id"]]["ret_type_id"])
            while returned and returned["kind"] in ("TYPEDEF", "CONST", "VOLATILE"):
                returned = by_id.get(returned["type_id"])
            if returned and returned["kind"] == "PTR":
                yield one["name"]


def main(bpftool, program):
    dump = subprocess.run([bpftool, "btf", "dump", "-j", "file", program], check=True, capture_output=True,
                          text=True).stdout
    types = json.loads(dump)["types"]
    functions = [one["name"] for one in types if one["kind"] == "FUNC"]
    found = list(pointers(types))
    print(f"{len(functions)} functions out of line: {', '.join(functions)}")
    for name in found:
        print(f"FAILED {name}() returns a pointer: Linux 6.1 refuses the programs; make it __always_inline")
    if "on_switch" not in functions:
        sys.exit("FAILED the programs' functions are not among the types")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
