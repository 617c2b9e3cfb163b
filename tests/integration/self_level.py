#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""self_level.py NAME: plays a scenario with the plugin alone, kills every process of the job with SIGKILL while the
fault lasts, and asks `rankwatch report` what happened: the boxes' own samples must be enough to name rank and cause."""

import json
import sys
import time

import stage

LATE_STEPS = 4
STUCK_S = 6


def fault_lasts(play, scenario):
    if scenario["kind"] == "straggler":
        return stage.late_in_a_row(play.events("late_step"), LATE_STEPS)
    faults = play.events("fault")
    return faults and time.monotonic_ns() - faults[0]["monotonic_ns"] > STUCK_S * 1e9


def report(play):
    """Status and JSON objects of `rankwatch report --json` on this stage's boxes."""
    done = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
    status = done.wait(60)
    print(done.err.text())
    return status, [value for _, value in done.out.json()]


def main(name):
    scenario = stage.scenarios()[name]
    failures = stage.Failures()
    with stage.Stage() as play:
        command = stage.demo_workload(scenario)
        if scenario["script"]:
            command = stage.under(scenario["script"], *command)
        job = play.start(*command, **play.plugin(), **dict(entry.split("=", 1) for entry in scenario["environment"]))
        lasted = stage.wait_until(lambda: fault_lasts(play, scenario) or job.popen.poll() is not None,
                                  2 * scenario["duration_s"] + 60)
        for pid in play.rank_pids().values() if scenario["script"] else play.pids():
            stage.kill(pid)
        if job.wait(30) == 77:
            stage.skip("the fault cannot be made here: " + job.err.text())
        failures.check(lasted and fault_lasts(play, scenario), "the fault lasted when the job was killed")
        status, values = report(play)
    findings = [value for value in values if value.get("kind")]
    for finding in findings:
        print(json.dumps(finding))
    failures.check(status == 0, f"report ends with status {status}")
    mine = [finding for finding in findings if finding["kind"] == scenario["kind"]]
    if failures.check(mine, f"report has a {scenario['kind']}"):
        cause = mine[-1].get("cause") or {}
        failures.check(mine[-1]["ranks"] == [scenario["rank"]], f"ranks {mine[-1]['ranks']}")
        failures.check(cause.get("class") == scenario["cause"], f"cause {cause.get('class')}")
        failures.check(mine[-1]["level"] == "self", f"level {mine[-1]['level']}")
        failures.check(cause.get("class") != "lock" or mine[-1]["confidence"] != "certain",
                       "a lock whose holder nobody saw is not certain")
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1])
