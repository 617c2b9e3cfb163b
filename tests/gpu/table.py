#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py results.jsonl COMMAND: what tests/gpu/run found as Markdown, for docs/benchmarks.md."""

import itertools
import json
import sys
import time


def number(value):
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 100 else f"{value:.0f}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def row(line):
    what = cell(line["what"])
    if line["kind"] == "check":
        return f"| {what} | {'yes' if line['ok'] else '**NO**'} |"
    if line["kind"] == "note":
        return f"| {what} | {cell(line['text'])} |"
    if line["kind"] == "number":
        remark = " (stand-in, not a measurement)" if line.get("stand_in") else ""
        return f"| {what} | {number(line['value'])} {line['unit']}{remark} |"
    return f"| skipped | {what} |"


def main():
    lines = [json.loads(line) for line in open(sys.argv[1])]
    checks = [line for line in lines if line["kind"] == "check"]
    print(f"`{sys.argv[2].strip()}`, {time.strftime('%Y-%m-%d', time.gmtime())}: "
          f"{sum(line['ok'] for line in checks)} of {len(checks)} checks passed\n")
    for name, group in itertools.groupby(lines, key=lambda line: line["part"]):
        print(f"**{name}**\n\n| what | |\n|---|---|")
        print("\n".join(row(line) for line in group) + "\n")


if __name__ == "__main__":
    main()
