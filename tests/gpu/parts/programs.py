#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The parts that are programs alone, with the driver and nothing else: each line that they print is a number, a claim,
a fact or a remark. They check themselves."""

import sys

import part

PTX_ALONE = {"GPU_SCAN_IMAGE": "PTX"}
# part: (program, seconds, arguments, arguments on the stand-in, environment)
PARTS = {
    "load": [("scan_load", 40, [], [], {})],
    "read": [("scan_speed", 60, [], ["1"], {})],
    "launch": [("scan_launch", 40, [], [], {})],
    "drill": [("scan_drill", 60, [], [], {})],
    "capture": [("capture", 20, [], [], {})],
    "scan": [("scan_check", 40, [], ["200"], {}), ("scan_slots", 20, ["5"], ["0.3"], {}),
             ("scan_graph", 40, [], [], {})],
    "ptx": [("scan_check", 20, ["500"], ["50"], PTX_ALONE), ("scan_speed", 40, ["1024"], ["1"], PTX_ALONE)],
    "nodes": [("scan_nodes", 30, [], [], {})],
    "beside": [("scan_beside", 60, [], [], {})],
    "full": [("full", 30, [], ["3"], {})],
    "rare": [("scan_rare", 60, [], [], {})],
    "rivals": [("scan_rivals", 40, [], [], {})],
    "connections": [("scan_drill", 15, ["look"], ["look"], {"CUDA_DEVICE_MAX_CONNECTIONS": number})
                    for number in ("1", "8", "32")],
    "context": [("context", 40, [], [], {})],
}


def tell(self, line, suffix):
    what = line.get("what", "") + suffix
    if "value" in line:
        self.number(what, float(line["value"]), line["unit"])
    elif "ok" in line:
        self.check(line["ok"], what)
    elif "fact" in line:
        self.fact(what, line["fact"])
    elif "text" in line:
        self.note(what, line["text"])


def play(self, name, seconds, arguments, environment):
    """Where it cannot run it says why."""
    program = part.PROGRAMS / f"gpu_{name}"
    done = part.run([program, *arguments], seconds, **environment)
    if done.status == 77:
        self.note(program.name, f"not run: {done.err.strip()}")
        return
    lines = done.json()
    suffix = ", PTX alone" if environment == PTX_ALONE else ""
    for line in lines:
        tell(self, line, suffix)
    # What a claim says is more than that one failed.
    if not any(line.get("ok") is False for line in lines):
        self.check(done.status == 0, program.name + suffix + done.why())


def main():
    self = part.Part(sys.argv[1])
    for name, seconds, arguments, rehearsed, environment in PARTS[self.name]:
        play(self, name, seconds, rehearsed if part.STAND_IN else arguments, environment)
    self.end()


if __name__ == "__main__":
    main()
