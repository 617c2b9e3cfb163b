#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What nvcc makes of scan.cu, for the repository and for C.

embed_image.py ptx INPUT OUTPUT ISA      PTX without comments, its ISA line lowered: what the repository keeps
embed_image.py bytes INPUT OUTPUT NAME   any file as a C array NAME, with a 0 behind it: a header of the build
"""
import pathlib
import re
import sys

HEAD = """#include <stdint.h>

static const uint8_t {name}[] __attribute__((aligned(16))) = {{
"""


def ptx(text, isa):
    text = re.sub(r"(?m)^\.version .*$", f".version {isa}", text)
    lines = (re.sub(r"\s+", " ", line.split("//")[0]).strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line)


def as_bytes(data, name):
    rows = (data[i:i + 24] for i in range(0, len(data), 24))
    return HEAD.format(name=name) + "\n".join("\t" + ",".join(map(str, row)) + "," for row in rows) + "\n\t0\n};\n"


def main():
    kind, source, target, word = sys.argv[1:5]
    data = pathlib.Path(source).read_bytes()
    pathlib.Path(target).write_text(ptx(data.decode("ascii"), word) if kind == "ptx" else as_bytes(data, word),
                                    encoding="ascii")


main()
