#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tapes.py check NAME          plays a tape at every level and compares what is found with NAME.json, and with what was
injected tapes.py record NAME…       records the scenarios anew, shows what is found otherwise, and replaces tapes and
expectations tapes.py answers NAME…      plays the tapes again and replaces their expectations: after a change that is
meant; read the diff tapes.py again [NAME…]      records them anew and compares, without replacing anything tapes.py
same NAME          records a scenario and compares what its live run and its tape say

A test of tests/meson.build sets the environment; by hand: meson devenv -C build ../tests/tapes/tapes.py record lock"""

import datetime
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

import verdict  # noqa: E402

PLAYER = os.environ.get("TEST_TAPE_PLAYER", "")
RECORDER = os.environ.get("TEST_TAPE_RECORDER", "")
LEVELS = ("ebpf", "proc", "self", "report")
AFTER_S = 1.0  # goes on for so long when the cause is known
# … when there is more to come, or looks at ranks without a box are a second apart
LONGER_S = {"nan-twice": 4.0, "init-never": 3.0, "fsdp-rank0-log": 3.0}
# How `same` plays a scenario, on a machine that may be busy. Who sees less names the rank later, and in a job's first
# 24 steps only where little else happens: the fault begins behind them, steps are short, and late ones are waited for,
# not seconds.
SAME = ("--steps=100", "--step-ms=250", "--fault-step=28")
SAME_LATE_STEPS = 14
# Tapes of which live and report cannot say the same from the same boxes.
UNLIKE = {
    "stopped": "only what comes when all is over shows that the rank's last sign of life is older than the others'",
    "traced": "only what comes when all is over shows that the rank's last sign of life is older than the others'",
    "throttle": "NVML is asked live, beside the boxes, and is in none of them",
}
STALE = ("scenario", "world", "nccl", "profiler", "arguments", "script", "environment")


def play(tape, level):
    """The findings of a tape at a level, as summaries."""
    done = subprocess.run([PLAYER, tape, level], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"FAILED {tape} at level {level}: {done.stderr.strip() or done.returncode}")
    return [verdict.summary(json.loads(line)) for line in done.stdout.splitlines()]


def header_of(tape):
    return json.loads(subprocess.run([PLAYER, tape, "header"], check=True, capture_output=True, text=True).stdout)


def variant(name):
    """(scenario, variables) of a tape's name: "nan@SIM_NCCL_VERSION=2.27.5"."""
    scenario, *variables = name.split("@")
    return scenario, dict(one.split("=", 1) for one in variables)


def mesh(scenario):
    """RANKWATCH_MESH for its job: on a tape communicators have names; in the demo, which does not set it, they have
    ranks."""
    given = [one.removeprefix("--mesh=") for one in scenario["arguments"] if one.startswith("--mesh=")]
    return "RANKWATCH_MESH=" + (given or ["fsdp=8"])[0]


def settled(entries):
    """What is set in the end: the last of a name counts."""
    return dict(entry.split("=", 1) for entry in entries)


def todays_header(name):
    """What a tape of this name says of itself when it is recorded today."""
    import stage
    scenario_name, variables = variant(name)
    scenario = stage.scenarios()[scenario_name]
    plugin = (pathlib.Path(stage.PLUGIN_DIR) / stage.PLUGIN).read_bytes()
    nccl = subprocess.run([sys.executable, "-c", "import ctypes, sys; v = ctypes.c_int(); "
                           "ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(v)); print(v.value)",
                           f"{stage.SIM_DIR}/libnccl.so.2"],
                          env={**os.environ, "LD_LIBRARY_PATH": stage.SIM_DIR, **variables},
                          check=True, capture_output=True, text=True).stdout
    return {
        "scenario": name, "nccl": int(nccl.split()[-1]),
        "world": json.loads(subprocess.run([PLAYER, "world"], check=True, capture_output=True, text=True).stdout),
        "profiler": max(int(number) for number in re.findall(rb"ncclProfiler_v(\d+)", plugin)),
        "arguments": scenario["arguments"], "script": scenario["script"],
        "environment": stage.scenarios()["environment"] + [mesh(scenario)] + scenario["environment"],
    }


def paths(name, directory=HERE):
    return directory / f"{name}.tape", directory / f"{name}.json"


class Failures:
    def __init__(self):
        self.count = 0

    def check(self, right, what):
        print(("ok     " if right else "FAILED ") + what, flush=True)
        self.count += not right


def check_level(failures, name, scenario, expectation, level, found, in_time=True):
    mark = (expectation.get("expected_to_fail") or {}).get(level) or (scenario["awaits"]
                                                                      and f"until {scenario['awaits']}")
    limit = (expectation.get("limits") or {}).get(level)
    false, missed = verdict.disagreements(scenario, expectation["events"], level, found, in_time)
    if mark:
        failures.check(missed and not false, f"{name} at level {level}: expected to fail {mark}" +
                       "".join(f"\n         {one}" for one in false) +
                       ("" if missed else ": it does not any more, so take the mark away"))
        return
    wrong = false + verdict.differences(expectation["levels"][level], found)
    if limit and not missed:
        wrong.append(f"the limit does not hold any more, so take it out of the expectation: {limit}")
    if not limit:
        wrong += missed
    failures.check(not wrong,
                   f"{name} at level {level}: {len(found)} findings" + "".join(f"\n         {one}" for one in wrong))


def live_and_report(failures, name, found):
    """From the boxes alone, while they grow and when all is over: what is said of values, word for word, and of all
    else whose fault it is and why."""
    live, report = (verdict.last_outline(found[level]) for level in ("self", "report"))
    reason = UNLIKE.get(name)
    if reason:
        failures.check(live != report, f"{name}: live and report differ, as {reason}" +
                       ("" if live != report else ": they do not any more, so take it out of UNLIKE"))
    else:
        failures.check(live == report, f"{name}: live and report name the same kinds, ranks and causes" +
                       ("" if live == report else f":\n         {live}\n         {report}"))
    live, report = (verdict.of_values(found[level]) for level in ("self", "report"))
    said = differing(live, report)
    failures.check(not said, f"{name}: live and report say the same of values: {len(live)} findings" +
                   "".join(f"\n         {one}" for one in said))


def differing(live, report):
    """Sentences: findings of values that only one of them has at a place, or that differ there."""
    return [f"finding {number + 1}: {one}\n         {other}" for number, (one, other) in
            enumerate(itertools.zip_longest(live, report)) if one != other]


def fits(was, now):
    """Is it today's layout? A header may have grown at its end: there an older box holds zeros, as for whoever reads
    one."""
    header = "box header"
    return was and {**was, header: now[header]} == now and was[header] <= now[header]


def is_fresh(key, was, now):
    if key == "world":
        return fits(was, now)
    return settled(was) == settled(now) if key == "environment" else was == now


def check(name):
    import stage
    failures = Failures()
    tape, expected = paths(name)
    expectation = json.loads(expected.read_text())
    header, today = header_of(tape), todays_header(name)
    for key in STALE:
        was, now = header.get(key), today[key]
        fresh = is_fresh(key, was, now)
        failures.check(fresh,
                       f"{name} is not stale: {key}" + ("" if fresh else f" was {was}, is {now}: record it again"))
    found = {level: play(tape, level) for level in LEVELS}
    for level in LEVELS:
        check_level(failures, name, stage.scenarios()[variant(name)[0]], expectation, level, found[level])
    live_and_report(failures, name, found)
    return failures.count


def neutral_build(directory):
    """A copy of what is played, where its paths say nothing about whose machine this is: they are on the tape. Points
    the environment there."""
    import shutil
    import stage
    parts = {"console": [stage.RANKWATCH], "plugin": pathlib.Path(stage.PLUGIN_DIR).glob("*.so"),
             "sim": pathlib.Path(stage.SIM_DIR).glob("*.so*"),
             "sim/workload": (one for one in pathlib.Path(stage.WORKLOAD_DIR).iterdir() if one.is_file())}
    directory.chmod(0o755)
    (directory / "build.ninja").touch()
    for folder, files in parts.items():
        (directory / folder).mkdir()
        for file in files:
            if not pathlib.Path(file).is_dir():
                shutil.copy2(file, directory / folder, follow_symlinks=False)
    stage.RANKWATCH, stage.PLUGIN_DIR = str(directory / "console/rankwatch"), str(directory / "plugin")
    stage.SIM_DIR, stage.WORKLOAD_DIR = str(directory / "sim"), str(directory / "sim/workload")


def neutral_host():
    """The host's name is in every black box."""
    import ctypes
    import socket
    clone_newuts = 0x04000000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newuts) == 0:
        socket.sethostname("node-0")


def is_known(scenario, lines):
    return any(finding.get("kind") == scenario["kind"] and
               (not scenario["cause"] or (finding.get("cause") or {}).get("class") == scenario["cause"]) and
               (not scenario["foresees"] or (finding.get("watchdog") or {}).get("reached"))
               for _, finding in lines)


def late_steps(stand):
    return len(stand.events("late_step"))


def perform(name, tape, more_late_steps=0):
    """Plays the scenario under `rankwatch run` and records it, until kind and cause are known live and for so many late
    steps more. (live findings, the workload's events); None: skipped."""
    import stage
    scenario_name, variables = variant(name)
    scenario = stage.scenarios()[scenario_name]
    header = todays_header(name)
    header.update(recorded=datetime.date.today().isoformat(), kernel=os.uname().release.split("-")[0])
    environment = settled(header["environment"])
    with stage.Stage() as stand:
        # Of its own: another recording may be under way.
        header["job"] = stand.dir.name
        environment.update(variables, RANKWATCH_JOB=stand.dir.name)
        for variable in ("SIM_NVML", "SIM_KERNEL_LOG"):
            (stand.dir / variable).touch()
            environment[variable] = str(stand.dir / variable)
        recorder = subprocess.Popen([RECORDER, tape, stand.boxes], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True,
                                    env={**os.environ, "LD_LIBRARY_PATH": stage.SIM_DIR})
        recorder.stdin.write(json.dumps(header) + "\n")
        recorder.stdin.close()
        recorder.stdout.readline()
        command = [stage.RANKWATCH, "run", "--keep-boxes", "all", "--json", "--kernel-log",
                   environment["SIM_KERNEL_LOG"], "--",
                   *stage.demo_workload(scenario, *(SAME if more_late_steps else []))]
        if scenario["script"]:
            command = stage.under(scenario["script"], *command)
        run = stand.start(*command, **environment)
        stage.wait_until(lambda: run.popen.poll() is not None or is_known(scenario, run.out.json()),
                         2 * scenario["duration_s"] + 60)
        enough = late_steps(stand) + more_late_steps
        stage.wait_until(lambda: run.popen.poll() is not None or late_steps(stand) >= enough,
                         2 * scenario["duration_s"] + 60)
        if run.popen.poll() is None:
            time.sleep(LONGER_S.get(scenario_name, AFTER_S))
            recorder.terminate()
        status, end_ns = run.popen.poll(), time.monotonic_ns()
        recorder.wait(30)
        for pid in stand.pids("--ranks=8"):
            stage.kill(pid)
        run.wait(30)
        # Behind the end of the tape the job was killed.
        lines = [finding for at_ns, finding in run.out.json() if finding.get("schema") == 1 and at_ns <= end_ns]
        events, said = stand.events(), run.err.text()
    if status == 77:
        print(f"skipped: {name}: the fault cannot be made here: {said}")
        return None
    begins_ns = header_of(tape)["begins_ns"]
    for event in events:
        event["at_ms"] = round((event.pop("monotonic_ns") - begins_ns) / 1e6, 1)
    kept = [event for event in events if event["event"] in ("fault", "late_step")]
    return lines, [{key: value for key, value in event.items() if key != "pid"} for event in kept]


def make(name, directory, more_late_steps=0):
    """Records into that directory: (expectation, findings of the live run); None: skipped."""
    tape, expected = paths(name, directory)
    performed = perform(name, tape, more_late_steps)
    if not performed:
        return None
    live, events = performed
    old = json.loads(paths(name)[1].read_text()) if paths(name)[1].exists() else {}
    expectation = {"events": events, "levels": {level: play(tape, level) for level in LEVELS}}
    expectation = {**{key: old[key] for key in ("expected_to_fail", "limits") if old.get(key)}, **expectation}
    expected.write_text(json.dumps(expectation, indent=1, ensure_ascii=False) + "\n")
    return expectation, live


def answers(names):
    for name in names:
        tape, expected = paths(name)
        expectation = json.loads(expected.read_text())
        expectation["levels"] = {level: play(tape, level) for level in LEVELS}
        expected.write_text(json.dumps(expectation, indent=1, ensure_ascii=False) + "\n")
    return 0


def compare_outlines(failures, name, what, first, second):
    one, other = verdict.outline(first), verdict.outline(second)
    failures.check(one == other, f"{name}: {what} say the same" + ("" if one == other else f": {one} and {other}"))


def live_and_tape(failures, name, live, expectation):
    compare_outlines(failures, name, "the live run and its tape", live, expectation["levels"]["ebpf"])


def judge(failures, name, expectation, in_time=True):
    import stage
    scenario = stage.scenarios()[variant(name)[0]]
    for level in LEVELS:
        check_level(failures, name, scenario, expectation, level, expectation["levels"][level], in_time)


def record(names):
    failures = Failures()
    for name in names:
        with tempfile.TemporaryDirectory(prefix="rankwatch-tapes.") as scratch:
            before = failures.count
            made = make(name, pathlib.Path(scratch))
            if not made:
                continue
            expectation, live = made
            live_and_tape(failures, name, live, expectation)
            judge(failures, name, expectation)
            old = paths(name)[1]
            shown = old if old.exists() else "/dev/null"
            subprocess.run(["diff", "-u", shown, paths(name, pathlib.Path(scratch))[1]])
            if failures.count > before:
                rejected = pathlib.Path(tempfile.mkdtemp(prefix="rankwatch-rejected."))
                for new in paths(name, pathlib.Path(scratch)):
                    (rejected / new.name).write_bytes(new.read_bytes())
                print(f"{name}: not replaced; what was recorded lies in {rejected}")
                continue
            for new, place in zip(paths(name, pathlib.Path(scratch)), paths(name)):
                place.write_bytes(new.read_bytes())
            print(f"{name}: {paths(name)[0].stat().st_size} bytes", flush=True)
    return failures.count


def again(names):
    failures = Failures()
    for name in names:
        with tempfile.TemporaryDirectory(prefix="rankwatch-tapes.") as scratch:
            made = make(name, pathlib.Path(scratch))
            if not made:
                continue
            old = json.loads(paths(name)[1].read_text())
            judge(failures, name, made[0])
            for level in set(LEVELS) - set(old.get("expected_to_fail") or {}):
                compare_outlines(failures, name, f"the tape and a new one, at level {level},", old["levels"][level],
                                 made[0]["levels"][level])
    return failures.count


def same(name):
    failures = Failures()
    with tempfile.TemporaryDirectory(prefix="rankwatch-tapes.") as scratch:
        made = make(name, pathlib.Path(scratch), SAME_LATE_STEPS)
        if not made:
            return 77
        live_and_tape(failures, name, made[1], made[0])
        judge(failures, name, made[0], in_time=False)  # other tests ran beside it: the demos judge times
    return min(failures.count, 1)


def main(command, *names):
    if command == "check":
        sys.exit(min(check(*names), 1))
    if command == "answers":
        sys.exit(answers(names))
    if os.geteuid() or not RECORDER:
        print("skipped: recording needs root, and a build with eBPF")
        sys.exit(77)
    neutral_host()
    with tempfile.TemporaryDirectory(prefix="rankwatch-build.") as build:
        neutral_build(pathlib.Path(build))
        if command == "same":
            sys.exit(same(*names))
        known = sorted(path.stem for path in HERE.glob("*.tape"))
        sys.exit(min({"record": record, "again": again}[command](names or known), 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
