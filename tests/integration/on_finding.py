#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`run --on-finding` runs its command for a finding, with the finding on its input, and mixes nothing into the job's
output; nothing in the job's environment does the same."""

import json
import os
import pathlib

import stage

WORKLOAD = ("--ranks=4", "--steps=100000", "--step-ms=100", "--elements=1024", "--grace=6", "--fault=kill",
            "--fault-rank=2",
            "--fault-step=10")


def run(play, command, **environment):
    job = play.start(stage.RANKWATCH, "run", *(["--on-finding", command] if command else []), "--",
                     *stage.workload(*WORKLOAD), **environment)
    return job.wait(60), job.out.text(), job.err.text()


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def hears(failures):
    with stage.Stage() as play:
        heard = play.dir / "heard"
        status, out, err = run(play, f"cat >>{heard}; echo noise; echo noise >&2; exit 7")
        findings = [json.loads(line) for line in lines(heard)]
        print(err)
    failures.check(status == 137, f"the job's own status: {status}")
    states = [(finding["kind"], finding["ranks"], finding["state"]) for finding in findings]
    failures.check(("gone", [2], "open") in states, f"the command got the finding: {states}")
    failures.check(all(finding["severity"] in ("warning", "critical") for finding in findings), "notices start nothing")
    failures.check("noise" not in out + err, "its output is not the job's")
    failures.check(err.count("exit status 7") == 1, "that it failed is said once")


def command_lines(secret):
    """Of all processes, those that show it."""
    shown = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if secret in line and "rankwatch" in line:
            shown.append(line)
    return shown


def is_not_shown(failures):
    """The command may hold a secret; of launcher and collector the command line does not show it."""
    with stage.Stage() as play:
        heard, secret = play.dir / "heard", f"secret-{os.getpid()}-of-the-hook"
        job = play.start(stage.RANKWATCH, "run", "--on-finding", f": {secret}; echo >>{heard}", "--",
                         *stage.workload(*WORKLOAD))
        failures.check(stage.wait_until(heard.exists, 60), "the command runs")
        shown = command_lines(secret)
        failures.check(not [line for line in shown if not line.startswith("sh -c ")],
                       f"no command line shows it: {shown}")
        job.wait(60)


def is_not_in_the_environment(failures):
    with stage.Stage() as play:
        heard = play.dir / "heard"
        _, _, err = run(play, None, RANKWATCH_ON_FINDING=f"cat >>{heard}", ON_FINDING=f"cat >>{heard}")
        failures.check("GONE" in err, "there was something to find")
        failures.check(not heard.exists(), "a variable starts nothing")


def main():
    failures = stage.Failures()
    hears(failures)
    is_not_shown(failures)
    is_not_in_the_environment(failures)
    failures.end()


if __name__ == "__main__":
    main()
