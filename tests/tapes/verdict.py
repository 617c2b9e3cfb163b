# SPDX-License-Identifier: MIT
"""What was found, in short, and whether it is what the table of scenarios says was injected."""

import re

RANKS = 8
# Seconds from when the fault could be known to the finding, as in tests/integration/scenario.py.
LIMITS = {"straggler": 2.0, "hang": 5.0, "gone": 5.0, "desync": 5.0, "slowdown": 10.0, "memory": 30.0}
INIT_S = 14.0
VALUES_S = 5.0
LATE_STEPS, ALWAYS_LATE_STEPS = 3, 12
# True of the same rank, too.
BESIDE = {"gpu": "gpu", "throttle": "gpu", "memory": "memory"}
SILENT_S = 1.0  # later than the finding: the cause


def summary(told):
    """A finding as an expectation keeps it. Process and thread numbers and addresses are left out."""
    finding, cause = told["finding"], told["finding"].get("cause") or {}
    operation, late, values = (finding.get(key) or {} for key in ("operation", "late", "values"))
    short = {key: finding.get(key) for key in ("state", "severity", "confidence", "kind", "scope", "level", "ranks")}
    short["at_ms"] = round(told["at_ms"], 1)
    short["operation"] = {key: operation.get(key) for key in ("comm_name", "function", "sequence", "step", "phase")}
    short["late"] = {key: late.get(key) for key in ("kind", "by_ms", "lost_ms_per_step", "since_step", "waiting")}
    short["cause"] = {key: cause.get(key) for key in ("class", "syscall", "path", "fs", "thread", "text", "turns")}
    short["cause"]["chain"] = [f"{link.get('thread')}: {without_number(link.get('waits_for'))}" +
                               (f", which {link['does']}" if link.get("does") else "")
                               for link in cause.get("chain") or []]
    short["reached"] = (finding.get("watchdog") or {}).get("reached")
    short["values"] = {key: values.get(key) for key in ("origin", "first_bad", "nan", "inf")}
    short["text"] = finding.get("text")
    short["story"] = story(finding)
    return pruned(short)


def without_number(waits_for):
    return re.sub(r"^(process|its child) \d+", r"\1", waits_for or "")


def story(finding):
    """How its incident went, where that is more than the finding itself and who waits for it."""
    incident = finding.get("incident") or {}
    chain = incident.get("chain") or []
    told = [link["finding"] for link in chain if link["event"] == "finding"]
    if finding["id"] not in told or incident.get("id") not in told:
        raise SystemExit(f"FAILED {finding['text']}: its incident {incident} is without it, or has another one's name")
    if len(told) == 1 and not any(link["event"] == "end" for link in chain):
        return None
    return [link["text"] if link["confidence"] == "certain" else f"{link['text']} ({link['confidence']})"
            for link in chain]


def pruned(value):
    """Without what is empty."""
    if isinstance(value, dict):
        return {key: pruned(one) for key, one in value.items() if one not in (None, [], {}) and pruned(one) != {}}
    if isinstance(value, float):
        return round(value, 3)
    return value


def outline(findings):
    """What a live run and its tape must have in common: what was said of whom, in which order, and what was taken
    back."""
    told = []
    for finding in findings:
        if finding.get("severity") == "notice":
            continue
        one = (finding["kind"], tuple(finding.get("ranks", ())), (finding.get("cause") or {}).get("class"),
               "closed" if finding["state"] == "closed" else "open")
        if not told or told[-1] != one:
            told.append(one)
    return told


def named(scenario):
    ranks = [scenario["rank"], scenario["peer"]] if scenario["peer"] else [scenario["rank"]]
    return sorted(ranks) if scenario["rank"] >= 0 else list(range(RANKS))


def in_a_row(late, steps):
    """When the last of so many late steps in a row was late; None: there were not so many."""
    row = []
    for event in late:
        row = row + [event] if row and event["step"] == row[-1]["step"] + 1 else [event]
        if len(row) == steps:
            return event["at_ms"]
    return None


def known(scenario, events):
    """(ms of the tape at which the fault could be known, seconds that a finding may take from there)."""
    faults = [event for event in events if event["event"] == "fault"]
    if scenario["within_s"]:
        return (faults[0]["at_ms"] if faults else None), scenario["within_s"]
    if scenario["kind"] == "straggler":
        late = [event for event in events if event["event"] == "late_step" and event["rank"] == scenario["rank"]]
        return in_a_row(late, ALWAYS_LATE_STEPS if late and late[0]["step"] == 1 else LATE_STEPS), LIMITS["straggler"]
    limit = (INIT_S if any(event["kind"].startswith("init-") for event in faults)
             else LIMITS.get(scenario["kind"], VALUES_S))
    return (faults[0]["at_ms"] if faults else None), limit


def false_alarms(scenario, loud):
    kinds = {scenario["kind"], BESIDE.get(scenario["cause"])} | ({"drift"} if scenario["origin"] else set())
    # That a rank which is gone hangs is true of it, too, for who cannot see processes.
    kinds |= {"hang"} if scenario["kind"] == "gone" else set()
    return [f"false alarm: {finding['text']}" for finding in loud if finding["kind"] not in kinds or
            not is_right(scenario, finding)]


def is_right(scenario, finding):
    """An inconclusive finding may name others beside the one."""
    right, told = set(named(scenario)), set(finding.get("ranks", ()))
    if scenario["scope"] and finding["scope"] != scenario["scope"]:
        return False
    return scenario["rank"] < 0 or told == right or (finding["confidence"] == "inconclusive" and told > right)


def shortcomings(scenario, true):
    cause, missed = [(finding.get("cause") or {}).get("class") for finding in true], []
    if scenario["rank"] >= 0 and true[-1]["ranks"] != named(scenario):
        missed.append(f"ranks {true[-1]['ranks']}")
    if scenario["cause"] and scenario["cause"] not in cause:
        missed.append(f"cause {cause[-1]}, not {scenario['cause']}")
    if scenario["foresees"] and not any(finding.get("reached") for finding in true):
        missed.append("when the watchdog is reached")
    if not scenario["origin"]:
        return missed
    values = true[-1].get("values") or {}
    if values.get("origin") != scenario["origin"]:
        missed.append(f"origin {values.get('origin')}, not {scenario['origin']}")
    if scenario["first_bad"] >= 0 and values.get("first_bad") != scenario["first_bad"]:
        missed.append(f"first bad element {values.get('first_bad')}, not {scenario['first_bad']}")
    return missed


def disagreements(scenario, events, level, findings, in_time=True):
    """Sentences about findings (summaries), by the table of scenarios: (what is false, what is missed). Level "report"
    looks back. in_time: it is also judged when something was found."""
    loud = [finding for finding in findings if finding["severity"] != "notice"]
    if scenario["kind"] is None:
        return [f"false alarm: {finding['text']}" for finding in loud], []
    true = [finding for finding in loud if finding["kind"] == scenario["kind"]]
    if not true:
        return false_alarms(scenario, loud), [f"no {scenario['kind']} was found"]
    missed = shortcomings(scenario, true)
    since_ms, limit_s = known(scenario, events)
    if in_time and level != "report" and since_ms is not None and true[0]["at_ms"] - since_ms > limit_s * 1000:
        missed.append(f"found {(true[0]['at_ms'] - since_ms) / 1000:.2f} s after the fault could be known (limit "
                      f"{limit_s} s)")
    return false_alarms(scenario, loud), missed


VALUES = ("nan", "inf", "overflow", "saturation", "corruption", "drift")


def of_values(findings):
    """The last word about each finding of values, in the order in which they were opened: notices too, without when it
    was said. One that was closed and is opened again is another."""
    told = []
    for finding in findings:
        if finding["kind"] not in VALUES:
            continue
        whose = (finding["kind"], finding.get("ranks"))
        word = {key: one for key, one in finding.items() if key != "at_ms"}
        place = next((at for at in reversed(range(len(told))) if (told[at]["kind"], told[at].get("ranks")) == whose),
                     None)
        if place is None or finding["state"] == "open" or told[place]["state"] == "closed":
            told.append(word)
        else:
            told[place] = word
    return told


def last_outline(findings):
    """Of each finding that is no notice, values left out: kind, ranks, and the class of its cause in the end."""
    return {(finding["kind"], tuple(finding.get("ranks", ()))): (finding.get("cause") or {}).get("class")
            for finding in findings if finding["severity"] != "notice" and finding["kind"] not in VALUES}


def differences(expected, found):
    """Sentences: where the findings of a tape are not those that were reviewed."""
    said = []
    if len(expected) != len(found):
        said.append(f"{len(found)} findings, not {len(expected)}")
    for number, (one, other) in enumerate(zip(expected, found)):
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                said.append(f"finding {number + 1}, {key}: {other.get(key)}, not {one.get(key)}")
    return said
