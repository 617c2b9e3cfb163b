# SPDX-License-Identifier: MIT
"""rankwatch names the rank of a training job that is late, hangs, or made a NaN. The command does the work:

    rankwatch run -- torchrun --nproc_per_node 8 train.py

This module is for programs: it says which step begins (step, steps, and the callbacks in rankwatch.lightning and
rankwatch.transformers), starts ranks that record themselves where no command can be put in front (env), and reads what
was found (findings). It needs nothing but Python, takes part in no collective and starts no thread. Without rankwatch
in the process step() does nothing. """
from rankwatch._command import CommandError, command_path, env
from rankwatch._findings import (Cause, Evidence, Finding, Incident, Job, Late, Link, Operation, Place, SeenLive,
                                 Values, Watchdog,
                                 findings, read_findings)
from rankwatch._step import step, steps

__all__ = ["Cause", "CommandError", "Evidence", "Finding", "Incident", "Job", "Late", "Link", "Operation", "Place",
           "SeenLive", "Values",
           "Watchdog", "command_path", "env", "findings", "read_findings", "step", "steps"]
