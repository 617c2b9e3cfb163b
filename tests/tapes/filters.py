#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""filters.py DOCUMENT: the jq filters of docs/hosts.md, as they stand there, over findings of recorded jobs: what Slurm
and Kubernetes would be given."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from recorded import RANKWATCH, boxes_of, check, finish, skip

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def filters_of(document):
    """{name: text} of each block that the words "with `NAME.jq`" announce."""
    found = re.findall(r"with `(\w+)\.jq`[^\n]*:\n\n((?:    [^\n]*\n)+)",
                       pathlib.Path(document).read_text(encoding="utf-8"))
    return dict(found)


def given(text, finding):
    """What the filter makes of it, and what it complains of."""
    done = subprocess.run(["jq", "-c", "-r", text], input=json.dumps(finding), capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, f"jq has nothing to say: {done.stderr}")
    return done.stdout.strip()


def finding_of(tape, directory):
    boxes = boxes_of(tape, directory)
    done = subprocess.run([RANKWATCH, "report", "--json", boxes], check=True, capture_output=True, text=True)
    return next(finding for finding in map(json.loads, done.stdout.splitlines())
                if finding.get("severity") == "critical") | {"state": "open"}


def check_drain(text, finding):
    host, rank = finding["where"][0]["host"], finding["ranks"][0]
    line = f'scontrol update NodeName={host} State=DRAIN Reason="rankwatch: {finding["kind"]} of rank {rank}"'
    check(given(text, finding) == line, f"Slurm's line: {line}")
    for name in ("a; reboot", "$(reboot)", 'a" State=IDLE', "-x", "", "a\nb", "a`b`"):
        where = [finding["where"][0] | {"host": name}]
        check(given(text, finding | {"where": where}) == "", f"none of a host that is called {name!r}")


def check_event(text, finding):
    event = json.loads(given(text, finding))
    check((event["kind"], event["type"], event["involvedObject"]["kind"],
           event["involvedObject"]["name"]) == ("Event", "Warning", "Node", finding["where"][0]["host"]),
          f"an event of the node: {event}")
    check(event["message"] == finding["text"] and event["metadata"]["namespace"], "with the finding's words")
    check(all(TIME.fullmatch(event[key]) for key in ("firstTimestamp", "lastTimestamp")),
          "and times as Kubernetes wants them")


def check_condition(text, finding):
    for state, status in (("open", "True"), ("update", "True"), ("closed", "False")):
        patch = json.loads(given(text, finding | {"state": state}))
        condition, = patch["status"]["conditions"]
        check((condition["type"], condition["status"]) == ("RankwatchFinding", status),
              f"a finding that is {state}: {condition}")
        check(re.fullmatch(r"Rankwatch[A-Z][A-Za-z]*", condition["reason"]) and condition["message"] == finding["text"],
              "with reason and message")
        check(all(TIME.fullmatch(condition[key]) for key in ("lastHeartbeatTime", "lastTransitionTime")), "and times")
    check(given(text, finding | {"scope": "job"}) == "", "what concerns the whole job is no node's condition")


CHECKS = {"drain": check_drain, "event": check_event, "condition": check_condition}


def main(document):
    if not shutil.which("jq"):
        skip("jq is not installed")
    filters = filters_of(document)
    check(set(filters) == set(CHECKS), f"filters: {sorted(filters)}")
    with tempfile.TemporaryDirectory(prefix="rankwatch-filters.") as directory:
        for tape in ("never", "killed", "nan"):
            finding = finding_of(tape, directory)
            for name, test in CHECKS.items():
                test(filters[name], finding)
                check(given(filters[name], finding | {"where": []}) == "",
                      f"{name}: nothing of a finding that names no host")
                if name != "event":
                    check(given(filters[name], finding | {"confidence": "inconclusive"}) == "",
                          f"{name}: nothing that is inconclusive")
    finish()


if __name__ == "__main__":
    main(sys.argv[1])
