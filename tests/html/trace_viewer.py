#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace_viewer.py: traces of recorded jobs in Chrome's own trace viewer (chrome://tracing), which Debian's Chromium
comes without: RANKWATCH_CATAPULT is a checkout of https://chromium.googlesource.com/catapult, whose trace2html makes
one page of viewer and trace. Without it, or without a browser, it is skipped aloud."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tapes"))
from foreign import RANKS, place, rankwatch  # noqa: E402
from recorded import boxes_of, check, finish, skip  # noqa: E402

VARIABLE = "RANKWATCH_CATAPULT"
# The viewer takes what lies within a microsecond of another slice's end to lie inside it, and drops the flows that meet
# there.
HARMLESS = ("flow_slice_end_error", "flow_slice_start_error", "flow_slice_ordering_error")
WAIT_S = 60

# What must be read on the screen: the finding, and whom it names.
FINDING = {"never": "HANG: rank 4", "io-rank0": "STRAGGLER: rank 0", "nan-mesh": "NAN: rank 1"}

ASKS = """(() => {
  const view = document.querySelector('tr-ui-timeline-view');
  if (!view || !view.model || !view.model.flowEvents) return null;
  const processes = Object.values(view.model.processes);
  const slices = one => Object.values(one.threads).flatMap(thread => thread.sliceGroup.slices);
  return JSON.stringify({
    warnings: view.model.importWarnings.map(warning => warning.type),
    flows: view.model.flowEvents.length,
    processes: processes.map(one => [one.name, slices(one).length,
                                     Object.values(one.threads).map(thread => thread.name),
                                     Object.values(one.counters).length]),
    findings: processes.filter(one => one.name === 'job').flatMap(slices).map(slice => slice.title),
  });
})()"""
# It draws the beginning first, and then moves to where all of it is to be seen.
FITS = """(() => {
  const view = document.querySelector('tr-ui-timeline-view');
  const transform = view.trackView.viewport.currentDisplayTransform;
  return transform.xWorldToView(view.model.bounds.max) <= innerWidth * devicePixelRatio;
})()"""


def checkout():
    """Its trace2html; None without a checkout."""
    path = os.environ.get(VARIABLE)
    return path and pathlib.Path(path).resolve() / "tracing" / "bin" / "trace2html"


def make_page(name, boxes, directory):
    """A page of the trace of these boxes; how many slices and instants, and how many arrows between slices it has."""
    path, page = directory / f"{name}.json", directory / f"{name}-trace.html"
    rankwatch("trace", "-o", path, boxes)
    subprocess.run([sys.executable, checkout(), path.name, f"--output={page.name}"], cwd=directory, check=True,
                   stdout=subprocess.DEVNULL)
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return page, sum(event["ph"] in "Xi" for event in events), sum(event["ph"] in "tf" for event in events)


def shown(page, path, height=720):
    """What the viewer made of it, once it has."""
    page.show(path, width=1400, height=height)
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        answer = page.run(ASKS)
        if answer and page.run(FITS):
            return json.loads(answer)
        time.sleep(0.1)
    sys.exit(f"FAILED {path}: the viewer shows nothing after {WAIT_S} s: {page.problems}")


def look(page, name, directory):
    path, slices, steps = make_page(name, boxes_of(name, directory), directory)
    model = shown(page, path)
    ranks = [one for one in model["processes"] if one[0].startswith("rank ")]
    check([one[0].split(" ·")[0] for one in ranks] == [f"rank {rank}" for rank in RANKS],
          f"{name}: a process a rank, in order")
    check(sum(one[1] for one in model["processes"]) == slices,
          f"{name}: every slice and instant is there: {sum(one[1] for one in model['processes'])} of {slices}")
    check(all({"steps"} < set(one[2]) and one[3] for one in ranks), f"{name}: tracks and counters: {ranks[0][2]}")
    check(len(model["findings"]) == 1 and model["findings"][0].startswith(FINDING[name]),
          f"{name}: {model['findings']}")
    check(not set(model["warnings"]) - set(HARMLESS), f"{name}: warnings: {sorted(set(model['warnings']))}")
    check(model["flows"] > 0.9 * steps, f"{name}: {model['flows']} of {steps} arrows")


def main():
    place(VARIABLE, "checkout of catapult, Chrome's trace viewer")
    if not browser.find():
        skip("no Chromium")
    with tempfile.TemporaryDirectory(prefix="rankwatch-viewer.") as directory, browser.Browser() as page:
        for name in FINDING:
            look(page, name, pathlib.Path(directory))
    finish()


if __name__ == "__main__":
    main()
