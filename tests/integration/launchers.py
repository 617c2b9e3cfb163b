#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several launchers of one job on one node, as `srun rankwatch run -- …` starts them: one line of one of them says how
the ranks are watched and where findings go, whatever comes first of what the collector tells them."""

import json
import pathlib
import socket
import threading

import stage

SIGHT = {"watching": {"level": "proc", "below": "proc", "processes": 2, "with_ebpf": 0, "helper": False, "why": None}}
MUTED, HEARD = {"muted": True}, {"muted": False}
# What a collector sends behind its hello, and how many lines of the launcher name the job and say where findings go.
WORDS = [
    ("the first launcher", [HEARD, SIGHT], 1),
    ("the first launcher, whose ranks are seen at once", [SIGHT, HEARD], 1),
    ("another one", [MUTED, SIGHT], 0),
    ("another one that came just when the ranks did", [SIGHT, MUTED], 0),
    ("another one, and the first one leaves", [SIGHT, MUTED, HEARD], 0),
    ("the only one, whose job is over at once", [SIGHT], 1),
]


class Collector:
    """Says hello to one launcher and then these words, and serves it until it leaves."""

    def __init__(self, path, job, words):
        self.lines = [{"hello": {"protocol": 1, "job": job, "pid": 1, "open": 0, "directory": ""}}, *words]
        self.path, self.server = path, socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(4)
        self.said, self.over = threading.Event(), threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.server.accept()
                client.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in self.lines))
                for line in client.makefile():
                    if "join" in json.loads(line):
                        self.said.set()
                    if "leave" in json.loads(line):
                        client.sendall(json.dumps({"summary": {"last": MUTED not in self.lines}}).encode() + b"\n")
            except OSError:
                return

    def close(self):
        self.path.unlink(missing_ok=True)
        self.server.close()


def starts(text):
    return [line for line in text.splitlines() if "watching 2 ranks" in line]


def path_of(play):
    """Where a launcher looks for the collector of its job."""
    directory = pathlib.Path("/run/rankwatch") if stage.ROOT else play.runtime
    directory.mkdir(mode=0o755, exist_ok=True)
    return directory / (f"{play.dir.name}.socket" if stage.ROOT else f"rankwatch-{play.dir.name}.sock")


def told(failures, what, words, expected):
    with stage.Stage() as play:
        collector = Collector(path_of(play), play.dir.name, words)
        try:
            # The job ends when the launcher has heard all words.
            launcher = play.start(stage.RANKWATCH, "run", "--", "sh", "-c", 'while [ ! -e "$0" ]; do sleep .1; done',
                                  play.dir / "over",
                                  RANKWATCH_DIR=None)
            heard = collector.said.wait(30)
            (play.dir / "over").touch()
            launcher.wait(30)
            text = launcher.err.text()
            failures.check(heard and len(starts(text)) == expected,
                           f"{what} says it {expected} time(s): {starts(text)}")
            failures.check(all("come here" in line or "findings" not in line for line in starts(text)),
                           "and that findings come here")
        finally:
            collector.close()


class EndingCollector(Collector):
    """It hears the launcher no more when that has joined, as one that is ending, and has its last words yet to say."""

    def serve(self):
        client, _ = self.server.accept()
        client.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in self.lines))
        client.recv(1000)
        client.shutdown(socket.SHUT_RD)
        self.said.set()
        self.over.wait(30)
        client.sendall(json.dumps({"summary": {"last": True, "ranks_seen": 2, "ranks_total": 2}}).encode() + b"\n")
        client.close()


def ended_together(failures):
    """A scheduler that cancels a job ends its collector at the same time: what that says last is told, also when it
    hears nothing any more."""
    with stage.Stage() as play:
        collector = EndingCollector(path_of(play), play.dir.name, [HEARD, SIGHT])
        try:
            launcher = play.start(stage.RANKWATCH, "run", "--", "sh", "-c",
                                  'while [ ! -e "$0" ]; do sleep .1; done; exit 3', play.dir / "over",
                                  RANKWATCH_DIR=None)
            heard = collector.said.wait(30)
            (play.dir / "over").touch()
            # A launcher that did not wait for the last words would have ended by then.
            stage.wait_until(lambda: launcher.popen.poll() is not None, 1)
            collector.over.set()
            launcher.wait(30)
            text = launcher.err.text()
            failures.check(heard and "2 of 2 ranks" in text,
                           f"the last words of a collector that is ended with the job: {text}")
        finally:
            collector.close()


def lives(play):
    return [play.start(stage.RANKWATCH, "run", "--",
                       *stage.workload("--ranks=2", "--steps=100", "--step-ms=60", "--elements=1024"),
                       WORKLOAD_EVENTS=None) for _ in range(4)]


def of_one_job(failures):
    """Four launchers of one name, each with a small job of its own below it."""
    with stage.Stage() as play:
        launchers = lives(play)
        for launcher in launchers:
            launcher.wait(90)
        said = [[line for line in launcher.err.text().splitlines() if f"job {play.dir.name}" in line
                 and "watching" in line] for launcher in launchers]
        failures.check(sum(map(len, said)) == 1, f"four launchers, one line: {said}")


def main():
    failures = stage.Failures()
    for what, words, expected in WORDS:
        told(failures, what, words, expected)
    ended_together(failures)
    of_one_job(failures)
    failures.end()


if __name__ == "__main__":
    main()
