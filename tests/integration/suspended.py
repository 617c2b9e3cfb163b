#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job that is stopped as a whole, as a scheduler does it, by signals and by the freezer. First one rank, and a second later
the others, which have come to an operation by then and wait in it as they do on a GPU: nobody is reported, and the job goes on.
One that is stopped alone is reported as that."""

import os
import pathlib
import signal
import time

import stage

RANKS, FIRST = 8, 1
WORKLOAD = (f"--ranks={RANKS}", "--steps=40", "--step-ms=200", "--elements=1024", "--limit=90")
BEFORE_S, BETWEEN_S, STOPPED_S = 4, 1, 7  # a rank that is stopped alone is reported 3 s later, …
REPORTED_S = 30  # … or after so long, at most, on a machine that is busy with other tests


def has_begun(play):
    return stage.wait_until(lambda: len(play.events("start")) == RANKS, 30)


def reported(job):
    """Above notices."""
    return [(value["kind"], value["ranks"], value["text"]) for _, value in job.out.json() if value.get("severity", "notice") != "notice"]


class Signals:
    name = "stopped by signals"

    def stop(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    def go_on(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def play_with_collector(failures):
    """The collector is stopped with the job, and goes on before one of the ranks does: it has waited for that one, too."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*WORKLOAD))
        if not failures.check(has_begun(play), "with the collector: the job starts"):
            return
        pids = {event["rank"]: event["pid"] for event in play.events("start")}
        others = [pid for rank, pid in pids.items() if rank != FIRST]
        collectors = [pid for pid in play.pids() if os.readlink(f"/proc/{pid}/exe") == stage.RANKWATCH]
        time.sleep(BEFORE_S)
        way = Signals()
        way.stop([pids[FIRST]])
        time.sleep(0.4)
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


def stop_for_a_while(failures, way, more):
    """What is reported, above notices, when the first is stopped, and those that `more` chooses of the others."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*WORKLOAD))
        if not failures.check(has_begun(play), f"{way.name}: the job starts"):
            return []
        pids = {event["rank"]: event["pid"] for event in play.events("start")}
        time.sleep(BEFORE_S)
        way.stop([pids[FIRST]])
        time.sleep(BETWEEN_S)
        way.stop([pid for rank, pid in pids.items() if rank != FIRST and more])
        if more:
            time.sleep(STOPPED_S)
        else:
            stage.wait_until(lambda: reported(job), REPORTED_S)
        way.go_on(pids.values())
        failures.check(job.wait(90) == 0, f"{way.name}: the job ends well: {job.err.text()}")
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
