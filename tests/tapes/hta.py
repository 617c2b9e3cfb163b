#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hta.py: Meta's Holistic Trace Analysis, its own code, on traces of recorded jobs. RANKWATCH_HTA is a checkout of
https://github.com/facebookresearch/HolisticTraceAnalysis; it needs pandas, plotly, networkx and pydot. Without them it
is skipped aloud."""

import json
import subprocess
import sys
import tempfile

from foreign import RANKS, place, rankwatch
from recorded import boxes_of, check, finish, skip

# In a process of its own: whichever Python has the libraries. Nothing else of that analysis's output is read.
ASKS = """
import json, logging, sys
logging.disable(logging.CRITICAL)
sys.path.insert(0, sys.argv[1])
from hta.trace_analysis import TraceAnalysis
job = TraceAnalysis(trace_files=dict(enumerate(sys.argv[2:])), trace_dir="/")
times = job.get_temporal_breakdown(visualize=False)
kernels = job.get_gpu_kernel_breakdown(visualize=False)[1]
print("answer " + json.dumps({"busy": [float(share) for share in times.sort_values("rank")["non_compute_time_pctg"]],
                              "in_flight": sorted({int(rank) for rank, name in zip(kernels["rank"], kernels["name"])
                                                   if "(in flight)" in name})}))
"""


def python_with_pandas():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pandas, plotly, networkx, pydot"],
                          capture_output=True).returncode == 0:
            return python
    skip("no Python with pandas, plotly, networkx and pydot (Debian: python3-pandas, …)")


def ask(python, checkout, name):
    with tempfile.TemporaryDirectory() as directory:
        boxes = boxes_of(name, directory)
        traces = [f"{directory}/rank{rank}.json.gz" for rank in RANKS]
        for rank, trace in zip(RANKS, traces):
            rankwatch("trace", "--rank", str(rank), "-o", trace, boxes)
        done = subprocess.run([python, "-c", ASKS, checkout, *traces], capture_output=True, text=True, cwd=directory)
    answer = [line.removeprefix("answer ") for line in done.stdout.splitlines() if line.startswith("answer ")]
    if not answer:
        print(done.stdout, done.stderr)
        sys.exit(f"FAILED {name}: it ended with {done.returncode} and no answer")
    return json.loads(answer[0])


def main():
    checkout = place("RANKWATCH_HTA", "checkout of facebookresearch/HolisticTraceAnalysis")
    python = python_with_pandas()
    never, late = ask(python, checkout, "never"), ask(python, checkout, "io-rank0")
    check(never["in_flight"] == [rank for rank in RANKS if rank != 4],
          f"never: rank 4 alone is in nothing that is in flight: {never['in_flight']}")
    shares = [round(share, 1) for share in late["busy"]]
    check(min(RANKS, key=shares.__getitem__) == 0 and 2 * shares[0] < min(shares[1:]),
          f"io-rank0: rank 0 waits in communication least by far: {shares} %")
    finish()


main()
