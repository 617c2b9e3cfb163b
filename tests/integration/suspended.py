#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job that is stopped as a whole, as a scheduler does it, by signals and by the freezer. First one rank, and then the
others, when they have come to an operation and wait in it as they do on a GPU: nobody is reported, and the job goes on.
One that is stopped alone is reported as that."""

import os
import pathlib
import re
import signal
import time

import stage

RANKS, FIRST = 8, 1
WORKLOAD = (f"--ranks={RANKS}", "--steps=40", "--step-ms=200", "--elements=1024", "--limit=120")
STEPS = 12  # so many have ended before anything is stopped: how long one takes is known
STOPPED_S = 6  # all: a rank that is stopped alone is reported 3 s later
SEEN_MS = 1500  # a step, and how long after a signal threads of a busy machine stop and go on
PATIENCE_S = 30  # for what a collector sees, on a machine that is busy with other tests


def view(play):
    """What the collector of the job shows; {} where none answers."""
    top = play.start(stage.RANKWATCH, "top", "--once", "--json", "--job", play.dir.name)
    top.wait(20)
    return next((value for _, value in top.out.json() if "ranks" in value), {})


def ranks(play, holds):
    """Of how many ranks it holds."""
    shown = view(play)
    return sum(holds(rank, shown["unix_ms"]) for rank in shown.get("ranks", ()))


def has_begun(play):
    return stage.wait_until(lambda: view(play).get("job", {}).get("steps", 0) >= STEPS,
                            PATIENCE_S) and len(play.events("start")) == RANKS


def others_wait(play):
    """They have called nothing for as long as a step takes and longer, so they wait for the first one."""
    calls = []

    def stand_still():
        calls.append([rank["operations"] for rank in view(play).get("ranks", ())])
        return len(calls) > 1 and calls[-1] and calls[-1] == calls[-2]

    return stage.wait_until(stand_still, PATIENCE_S, 0.3)


def all_stopped(play):
    """And have been for a while, as the collector sees it."""
    return stage.wait_until(lambda: ranks(play, lambda rank, now_ms: rank["life"] == "stopped" and
                                          now_ms - rank["since_unix_ms"] >= 1000 * STOPPED_S) == RANKS, PATIENCE_S)


def reported(job):
    """Above notices."""
    return [(value["kind"], value["ranks"], value["text"]) for _,
            value in job.out.json() if value.get("severity", "notice") != "notice"]


class Signals:
    name = "stopped by signals"

    def stop(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    def go_on(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def play_with_collector(failures):
    """The collector is stopped with the job, and goes on before one of the ranks does: it has waited for that one,
    too."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*WORKLOAD))
        if not failures.check(has_begun(play), "with the collector: the job starts"):
            return
        pids = {event["rank"]: event["pid"] for event in play.events("start")}
        others = [pid for rank, pid in pids.items() if rank != FIRST]
        collectors = [pid for pid in play.pids() if os.readlink(f"/proc/{pid}/exe") == stage.RANKWATCH]
        way = Signals()
        way.stop([pids[FIRST]])
        failures.check(others_wait(play), "with the collector: the others wait")
        way.stop(others + collectors)
        time.sleep(STOPPED_S)
        way.go_on(others + collectors)
        time.sleep(0.4)
        way.go_on([pids[FIRST]])
        failures.check(collectors and job.wait(90) == 0, f"with the collector: the job ends well: {job.err.text()}")
        said = reported(job)
        failures.check(not said, f"with the collector: nobody is reported: {said}")


class Freezer:
    """Of cgroup v1, or v2."""

    name = "frozen"
    roots = [(pathlib.Path("/sys/fs/cgroup/freezer"), "freezer.state", "FROZEN", "THAWED"),
             (pathlib.Path("/sys/fs/cgroup"), "cgroup.freeze", "1", "0")]

    def __init__(self):
        """Raises OSError where there is none to be had."""
        self.groups = []
        for root, self.state, self.frozen, self.thawed in self.roots:
            self.root = root / f"rankwatch-test-{os.getpid()}"
            try:
                self.root.mkdir()
            except OSError:
                continue
            if (self.root / self.state).exists():
                return
            self.root.rmdir()
        raise OSError("no freezer")

    def stop(self, pids):
        group = self.root / str(len(self.groups))
        group.mkdir()
        self.groups.append(group)
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        (group / self.state).write_text(self.frozen)

    def go_on(self, _):
        for group in self.groups:
            (group / self.state).write_text(self.thawed)

    def remove(self):
        self.go_on(None)
        for group in [*self.groups, self.root]:
            group.rmdir()


def check_account(failures, way, play, job, alone_s):
    """The others waited for the first one for as long as it was stopped alone. Of the rest that is nobody's doing."""
    report = play.start(stage.RANKWATCH, "report", play.boxes)
    report.wait(30)
    for what, text in (("the summary", job.err.text()), ("a report", " ".join(report.out.text().split()))):
        waited = sum(int(ms) for ms in re.findall(rf"for rank {FIRST}: .*?(\d+) ms in each", text))
        failures.check(waited <= 1000 * alone_s + SEEN_MS,
                       f"{way.name}, all: {what} says {waited} ms of {alone_s:.1f} s: {text}")


def stop_for_a_while(failures, way, more):
    """What is reported, above notices, when the first is stopped, and those that `more` chooses of the others."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--",
                         *stage.workload(*WORKLOAD), RANKWATCH_GPU_TIME="watermark" if more else None)
        if not failures.check(has_begun(play), f"{way.name}: the job starts"):
            return []
        pids = {event["rank"]: event["pid"] for event in play.events("start")}
        alone_s = time.monotonic()
        way.stop([pids[FIRST]])
        failures.check(others_wait(play), f"{way.name}: the others wait")
        way.stop([pid for rank, pid in pids.items() if rank != FIRST and more])
        alone_s = time.monotonic() - alone_s
        if more:
            failures.check(all_stopped(play), f"{way.name}: all are seen to be stopped")
        else:
            stage.wait_until(lambda: reported(job), PATIENCE_S)
        way.go_on(pids.values())
        failures.check(job.wait(90) == 0, f"{way.name}: the job ends well: {job.err.text()}")
        if more:
            check_account(failures, way, play, job, alone_s)
        return reported(job)


def play(failures, way):
    said = stop_for_a_while(failures, way, True)
    failures.check(not said, f"{way.name}, all: nobody is reported: {said}", always=True)
    said = stop_for_a_while(failures, way, False)
    failures.check(said and {(kind, *ranks) for kind, ranks, _ in said} == {("gone", FIRST)},
                   f"{way.name}, one: it is reported: {said}")
    failures.check(all("was stopped" in text for _, _, text in said), f"{way.name}, one: as stopped: {said}")


def main():
    failures = stage.Failures()
    play(failures, Signals())
    play_with_collector(failures)
    try:
        freezer = Freezer()
    except OSError:
        print("skipped: no control group can be frozen here")
        failures.end()
    try:
        play(failures, freezer)
    finally:
        freezer.remove()
    failures.end()


if __name__ == "__main__":
    main()
