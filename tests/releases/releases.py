#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""releases.py RANKWATCH: `report` of this version says of the boxes that each release left what they are about. Each
folder here is of a release: saved boxes of jobs of four ranks with the stand-in (rankwatch run --save,
RANKWATCH_HISTORY=1M), and expected.json. A release adds its folder, and never changes one of an earlier release: where
a reader can no longer read one, it breaks a promise to those who kept theirs."""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def ask(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, f"{command}: status {done.returncode}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def gist(finding):
    """What the expected answer has of a finding; its words may become better."""
    late, cause = finding["late"] or {}, finding["cause"] or {}
    return {"kind": finding["kind"], "ranks": finding["ranks"], "since_step": late.get("since_step"),
            "cause": cause.get("class"),
            "syscall": cause.get("syscall")}


def check(rankwatch, folder, expected):
    said = [gist(line) for line in ask(rankwatch, "report", "--json", folder) if "kind" in line]
    assert said == expected["findings"], f"{folder}: {said}, not {expected['findings']}"
    for box in sorted(folder.glob("*.rwbox.gz")):
        header = ask(rankwatch, "dump", "--header", box)[0]
        assert header["machine"] in (expected["machine"], 0), f"{box}: machine {header['machine']}"


def main():
    releases = sorted(HERE.glob("*/expected.json"))
    assert releases
    for release in releases:
        for name, expected in json.loads(release.read_text(encoding="utf-8")).items():
            check(sys.argv[1], release.parent / name, expected)
            print(f"{release.parent.name}, {name}: read", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
