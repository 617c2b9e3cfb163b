#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""version.py RANKWATCH PLUGIN INCLUDE: what `rankwatch version` says is what the headers and the plugin of this build
say."""
import json
import pathlib
import re
import subprocess
import sys

PARTS = {"bpf", "nats", "metrics", "top", "perfetto", "stand_in"}


def constant(folder, header, name):
    return int(re.search(rf"\b{name} ?=? ?(\d+)", (folder / header).read_text(encoding="utf-8"))[1])


def main():
    rankwatch, plugin, include = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    said = json.loads(subprocess.run([rankwatch, "version", "--json"], check=True, capture_output=True,
                                     text=True).stdout)
    plain = subprocess.run([rankwatch, "version"], check=True, capture_output=True, text=True).stdout
    content = plugin.read_bytes()
    symbols = subprocess.run(["nm", "-D", plugin], check=True, capture_output=True, text=True).stdout
    for key, header, name in (("box_layout", "blackbox.h", "RW_BOX_LAYOUT"),
                              ("finding_schema", "finding.h", "RW_FINDING_SCHEMA"),
                              ("messages", "message.h", "RW_BATCH_VERSION"),
                              ("helper", "helper.h", "RW_HELPER_VERSION")):
        assert said[key] == constant(include, header, name), key
    assert said["nccl_profiler_abis"] == sorted(map(int, re.findall(r"\bncclProfiler_v(\d+)\b", symbols))), symbols
    assert len(said["scan_images"]) == 3 and all(f"{name}\0".encode() in content
                                                 for name in said["scan_images"]), said["scan_images"]
    assert PARTS <= said.keys() and all(isinstance(said[part], bool) for part in PARTS), said
    assert said["stand_in"] == ("stand-in: yes" in plain) and said["nats"] == ("NATS: yes" in plain), plain
    assert plain.startswith(f"rankwatch {said['version']}\n"), plain
    return 0


if __name__ == "__main__":
    sys.exit(main())
