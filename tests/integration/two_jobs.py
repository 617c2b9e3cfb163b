#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two runs of one job name: when their black boxes lie in different directories, neither tells what the other's ranks
do; when one follows the other, each has a collector of its own."""

import json
import pathlib
import socket

import stage

SIZES = ("--ranks=4", "--elements=1024", "--step-ms=20")
ELSEWHERE = "collects another job named"


def summary(job):
    return [line for line in job.err.text().splitlines() if "ranks" in line or "recorded" in line]


def findings(job):
    return [value["text"] for _, value in job.out.json() if value.get("kind")]


class Launcher:
    """A client of the collector that a launcher of this stage's job would talk to."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(10)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.lines = self.socket.makefile("r")
        self.job = json.loads(self.lines.readline())["hello"]["job"]

    def send(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def summary(self):
        for line in self.lines:
            if "summary" in (message := json.loads(line)):
                return message["summary"]
        return None


def find_collector(play):
    """(path, launcher) of the collector of this stage's job; None. It has a path of its own, or the one that all share;
    no other is asked: other tests stop their collectors, which then do not answer."""
    directory = pathlib.Path("/run/rankwatch") if stage.ROOT else play.runtime
    own, shared = (f"{play.dir.name}*socket", "socket") if stage.ROOT else (f"rankwatch-{play.dir.name}*.sock",
                                                                            "rankwatch.sock")
    for path in (*directory.glob(own), *directory.glob(shared)):
        try:
            launcher = Launcher(path)
        except OSError:
            continue
        if launcher.job == play.dir.name:
            return path, launcher
        launcher.socket.close()
    return None


def lets_in(path, job):
    try:
        launcher = Launcher(path)
    except OSError:
        return False
    launcher.socket.close()
    return launcher.job == job


def one_after_the_other(failures):
    """Who comes when the last launcher has its summary comes too late, however long it takes the collector to end: it
    would get the ranks of both."""
    with stage.Stage() as play:
        collector = play.start(stage.RANKWATCH, "collect", "--until-idle", "--quiet")
        found = stage.wait_until(lambda: find_collector(play), 30)
        if not failures.check(found, "a collector answers"):
            return
        path, launcher = found
        launcher.send(join="run")
        launcher.send(leave="run")
        summary = launcher.summary()
        failures.check(summary and summary["last"], f"it was the last launcher: {summary}")
        failures.check(not lets_in(path, play.dir.name), "nobody else is let in")
        failures.check(collector.wait(20) == 0, "the collector ends, also while a client stays")


def main():
    failures = stage.Failures()
    one_after_the_other(failures)
    with stage.Stage() as play, stage.Stage() as beside:
        other = beside.boxes
        first = play.start(stage.RANKWATCH, "run", "--findings", "-", "--",
                           *stage.workload("--ranks=4", "--steps=100000", "--step-ms=80", "--elements=1024",
                                           "--fault=never",
                                           "--fault-rank=2", "--fault-step=6", "--limit=20"))
        failures.check(stage.wait_until(lambda: findings(first), 30), "the first job's collector tells its hang")
        second = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*SIZES, "--steps=100"),
                            RANKWATCH_DIR=str(other), WORKLOAD_EVENTS=None)
        failures.check(second.wait(60) == 0, "the second job ended")
        failures.check(not findings(second), f"it tells nothing of the first: {findings(second)}")
        failures.check(second.err.text().count(ELSEWHERE) == 1, "one line says why")
        failures.check(any(str(other) in line and "recorded" in line for line in summary(second)),
                       f"its end says where it was recorded: {summary(second)}")
        own = play.start(stage.RANKWATCH, "run", "--job", play.dir.name + "-2", "--",
                         *stage.workload(*SIZES, "--steps=100"),
                         RANKWATCH_DIR=str(other), WORKLOAD_EVENTS=None)
        own.wait(60)
        failures.check(any("4 of 4 ranks" in line for line in summary(own)),
                       f"with a name of its own it is watched: {summary(own)}")
        first.wait(60)
        failures.check(any("4 of 4 ranks" in line for line in summary(first)),
                       f"the first was watched alone: {summary(first)}")
        if failures.count:
            print(second.err.text(), own.err.text(), first.err.text())
    failures.end()


if __name__ == "__main__":
    main()
