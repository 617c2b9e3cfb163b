#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""values.py NAME [VARIABLE=VALUE…]: plays a scenario of `rankwatch demo` whose data are bad, or look so, and compares
what is found with the table of scenarios, and when with the workload's own record."""

import sys

import stage

FOUND_S = 5.0  # after the fault's step has begun
BIRTHS = {"nan": 1, "nan-twice": 2}  # how often the rank makes them, with clean steps in between


def loud(lines):
    return [(at_ns, finding) for at_ns, finding in lines if finding.get("severity") in ("warning", "critical")]


def named(scenario):
    """None: all of them."""
    both = [scenario["rank"], scenario["peer"]] if scenario["peer"] else [scenario["rank"]]
    return sorted(both) if scenario["rank"] >= 0 else None


def check_finding(failures, scenario, finding):
    if scenario["peer"]:
        failures.check(finding["confidence"] == "inconclusive" and finding["scope"] == "link",
                       "neither of the two is accused")
    values, operation = finding.get("values") or {}, finding.get("operation") or {}
    failures.check(values.get("origin") == scenario["origin"] or scenario["origin"] is None,
                   f"origin {values.get('origin')}")
    if scenario["origin"] and scenario["first_bad"] >= 0:
        failures.check(values.get("first_bad") == scenario["first_bad"], f"first bad element {values.get('first_bad')}")
    failures.check(operation.get("function") is not None and operation.get("sequence") is not None,
                   f"the operation is named: {operation.get('function')} {operation.get('sequence')}")


def check_time(failures, events, at_ns):
    faults = [event["monotonic_ns"] for event in events if event["event"] == "fault"]
    if failures.check(faults, "the workload recorded when it spoiled the data"):
        after_s = (at_ns - faults[0]) / 1e9
        failures.check(after_s <= FOUND_S, f"found {after_s:.2f} s after its step began (limit {FOUND_S} s)")


def last_words(lines):
    """Of each time that somebody made bad values: a second one is another finding of the same id, seen first at another
    time."""
    return list({(finding["id"], finding["first_seen"]): finding for _, finding in lines}.values())


def check_faulty(failures, name, scenario, events, lines):
    true = [(at_ns, finding) for at_ns, finding in loud(lines) if finding["kind"] == scenario["kind"]]
    # That the rank's magnitudes leave the others' first is said, too, of the same rank. Where others use the CPUs as
    # well, operations of the stand-in take longer: that is true, and accuses nobody.
    false = [finding["text"] for _, finding in loud(lines)
             if (finding["kind"], finding["scope"], finding["confidence"]) != ("slowdown", "job", "inconclusive") and
             (finding["kind"] not in (scenario["kind"], "drift") or named(scenario) not in (None, finding["ranks"]))]
    failures.check(not false, f"no false alarm {false or ''}", always=True)
    if not failures.check(true, "the fault was found"):
        return
    last = last_words(true)
    failures.check(len({finding["id"] for _, finding in true}) == 1, "what it led to is no finding of its own")
    failures.check(len(last) == BIRTHS.get(name, len(last)),
                   f"told {len(last)} times, made {BIRTHS.get(name, 'at least once')}: "
                   f"{[finding['text'] for finding in last]}")
    # A flipped bit is the stand-in's doing, of which nobody records the time.
    if not any(entry.startswith("SIM_NCCL_FLIP=") for entry in scenario["environment"]):
        check_time(failures, events, true[0][0])
    for finding in last:
        check_finding(failures, scenario, finding)


def main(name, *variables):
    scenario = stage.scenarios()[name]
    failures = stage.Failures(on_time=True)
    with stage.Stage() as play:
        demo = play.start(stage.RANKWATCH, "demo", name, "--json", **dict(entry.split("=", 1) for entry in variables))
        status = demo.wait(2 * scenario["duration_s"] + 60)
        lines, events, said = demo.out.json(), play.events(), demo.err.text()
    print(said)
    for at_ns, finding in lines:
        print(f"{at_ns / 1e9:.3f} {finding.get('state')} {finding.get('severity')} {finding.get('text', finding)}")
    failures.check(status == 0, f"the demo's own verdict: status {status}")
    failures.check(stage.says_settings(said, scenario), f"what was set for it is said: {stage.settings(scenario)}")
    failures.check("8 of 8 ranks" in said, "a collector saw all ranks to the end")
    if scenario["kind"] is None:
        failures.check(not lines, "healthy: not one line", always=True)
    else:
        check_faulty(failures, name, scenario, events, lines)
    failures.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
