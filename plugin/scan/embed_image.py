#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns what nvcc makes of scan.cu into C: PTX text with its ISA line lowered, or any file as bytes.

embed_image.py ptx INPUT OUTPUT NAME ISA   a header that is kept in the repository, a text NAME (scan_ptx, scan_ptx_90)
embed_image.py bytes INPUT OUTPUT [NAME]   the header of a build with nvcc, an array NAME (scan_fatbin)
"""
import re
import sys

PTX_HEAD = """/* SPDX-License-Identifier: MIT */
/* Made from scan.cu by plugin/scan/regenerate_ptx, do not edit. */
#ifndef PLUGIN_SCAN_{guard}_H
#define PLUGIN_SCAN_{guard}_H

#define {guard}_COMPILER "{compiler}"

static const char {name}[] =
"""

BYTES_HEAD = """#include <stdint.h>

static const uint8_t {name}[] __attribute__((aligned(16))) = {{
"""


def ptx(text, name, isa):
    compiler = re.search(r"release [\d.]+, V([\d.]+)", text).group(1)
    text = re.sub(r"(?m)^\.version .*$", f".version {isa}", text)
    lines = (re.sub(r"\s+", " ", line.split("//")[0]).strip() for line in text.splitlines())
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line)
    body = "\n".join(f'\t"{line}\\n"' for line in escaped)
    return PTX_HEAD.format(compiler=compiler, name=name, guard=name.upper()) + body + ";\n\n#endif\n"


def as_bytes(data, name):
    rows = (data[i:i + 24] for i in range(0, len(data), 24))
    return BYTES_HEAD.format(name=name) + "\n".join("\t" + ",".join(map(str, row)) + "," for row in rows) + "\n};\n"


def main():
    kind, source, target = sys.argv[1:4]
    name = sys.argv[4] if len(sys.argv) > 4 else "scan_fatbin"
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "w", encoding="ascii") as file:
        file.write(ptx(data.decode("ascii"), name, sys.argv[5]) if kind == "ptx" else as_bytes(data, name))


main()
