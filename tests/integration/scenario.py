#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scenario.py NAME [nobody]: plays a scenario of `rankwatch demo` and compares what is found, and when, with the
workload's own record of what it did. nobody: as an ordinary user."""

import json
import statistics
import sys

import stage

STRAGGLER_S = 2.0  # after its third late step
STUCK_S = 5.0  # after the fault
INIT_S = 14.0  # ranks may come one after the other
LEAK_S = 30.0  # its heap grows for some steps before it is full
SLOWDOWN_S = 10.0  # after the fault: steps, not seconds, decide
CAUSE_S = 1.0  # later than the finding
DETAIL_S = 10.0  # likewise: NCCL is asked for it then, and some steps must come


# Which calls on which file, and which other thread is in it. write(2) waits as fsync(2) does where the page cache has
# no room for what a slow disk has not taken yet.
FILES = {
    "io-rank0": ("write", "events.out.tfevents.0", "tb-writer"),
    "fsdp-rank0-log": ("write", "events.out.tfevents.0", "tb-writer"),
    "io-fsync": ("fsync write", "events.out.tfevents.0", "tb-writer"),
    "io-rank0-direct": ("fsync write", "events.out.tfevents.0", None),
    "dead-nfs": ("fsync", "events.out.tfevents.0", "tb-writer"),
    "nfs-write": ("write", "events.out.tfevents.2", "tb-writer"),
    "nfs-close": ("close", "events.out.tfevents.4", None),
    "slow-data": ("pread64", "train.bin", None),
    "dirty": ("write", "events.out.tfevents.5", "tb-writer"),
}
# Who shows the fault of a GPU, and what the finding says of it.
GPU_EVIDENCE = {
    "throttle": ("nvml", "hardware thermal slowdown"),
    "xid": ("kernel-log", "Xid 119"),
}
NESTED = (2, 3)  # its tensor-parallel group: all others are late, too, because of it
ALWAYS_STEPS = 12  # so many a rank that was late from the first step on needs to be known


def in_init(events):
    return any(event["event"] == "fault" and event["kind"].startswith("init-") for event in events)


def deadline_start(scenario, events):
    """(ns the time limit counts from, limit in s); None when the fault did not get that far."""
    faults = [event for event in events if event["event"] == "fault"]
    if scenario["within_s"]:
        return (faults[0]["monotonic_ns"], scenario["within_s"]) if faults else None
    if scenario["kind"] == "straggler":
        late = [event for event in events if event["event"] == "late_step"]
        late = [event for event in late if event["rank"] == scenario["rank"]]
        known = stage.late_in_a_row(late, ALWAYS_STEPS if late and late[0]["step"] == 1 else 3)
        return (known["monotonic_ns"], STRAGGLER_S) if known else None
    limit_s = (SLOWDOWN_S if scenario["kind"] == "slowdown" else LEAK_S if scenario["kind"] == "memory" else INIT_S
               if in_init(events) else STUCK_S)
    return (faults[0]["monotonic_ns"], limit_s) if faults else None


def check_time(failures, scenario, events, lines):
    start = deadline_start(scenario, events)
    if not failures.check(start is not None, "the workload recorded its fault"):
        return
    start_ns, limit_s = start
    named = [at_ns for at_ns, finding in lines if finding.get("kind") == scenario["kind"]]
    caused = [at_ns for at_ns, finding in lines if (finding.get("cause") or {}).get("class") == scenario["cause"]]
    cause_s = DETAIL_S if scenario["cause"] == "network" else CAUSE_S
    for what, times, limit in (("rank", named, limit_s), ("cause", caused, limit_s + cause_s)):
        after_s = (times[0] - start_ns) / 1e9 if times else float("inf")
        failures.check(after_s <= limit,
                       f"{what} named {after_s:.2f} s after the fault could be known (limit {limit} s)")


def check_io(failures, name, finding, level):
    cause = finding["cause"]
    calls, file, thread = FILES[name]
    # Of a descriptor that close(2) has given back already there may be no more than the name.
    path = cause.get("path") or ""
    failures.check(path.endswith("/" + file) or (calls == "close" and path == file), f"path {path}")
    failures.check(cause.get("syscall") in calls.split() or calls in (cause.get("text") or ""),
                   f"system call {cause.get('syscall')}: {cause.get('text')}")
    failures.check(any(kind in (cause.get("fs") or "") for kind in ("ext4", "fuse")), f"file system {cause.get('fs')}")
    if thread:
        chain = cause.get("chain") or []
        failures.check(thread in json.dumps(chain), f"the wait was followed to {thread}: {chain} (level {level})")


def check_link(failures, finding):
    """Rank 4's host sends slowly: all its ranks to those of the other host, which have no other link to compare
    with."""
    failures.check(finding.get("scope") == "link", f"scope {finding.get('scope')}")
    failures.check("the ranks of host-1 wait " in finding["text"] and " for the network to host-0" in finding["text"],
                   "the right direction of the right link")
    failures.check(finding.get("confidence") == "likely", f"confidence {finding.get('confidence')}")
    share = (finding.get("cause") or {}).get("share") or 0
    failures.check(0.4 < share <= 1, f"share {share:.2f}")


def check_convoy(failures, finding, level):
    """Who holds the lock changes all the time; without the kernel's records nobody can know that anybody does."""
    cause = finding["cause"]
    if level != "ebpf":
        failures.check(finding.get("confidence") == "likely", f"confidence {finding.get('confidence')}")
        failures.check("Python" not in cause["text"] and not cause.get("chain"), f"says no more than it saw: {cause}")
        return
    failures.check("5 ms at a time as for Python's lock" in cause["text"], f"cause: {cause['text']}")
    turns = cause.get("turns") or {}
    failures.check(2 <= turns.get("holders", 0) <= 9 and turns["like_python"]
                   and f"its {turns['holders']} holders" in cause["text"],
                   f"of eight threads and its own: {turns}")
    failures.check(turns.get("cpu") is not None and 0 < turns["cpu"] <= 1.1, f"one of them computes at a time: {turns}")
    chain = cause.get("chain") or [{}]
    failures.check(chain[0].get("waits_for") == 'its threads "python3" in turn', f"chain: {chain}")


def check_sums(failures, scenario, events, said, finding):
    """What no single operation shows: of no operation, never certain, and what it costs by the workload's own
    account."""
    late = finding.get("late") or {}
    failures.check(late.get("spread_out") is True, f"spread out over the operations: {late}")
    failures.check(finding.get("confidence") == "likely", f"confidence {finding.get('confidence')}")
    failures.check(late.get("waiting") == [rank for rank in range(stage.RANKS) if rank != scenario["rank"]],
                   f"waiting {late.get('waiting')}")
    longer, steps = [event["late_ms"] for event in events if event["event"] == "late_step"], step_times(said)
    if failures.check(longer and steps, "the job ended and printed its step times"):
        truth, share = statistics.mean(longer) / statistics.median(steps), late.get("lost_share") or -1
        failures.check(abs(share - truth) <= 0.3 * truth,
                       f"lost {share:.1%} of the time; its GPU computed {truth:.1%} longer")


def check_forecast(failures, events, watchdog):
    """A line through what the workload itself was late by says when the waits, which are that and little more, reach
    the limit."""
    late = [event for event in events if event["event"] == "late_step"][4:]
    reached = watchdog.get("reached")
    says = failures.check(reached, f"it says when the watchdog is reached: {watchdog}")
    if not says or not failures.check(len(late) > 12, "enough late steps"):
        return
    slope, first = statistics.linear_regression([event["step"] for event in late], [event["late_ms"] for event in late])
    failures.check(abs(reached["wait_grows_ms"] - slope) <= 0.3 * slope,
                   f"waits grow by {reached['wait_grows_ms']:.1f} ms a step; the workload's lateness by {slope:.1f}")
    step = (watchdog["timeout_ms"] - first) / slope
    failures.check(abs(reached["step"] - step) <= 0.3 * step,
                   f"reached in step {reached['step']}; by the workload's lateness in {step:.0f}")


def named(scenario):
    if scenario["rank"] < 0:
        return list(range(stage.RANKS))
    return [scenario["rank"], scenario["peer"]] if scenario["peer"] else [scenario["rank"]]


def place(name, scenario):
    """The communicator at which it is late first, and who waits there."""
    ranks = NESTED if name == "nested" else range(stage.RANKS)
    return "ranks " + ("0-7" if len(ranks) == stage.RANKS
                       else ",".join(map(str, ranks))), [rank for rank in ranks if rank not in named(scenario)]


def check_finding(failures, name, scenario, level, events, said, finding):
    cause = finding.get("cause") or {}
    failures.check(finding.get("ranks") == named(scenario), f"ranks {finding.get('ranks')}")
    failures.check(cause.get("class") == scenario["cause"], f"cause {cause.get('class')}, expected {scenario['cause']}")
    if name.startswith("init-"):
        failures.check(finding["operation"]["phase"] == "init", f"phase {finding['operation']['phase']}")
        failures.check(finding["late"]["waiting"] == [rank for rank in range(stage.RANKS) if rank != scenario["rank"]],
                       f"waiting {finding['late']['waiting']}")
        return
    if name == "even-slow-gpu":
        check_sums(failures, scenario, events, said, finding)
    if scenario["kind"] == "memory" or name == "even-slow-gpu":
        return
    failures.check(cause.get("class") in ("gone", "network", None) or finding.get("level") == level,
                   f"level {finding.get('level')}, expected {level}")
    failures.check(not scenario["scope"] or finding.get("scope") == scenario["scope"], f"scope {finding.get('scope')}")
    comm_name, waiting = place(name, scenario)
    failures.check((finding.get("operation") or {}).get("comm_name") == comm_name,
                   f"communicator {(finding.get('operation') or {}).get('comm_name')}")
    watchdog = finding.get("watchdog") or {}
    limit_s = float(dict(one.split("=", 1) for one in stage.settings(scenario))["RANKWATCH_TIMEOUT"])
    failures.check(scenario["kind"] in ("desync", "slowdown") or watchdog.get("timeout_ms") == 1e3 * limit_s,
                   f"watchdog {watchdog.get('timeout_ms')} ms")
    if scenario["foresees"]:
        check_forecast(failures, events, watchdog)
    if scenario["kind"] == "straggler":
        late = finding.get("late") or {}
        failures.check(late.get("waiting") == waiting, f"waiting {late.get('waiting')}")
        failures.check(cause.get("thread") == "python-main", f"thread {cause.get('thread')}")
    if name in GPU_EVIDENCE:
        source, words = GPU_EVIDENCE[name]
        shown = [piece for piece in finding.get("evidence") or [] if piece["source"] == source]
        failures.check(any(words in piece["what"] for piece in shown), f"evidence of {source}: {shown}")
        failures.check(words in (cause.get("text") or ""), f"cause: {cause.get('text')}")
    if name == "convoy":
        check_convoy(failures, finding, level)
    if name == "slow-link":
        check_link(failures, finding)
    if scenario["cause"] == "io":
        check_io(failures, name, finding, level)


def step_times(said):
    """ms of each step, as the job printed them; none when it did not end by itself."""
    return next((json.loads(line)["step_ms"] for line in said.splitlines() if line.startswith('{"ranks"')), [])


def check_lost_time(failures, events, said, finding):
    """The finding's lost time per step against what the job's own step times say, late ones less those before."""
    step_ms = step_times(said)
    # Ranks of one host delay each other's steps once, not twice.
    late = [event for event in events if event["event"] == "late_step" and event["rank"] == finding["ranks"][0]]
    # A crowded CPU takes another share in every step: the order of size counts.
    varies = finding["cause"]["class"] in ("cpu", "memory")
    grows = (finding.get("watchdog") or {}).get("reached")
    if not failures.check(step_ms and late, "the job ended and printed its step times"):
        return
    if late[0]["step"] > 1:
        # The best one: what else ran here can have stretched the few steps before the fault.
        before = min(step_ms[:late[0]["step"] - 1])
        # Of what changes the finding tells the last few steps.
        steps = [step_ms[event["step"] - 1] for event in (late[-6:] if grows or varies else late)]
        truth = statistics.mean(steps) - before
    else:  # no step to compare with
        steps, before = [event["late_ms"] for event in late], 0
        truth = statistics.mean(steps)
    lost = (finding.get("late") or {}).get("lost_ms_per_step") or -1
    spread = 0.6 if varies else 0.3
    # What else ran here may have stretched a step or two beyond all others: that is in the mean, and not the fault's.
    usual = statistics.median(steps) - before
    right = any(abs(lost - value) <= spread * value for value in (truth, usual))
    # a hog slows the ranks beside it, too: not all of that is one rank's
    if (finding.get("late") or {}).get("at_least"):
        right |= 0.1 * truth <= lost <= truth
    failures.check(right,
                   f"lost {lost:.0f} ms a step; by the job's step times {truth:.0f} ms, their median {usual:.0f} ms")


def check_faulty(failures, name, scenario, level, events, said, lines):
    loud = [finding for _, finding in lines if finding.get("severity") in ("warning", "critical")]
    beside = {"gpu": "gpu", "throttle": "gpu", "memory": "memory"}  # true of the same rank, too
    kinds = {scenario["kind"], beside.get(scenario["cause"])}
    false = [finding.get("text") for finding in loud
             if finding["kind"] not in kinds or finding["ranks"] != named(scenario)
             or (scenario["scope"] and finding["scope"] != scenario["scope"])]
    true = [finding for finding in loud if finding["kind"] == scenario["kind"]]
    failures.check(not false, f"no false alarm {false or ''}", always=True)
    check_time(failures, scenario, events, lines)
    if not failures.check(true, "the fault was found"):
        return
    failures.check(true[0]["state"] == "open", "its first line opens it")
    failures.check(len({finding["id"] for finding in true}) == 1, f"one id: {sorted({f['id'] for f in true})}")
    last = [finding for finding in true if finding["state"] != "closed"][-1]
    check_finding(failures, name, scenario, level, events, said, last)
    if scenario["kind"] == "straggler" and name != "even-slow-gpu":
        check_lost_time(failures, events, said, last)


def check_stall(failures, scenario, lines):
    """Of a fabric that stands still no rank is guilty, and the workload knows nothing: the finding itself says how long
    all have stood."""
    wrong = [finding.get("text") for _, finding in lines if finding.get("kind") != "hang" or finding.get("ranks")]
    failures.check(not wrong, f"nobody is named {wrong or ''}", always=True)
    warned = [finding for _, finding in lines if finding.get("severity") in ("warning", "critical")
              and finding["state"] != "closed"]
    if not failures.check(warned, "the stall was found"):
        return
    first, call = warned[0], warned[0].get("operation") or {}
    failures.check(first["late"]["by_ms"] <= 1e3 * scenario["within_s"],
                   f"found after {first['late']['by_ms']:.0f} ms (limit {scenario['within_s']} s)")
    failures.check((call.get("function"), call.get("sequence")) == ("AllGather", 65), f"the call: {call}")
    failures.check(first["late"].get("waiting") == list(range(stage.RANKS)), f"waiting {first['late'].get('waiting')}")
    failures.check(first.get("confidence") == "inconclusive", f"confidence {first.get('confidence')}")


def pace(scenario, said):
    """How many times as long as planned the job took, by its own step times; 0 where it printed none."""
    return sum(step_times(said)) / 1e3 / scenario["duration_s"]


def pace_without_rankwatch(scenario):
    command = stage.demo_workload(scenario)
    if scenario["script"]:
        command = stage.under(scenario["script"], *command)
    with stage.Stage() as play:
        job = play.start(*command, **dict(entry.split("=", 1) for entry in scenario["environment"]))
        job.wait(2 * scenario["duration_s"] + 60)
        return pace(scenario, job.out.text())


def main(name, nobody=False):
    scenario = stage.scenarios()[name]
    level = "ebpf" if stage.ROOT and not nobody else "proc"
    if nobody:
        stage.need_nobody()
    failures = stage.Failures(on_time=True, control=lambda: pace_without_rankwatch(scenario))
    with stage.Stage(nobody=nobody) as play:
        # as it is where nothing is set
        demo = play.start(stage.RANKWATCH, "demo", name, "--json", RANKWATCH_HISTORY=None)
        status = demo.wait(2 * scenario["duration_s"] + 60)
        lines, events, said = demo.out.json(), play.events(), demo.err.text()
    failures.pace = pace(scenario, said)
    print(said)
    for at_ns, finding in lines:
        print(f"{at_ns / 1e9:.3f} {finding.get('state')} {finding.get('severity')} {finding.get('text', finding)}")
    if status == 77:
        stage.skip("the demo could not make its fault here")
    failures.check(status is not None, f"the demo ended by itself (status {status})")
    failures.check(stage.says_settings(said, scenario), f"what was set for it is said: {stage.settings(scenario)}")
    failures.check(all(finding.get("schema") == 1 for _, finding in lines), "every line on stdout is a finding")
    failures.check("8 of 8 ranks" in said or name.startswith("init-"), "a collector saw all ranks to the end")
    if scenario["awaits"]:
        failures.check(status == 0, f"nobody is named wrongly (status {status})")
        failures.check("expected to fail until" in said,
                       f"it is not found before {scenario['awaits']}: if it is, take the mark away")
    elif scenario["kind"] is None:
        failures.check(not lines, "healthy: not one line", always=True)
        failures.check(status == 0, f"status {status}")
    elif name == "fabric-stall":
        check_stall(failures, scenario, lines)
    else:
        check_faulty(failures, name, scenario, level, events, said, lines)
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1], nobody=sys.argv[2:] == ["nobody"])
