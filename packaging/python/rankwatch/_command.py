# SPDX-License-Identifier: MIT
"""The command that came with this module, and what it prints."""
from __future__ import annotations

import getopt
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional


class CommandError(RuntimeError):
    """The command could not be started, or said why it failed: its line is the message."""


def command_path() -> str:
    """The path of the rankwatch command: the one in this package, else the first on PATH. Raises CommandError without
    any."""
    own = Path(__file__).parent / "_tree" / "bin" / "rankwatch"
    found = str(own) if own.exists() else shutil.which("rankwatch")
    if found is None:
        raise CommandError(f"rankwatch: there is no command at {own}, nor on PATH")
    return found


def run_command(*arguments: str) -> str:
    """What the command prints. Raises CommandError with the last line that it says on standard error."""
    path = command_path()
    try:
        done = subprocess.run([path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace")
    except OSError as error:
        raise CommandError(f"rankwatch: {path}: {error.strerror}") from error
    if done.returncode != 0:
        raise CommandError((done.stderr.strip().splitlines() or [f"{path} ended with status {done.returncode}"])[-1])
    return done.stdout


def env(job: Optional[str] = None, preload: bool = True) -> Dict[str, str]:
    """The variables that make a job record itself, for launchers that no command can be put in front of.

    They hold for processes that start with them: os.environ.update(rankwatch.env()) before
    torch.multiprocessing.spawn(), or runtime_env={"env_vars": rankwatch.env()} of Ray. What LD_LIBRARY_PATH, LD_PRELOAD
    and NCCL_PROFILER_PLUGIN hold in this process is kept behind ours. `rankwatch collect` then watches the node.

    job: its name, else a scheduler's variable gives it. preload: False leaves it to NCCL to load the plugin, which sees
    less. Returns names and values. Raises CommandError where the plugin or the command is missing. """
    arguments = ["env"] + (["--job", job] if job is not None else []) + ([] if preload else ["--no-preload"])
    lines = run_command(*arguments)
    names: List[str] = re.findall(r"^export (\w+)=", lines, re.MULTILINE)
    script = lines + "".join(f"printf '%s\\0' \"${name}\"\n" for name in names)
    values = subprocess.run(["/bin/sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    return dict(zip(names, os.fsdecode(values).split("\0")))


# Options of `run`, as getopt wants them.
RUN_LETTERS = "hJj:q"
RUN_OPTIONS = ["findings=", "help", "job=", "json", "keep-boxes=", "kernel-log=", "nats=", "no-preload", "on-finding=",
               "quiet", "save=", "save-limit=", "usage"]


def command_of(arguments: List[str]) -> List[str]:
    """COMMAND of `run`, what is left behind its options; of all else nothing."""
    try:
        return getopt.getopt(arguments[1:], RUN_LETTERS, RUN_OPTIONS)[1] if arguments[:1] == ["run"] else []
    except getopt.GetoptError:
        return []


def without_rankwatch(arguments: List[str], why: str) -> int:
    """The job of `run COMMAND` starts whatever is missing, after one line. Every other command fails with that line."""
    job = command_of(arguments)
    print(f"rankwatch: {why}" + ("; the job runs without rankwatch" if job else ""), file=sys.stderr, flush=True)
    if not job:
        return 1
    try:
        os.execvp(job[0], job)
    except OSError as error:
        print(f"rankwatch run: {job[0]}: {error.strerror}", file=sys.stderr)
    return 127


def main() -> int:
    """Becomes the command. Of why that cannot run here its launcher says the rest."""
    arguments = sys.argv[1:]
    try:
        path = command_path()
    except CommandError as error:
        return without_rankwatch(arguments, str(error).replace("rankwatch: ", "", 1))
    try:
        os.execv(path, [path, *arguments])
    except OSError as error:
        return without_rankwatch(arguments, f"{path}: {error.strerror}")
