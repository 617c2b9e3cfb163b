#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_pages.py OUTPUT PAGE…: the pages of docs/findings/ as a C table, by kind, alphabetically."""

import json
import os
import sys


def main(output, *pages):
    rows = []
    for page in sorted(pages, key=os.path.basename):
        kind = os.path.basename(page).removesuffix(".md")
        lines = open(page, encoding="utf-8").read().splitlines(keepends=True)
        # JSON's escapes of these characters are C's; ensure_ascii would make \u, which C reads otherwise.
        text = "\n".join("\t  " + json.dumps(line, ensure_ascii=False) for line in lines)
        rows.append(f'\t{{ "{kind}",\n{text} }},\n')
    with open(output, "w", encoding="utf-8") as out:
        out.write("/* Made by console/cli/embed_pages.py. */\nconst struct finding_page finding_pages[] = {\n")
        out.write("".join(rows) + "};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
