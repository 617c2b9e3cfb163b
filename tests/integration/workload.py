#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workload and its slow machines by themselves: faults do to the job what they say, the result does not depend on
them, and a slow disk leaves nothing behind. The other tests take this for granted."""

import pathlib
import re
import time

import stage

SIZES = ("--ranks=4", "--steps=8", "--step-ms=100", "--elements=512", "--fault-step=3", "--fault-rank=2")
# kind: (options, status, late steps, least and most ms late)
DELAYS = {
    "none": ((), 0, 0, 0, 0),
    "lock": ((), 0, 6, 950, 1200),
    "hog": (("--host-ms=15",), 0, 5, 100, 3000),
    "quota": (("--host-ms=15",), 0, 5, 100, 3000),
    "convoy": ((), 0, 6, 250, 3000),
    "loader": ((), 0, 6, 795, 1100),
    "loader-tcp": ((), 0, 6, 795, 1100),
    "gpu": ((), 0, 6, 50, 260),
    "together": ((), 0, 0, 0, 0),
    "jitter": ((), 0, 0, 0, 0),
    "run-ahead": (("--run-ahead=2",), 0, 0, 0, 0),
}
ENDS = {
    "kill": (("--grace=1",), 137), "exit": (("--grace=1",), 3), "stop": (("--limit=3",), 124),
    "never": (("--limit=3",), 124), "segfault": (("--grace=1",), 139), "abort": (("--grace=1",), 134),
    "oom": (("--grace=1",), 137), "trace": (("--limit=3",), 124), "main-ends": (("--limit=3",), 124),
    "spin": (("--limit=3",), 124),
}


def check_late(failures, kind, play, count, least, most):
    late = [event["late_ms"] for event in play.events("late_step") if event["rank"] == 2]
    # A single step may be less late: where a quota's period or a writer's queue ends just then.
    failures.check(sum(ms >= least for ms in late) >= count and all(ms <= most for ms in late),
                   f"{kind}: {len(late)} late steps, at least {count} of {least} ms and none of more than {most}: "
                   f"{late}")
    failures.check(len(late) == len(play.events("late_step")), f"{kind}: no other rank is late")


def check_delays(failures):
    checksums = set()
    for kind, (options, status, count, least, most) in DELAYS.items():
        with stage.Stage() as play:
            job = play.start(*stage.workload(*SIZES, f"--fault={kind}", *options))
            ended = job.wait(60)
            if ended == 77:
                print(f"skipped: {job.err.text()}")
                continue
            failures.check(ended == status, f"{kind}: status {ended} {job.err.text()}")
            checksums.add((stage.job_result(job) or {}).get("checksum"))
            check_late(failures, kind, play, count, least, most)
    failures.check(len(checksums) == 1 and None not in checksums, f"one result whatever happened: {checksums}")


def check_ends(failures):
    for kind, (options, status) in ENDS.items():
        with stage.Stage() as play:
            job = play.start(*stage.workload(*SIZES, f"--fault={kind}", *options))
            ended = job.wait(60)
            if ended == 77:
                print(f"skipped: {job.err.text()}")
                continue
            failures.check(ended == status, f"{kind}: status {ended}, expected {status}")
            failures.check([(event["rank"], event["step"]) for event in play.events("fault")] == [(2, 3)],
                           f"{kind}: the fault is in its log")
            failures.check(not play.pids(), f"{kind}: nothing of the job is left")


def leftovers(script):
    """What this script could leave: mounts, throttled devices, swap, network namespaces."""
    mounts = [line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if f"rankwatch-{script}" in line]
    throttle = pathlib.Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
    links = [path.name for path in pathlib.Path("/sys/class/net").iterdir() if path.name.startswith("rwlink")]
    return {
        "slow-disk": mounts + (throttle.read_text().splitlines() if throttle.exists() else []),
        "slow-swap": pathlib.Path("/proc/swaps").read_text().splitlines()[1:],
        "slow-link": links,
    }[script]


def check_cgroups(failures):
    """The launcher removes its rank's group, and the next job that of a launcher that was killed."""
    def groups():
        return [str(path) for path in pathlib.Path("/sys/fs/cgroup/cpu").glob("**/rankwatch-workload-*")]

    before = groups()
    with stage.Stage() as play:
        quota = stage.workload(*SIZES, "--steps=1000", "--fault=quota", "--host-ms=15")
        killed = play.start(*quota)
        if not stage.wait_until(lambda: play.events("late_step"), 20):
            print(f"skipped: no cgroup: {killed.err.text() if killed.popen.poll() is not None else 'the job hangs'}")
            return
        stage.kill(killed.popen.pid)
        failures.check(stage.wait_until(lambda: not play.pids("--fault=quota"), 5), "its ranks end with the launcher")
        play.start(*stage.workload(*SIZES, "--fault=quota")).wait(60)
        failures.check(groups() == before, f"no cgroup of a killed job stays: {groups()}")


def check_swap(failures):
    """Where nothing can be swapped out a job with this fault is skipped before it starts."""
    if len(pathlib.Path("/proc/swaps").read_text().splitlines()) > 1:
        print("skipped: this machine has swap of its own")
        return
    with stage.Stage() as play:
        job = play.start(*stage.workload(*SIZES, "--fault=swap", "--log-bytes=16777216"))
        failures.check(job.wait(60) == 77, f"without swap the fault cannot be made: {job.err.text()}")
        failures.check(not play.events("start"), "and no rank starts")


def check_limit_that_does_not_hold(failures):
    """Plays a kernel that takes the limit and does not keep it: this copy of the script sets none."""
    if not pathlib.Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists():
        print("skipped: no blkio controller")
        return
    before = leftovers("slow-disk")
    with stage.Stage() as play:
        for name in ("slow-disk", "undoable.bash"):
            text = pathlib.Path(stage.WORKLOAD_DIR, name).read_text()
            pathlib.Path(play.dir, name).write_text(re.sub(r"(write_bps_device\)) echo .*;;", r"\1 true ;;", text))
        pathlib.Path(play.dir, "slow-disk").chmod(0o755)
        job = play.start(play.dir / "slow-disk", "true", SLOW_DISK_METHOD="dirty")
        status, said = job.wait(60), job.err.text()
        failures.check(status == 77 and "does not hold" in said, f"a limit that does not hold is no slow disk: {said}")
        failures.check(leftovers("slow-disk") == before, f"and nothing is left of it: {leftovers('slow-disk')}")


def check_slow_disk(failures, method):
    sizes = ("--ranks=4", "--steps=6", "--step-ms=100", "--elements=512", "--fault-step=2", "--fault-rank=2")
    for kind, size in (("io-direct", 524288), ("io-fsync", 720896)):
        with stage.Stage() as play:
            job = play.start(*stage.slow_disk(*stage.workload(*sizes, f"--fault={kind}", f"--log-bytes={size}")),
                             SLOW_DISK_METHOD=method)
            status = job.wait(60)
            if status == 77:
                print(f"skipped: {method}: {job.err.text()}")
                return
            failures.check(status == 0, f"{method} {kind}: status {status} {job.err.text()}")
            check_late(failures, f"{method} {kind}", play, 2, 100, 900)


def check_nothing_left(failures, script):
    before = leftovers(script)
    with stage.Stage() as play:
        play.start(*stage.under(script, "true")).wait(20)
        failures.check(leftovers(script) == before, f"{script}: nothing is left at its end: {leftovers(script)}")
        killed = play.start(*stage.under(script, "sleep", "60"))
        if not stage.wait_until(lambda: play.pids("sleep") or killed.popen.poll() is not None,
                                10) or not play.pids("sleep"):
            print(f"skipped: {script}: {killed.err.text()}")
            return
        stage.kill(killed.popen.pid)
        failures.check(stage.wait_until(lambda: not play.pids("sleep"), 5),
                       f"{script}: its command ends when it is killed")
        time.sleep(0.2)
        play.start(*stage.under(script, "true")).wait(20)
        failures.check(leftovers(script) == before,
                       f"{script}: the next one undoes what a killed one left: {leftovers(script)}")


def main():
    failures = stage.Failures()
    check_delays(failures)
    check_ends(failures)
    for method in ("throttle", "fuse"):
        check_slow_disk(failures, method)
    for script in ("slow-disk", "slow-swap", "slow-link"):
        check_nothing_left(failures, script)
    check_limit_that_does_not_hold(failures)
    check_swap(failures)
    check_cgroups(failures)
    failures.end()


if __name__ == "__main__":
    main()
