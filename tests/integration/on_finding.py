#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`run --on-finding` runs its command for a finding, with the finding on its input, and mixes nothing into the job's output;
nothing in the job's environment does the same."""

import json

import stage

WORKLOAD = ("--ranks=4", "--steps=100000", "--step-ms=100", "--elements=1024", "--grace=6", "--fault=kill", "--fault-rank=2",
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


def is_not_in_the_environment(failures):
    with stage.Stage() as play:
        heard = play.dir / "heard"
        _, _, err = run(play, None, RANKWATCH_ON_FINDING=f"cat >>{heard}", ON_FINDING=f"cat >>{heard}")
        failures.check("GONE" in err, "there was something to find")
        failures.check(not heard.exists(), "a variable starts nothing")


def main():
    failures = stage.Failures()
    hears(failures)
    is_not_in_the_environment(failures)
    failures.end()


if __name__ == "__main__":
    main()
