#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rankwatch sees of each NCCL release: plays tests/versions/probe.c on the stand-in as every release, loaded in
every way, and writes down what is in the black boxes. versions.py PROBE RANKWATCH PLUGIN SIM PAGE [--write]: compares
with the page, or writes it."""

import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

RELEASES = ["2.21.5", "2.23.4", "2.24.3", "2.26.2", "2.27.3", "2.27.5", "2.28.9", "2.29.7", "2.30.7", "2.31.2"]
# As in probe.c.
COUNTS = {"AllReduce": 1000, "AllGather": 1001, "Broadcast": 1002, "p2p": 1003, "AlltoAll": 1004, "captured": 1005,
          "symmetric": 1006, "copy engine": 1007}
ALL_SCANS = {"RANKWATCH_SCAN": "all", "RANKWATCH_GRAPHS": "1"}
BEGIN, END = "<!-- made by tests/versions -->\n", "<!-- end -->\n"


def dump(tools, boxes, *parts):
    done = subprocess.run([tools.rankwatch, "dump", *parts, boxes], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def play_probe(tools, variables, boxes):
    """Its line, or None when it failed. It leaves when the plugin's threads, which may have to wait for a processor,
    have looked once more after its last call has ended: a box that is left at once lacks what nobody had seen yet."""
    with tempfile.TemporaryFile("w+") as log:
        probe = subprocess.Popen([tools.probe], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=log, text=True)
        said = next((line for line in probe.stdout if line.startswith("{")), None)
        ended_ns, until = time.monotonic_ns(), time.monotonic() + 30
        while said and any(header["drain_ns"] <= ended_ns
                           for header in dump(tools, boxes, "--header")) and time.monotonic() < until:
            time.sleep(0.01)
        probe.stdin.close()
        log.seek(0)
        if probe.wait(60) == 0:
            return said
        print(log.read(), file=sys.stderr)
        return None


class Play:
    """One run of the probe; its boxes as `rankwatch dump` shows them."""

    def __init__(self, tools, release, environment):
        self.operations, self.comms, self.headers = [], [], []
        with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rankwatch-versions.") as boxes:
            variables = {"PATH": os.environ["PATH"], "RANKWATCH_DIR": boxes, "RANKWATCH_QUIET": "1",
                         "RANKWATCH_HISTORY": "4M", "SIM_QUIET": "1",
                         "SIM_NCCL_VERSION": release, "LD_LIBRARY_PATH": tools.sim, "LC_ALL": "C",
                         "HOME": "/nonexistent"}
            for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
                if key in os.environ:
                    variables[key] = os.environ[key]
            variables.update(environment)
            said = play_probe(tools, variables, boxes)
            if not said:
                sys.exit(f"{release} {environment}: probe failed")
            self.offers = json.loads(said)
            parts = {"operation": self.operations, "communicator": self.comms, "header": self.headers}
            for part in dump(tools, boxes, "--operations", "--comms", "--header"):
                parts[part["part"]].append(part)
        self.abi = max((header["profiler_abi"] or 0 for header in self.headers), default=0)

    def of(self, kind):
        """Both ranks' slots of a kind; where the ABI counts an AllGather or Broadcast in bytes, by that."""
        count = COUNTS[kind]
        return [slot for slot in self.operations if slot["count"] in (count, count * 4)]

    def tracked(self, kind):
        """Those that were seen to be launched. That the others are untracked is flagged a little later."""
        slots = [slot for slot in self.of(kind) if "launch" in slot["known"]]
        return slots if len(slots) >= 2 else []


class Tools:
    def __init__(self, probe, rankwatch, plugin, sim):
        self.probe, self.rankwatch, self.plugin = probe, rankwatch, str(pathlib.Path(plugin).resolve())
        self.sim = str(pathlib.Path(sim).resolve())
        self.directory = str(pathlib.Path(plugin).resolve().parent)


def spellings(tools):
    """Environment by the way in which the plugin is named. The last is what `rankwatch run` does."""
    path = f"{tools.sim}:{tools.directory}"
    name = pathlib.Path(tools.plugin).name
    return {
        "`rankwatch`": {"NCCL_PROFILER_PLUGIN": "rankwatch", "LD_LIBRARY_PATH": path},
        "path": {"NCCL_PROFILER_PLUGIN": tools.plugin},
        "`lib….so`": {"NCCL_PROFILER_PLUGIN": name, "LD_LIBRARY_PATH": path},
        "preloaded": {"NCCL_PROFILER_PLUGIN": name, "LD_PRELOAD": tools.plugin},
    }


def yes(value):
    return "yes" if value else "no"


def every(slots, key):
    """Is the field there in all slots, and does it say something?"""
    return bool(slots) and all(slot.get(key) not in (None, 0, "0x0", -1) for slot in slots)


def identity(play):
    if not play.comms:
        return "no"
    return "whole" if all((comm["comm_size"] or 0) > 0 for comm in play.comms) else "rank only"


def times(play):
    slots = play.tracked("AllReduce")
    if not slots:
        return "no"
    return "call and launch" if all(slot["launch_begin_ns"] > slot["api_ns"] and every([slot], "return_ns")
                                    for slot in slots) \
        else "launch"


def progress(play):
    slots = play.tracked("AllReduce")
    return yes(slots and every(slots, "progress"))


def buffers(play):
    """Addresses, and the element type that the caller used."""
    slots = play.tracked("AllReduce") + play.tracked("AllGather")
    if not every(slots, "send_address"):
        return "no"
    known = {slot["function"] for slot in slots if slot.get("dtype") == "fp32" and slot["count"] in COUNTS.values()}
    return "yes" if known == {"AllReduce", "AllGather"} else "AllGather in bytes"


def transfer(play):
    slots = play.tracked("p2p")
    return yes(slots and all(slot["root_or_peer"] == 1 - slot["comm_rank"] for slot in slots))


def seen(kind):
    """Tracked like any other; `counted`: a slot that is never in flight; `no`: nothing."""
    def look(play):
        if play.tracked(kind):
            return "yes"
        return "counted" if play.of(kind) else "no"
    return look


def scan(play):
    """Which sides of an AllReduce and an AllGather, out of place, were scanned on the device."""
    slots = play.tracked("AllReduce") + play.tracked("AllGather")
    sides = [side for side, bit in (("input", "scan_in"), ("output", "scan_out"))
             if slots and all(bit in slot["known"] for slot in slots)]
    return ", ".join(sides) or "no"


def offered(key, look):
    return lambda play: look(play) if play.offers[key] else "–"


def graphs(play):
    slots = [slot for slot in play.operations if slot["count"] == COUNTS["captured"]]
    if any("captured" not in slot["flags"] for slot in slots):
        return "as eager"
    if slots:
        sides = [side for side, bit in (("input", "scan_in"), ("output", "scan_out")) if every(slots, bit)]
        return "replays: " + ", ".join(sides)
    return "counted" if sum(comm["captured"] for comm in play.comms) else "no"


COLUMNS = [
    ("identity", identity), ("times", times), ("GPU progress", progress), ("buffers, type", buffers), ("scan", scan),
    ("p2p", transfer),
    ("Broadcast", seen("Broadcast")), ("AlltoAll", offered("all_to_all", seen("AlltoAll"))), ("graphs", graphs),
    ("symmetric", offered("windows", seen("symmetric"))), ("copy engine", offered("windows", seen("copy engine"))),
]


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def head(columns):
    return row(columns) + "|" + "---|" * len(columns) + "\n"


def table(columns, cells):
    """A row for each release, {release: its other cells}; one for releases in a row that are alike."""
    text = head(["NCCL", *columns])
    for alike, releases in itertools.groupby(cells, key=cells.get):
        releases = list(releases)
        text += row([releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}", *alike])
    return text


def loads_table(ways, plays):
    def cells(of_ways):
        abi = max(play.abi for play in of_ways.values())
        return [f"v{abi}" if abi else "none", *(yes(of_ways[way].abi) for way in ways)]
    return table(["profiler ABI", *ways], {release: cells(of_ways) for release, of_ways in plays.items()})


def default_table(plays):
    return table(["the plugin alone", "with the interposer"],
                 {release: [scan(of_ways["`lib….so`"]), scan(of_ways["preloaded"])] for release,
                  of_ways in plays.items()})


def sees_table(tools, environment):
    def cells(release):
        play = Play(tools, release, environment | ALL_SCANS)
        return [look(play) if play.headers else "no" for _, look in COLUMNS]
    return table([name for name, _ in COLUMNS], {release: cells(release) for release in RELEASES})


def tables(tools):
    ways = spellings(tools)
    alone, both = ways["`lib….so`"], ways["preloaded"]
    plays = {release: {way: Play(tools, release, environment) for way, environment in ways.items()}
             for release in RELEASES}
    return (BEGIN + "### Which spelling of `NCCL_PROFILER_PLUGIN` loads\n\n" + loads_table(ways, plays) +
            "\n### What is scanned by default\n\n" + default_table(plays) +
            "\n### What the plugin alone sees\n\n" + sees_table(tools, alone) +
            "\n### What plugin and interposer see together (`rankwatch run`)\n\n" + sees_table(tools, both) + END)


def main():
    *paths, page = sys.argv[1:6]
    tools = Tools(*paths)
    page = pathlib.Path(page)
    old = page.read_text()
    new = re.sub(re.escape(BEGIN) + ".*" + re.escape(END), lambda _: tables(tools), old, flags=re.S)
    if "--write" in sys.argv:
        page.write_text(new)
        return
    if new != old:
        (pathlib.Path(tempfile.gettempdir()) / "nccl-versions.md").write_text(new)
        subprocess.run(["diff", "-u", page, "-"], input=new, text=True)
        sys.exit(f"{page} does not tell what is so: look at the difference, then meson compile nccl-versions")
    print("the page tells what is so")


if __name__ == "__main__":
    main()
