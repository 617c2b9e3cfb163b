#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUTPUT PAGE STYLE SCRIPT…: the page with its style and scripts in it, as two C arrays: what stands before
the data, and what behind. The page's Content-Security-Policy gets the hashes of both, so that nothing else can run or
style in it."""

import base64
import hashlib
import sys


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def array(name, text):
    data = text.encode()
    rows = (", ".join(map(str, data[at:at + 24])) for at in range(0, len(data), 24))
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n"


def main(output, page, style, *scripts):
    read = lambda name: open(name, encoding="utf-8").read()
    text, css = read(page), read(style)
    script = '"use strict";\n' + "\n".join(read(name) for name in scripts)
    for part, end in ((css, "</style"), (script, "</script"), (script, "<!--")):
        if end in part.lower():
            sys.exit(f"embed.py: {end} in what it would end")
    text = text.replace("{{STYLE_HASH}}", hash_of(css)).replace("{{SCRIPT_HASH}}", hash_of(script))
    before, after = text.replace("{{STYLE}}", css).split("{{DATA}}")
    with open(output, "w", encoding="utf-8") as out:
        out.write("/* Made by console/html/embed.py. */\n" + array("page_before", before) +
                  array("page_after", after.replace("{{SCRIPT}}", script)))


if __name__ == "__main__":
    main(*sys.argv[1:])
