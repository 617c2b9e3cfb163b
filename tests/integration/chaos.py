#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Healthy jobs under `rankwatch run`, one after the other, while whatever is rankwatch's is struck at random: its
processes are killed and stopped, its file systems fill up, the time of day jumps, others ask and are killed while they
do; meanwhile every rank forks, executes, and loads and unloads the plugin (chaos_guest.c). Every job has the result
that it has without rankwatch, no rank is accused, and nothing is left behind. Where something could be told of the
machine itself, as that ranks wait for a CPU, it may be. chaos.py GUEST [SECONDS]; RANKWATCH_TEST_SEED: the same strikes
again, as far as processes that race allow it."""

import json
import mmap
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time

import stage

INSIDE = "RANKWATCH_CHAOS_INSIDE"
MESHES = {"fsdp": ("--ranks=4",), "tp": ("--mesh=fsdp=2,tp=2",), "pipeline": ("--mesh=pp=2,fsdp=2",),
          "ddp": ("--mesh=ddp=4", "--run-ahead=2")}
STEPS = 120
SIZES = (f"--steps={STEPS}", "--elements=4096", "--limit=150")
ENDS = ("by itself",) * 4 + ("run is killed", "run is asked to end", "all is killed")
BOXES_SIZE, FINDINGS_SIZE = 256 << 20, 256 << 10


class Clock:
    """The time of day of everything in the play, beside the machine's."""

    def __init__(self, path):
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8)

    def set(self, seconds):
        struct.pack_into("<q", self.map, 0, seconds)


class Chaos:
    def __init__(self, play, dice):
        self.play, self.dice = play, dice
        self.clock = Clock(play.dir / "clock")
        self.findings = play.dir / "small"
        self.job = None
        self.counts = {}
        self.strikes = [self.kill_collector, self.stop_collector, self.end_collector, self.stop_run, self.fill_boxes,
                        self.fill_findings,
                        self.jump, self.jump, self.ask, self.ask]

    def signal_for_a_while(self, pid):
        stage.kill(pid, signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.05, 4.0))
        stage.kill(pid, signal.SIGCONT)

    def kill_collector(self):
        for pid in self.play.pids("collect"):
            stage.kill(pid)

    def stop_collector(self):
        for pid in self.play.pids("collect")[:1]:
            self.signal_for_a_while(pid)

    def end_collector(self):
        for pid in self.play.pids("collect"):
            stage.kill(pid, signal.SIGTERM)

    def stop_run(self):
        if self.job.popen.poll() is None:
            self.signal_for_a_while(self.job.popen.pid)

    def fill(self, directory):
        file = directory / "full"
        try:
            with file.open("wb", buffering=0) as out:
                while True:
                    out.write(bytes(1 << 16))
        except OSError:
            time.sleep(self.dice.uniform(0.1, 3.0))
        file.unlink()

    def fill_boxes(self):
        self.fill(self.play.boxes)

    def fill_findings(self):
        self.fill(self.findings)

    def jump(self):
        self.clock.set(self.dice.choice((-1, 1)) * int(10 ** self.dice.uniform(0, 7)))

    def ask(self):
        """Whatever is asked, and whenever it is killed, nobody dies of a signal of its own."""
        command = self.dice.choice((("report", self.play.boxes), ("report", "--json", self.play.boxes), ("ls",),
                                    ("dump", self.play.boxes),
                                    ("findings", "--json", "--job", self.name),
                                    ("trace", "-o", self.play.dir / "trace", self.play.boxes)))
        process = self.start(stage.RANKWATCH, *command)
        try:
            status = process.popen.wait(self.dice.choice((0.05, 20)))
            if status < 0:
                self.wrong(f"{command} died of signal {-status}: {process.err.text()}")
        except subprocess.TimeoutExpired:
            stage.kill(process.popen.pid)
            process.popen.wait()

    def wrong(self, what):
        self.faults.append(what)

    def start(self, *arguments, **more):
        return self.play.start(*arguments, LD_PRELOAD=GUEST, CHAOS_CLOCK=self.play.dir / "clock", **more)

    def strike_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.job.popen.poll() is None:
            time.sleep(self.dice.uniform(0.05, 1.5))
            strike = self.dice.choice(self.strikes)
            self.counts[strike.__name__] = self.counts.get(strike.__name__, 0) + 1
            strike()

    def finish(self, how):
        if how == "run is killed":
            stage.kill(self.job.popen.pid)
        elif how == "run is asked to end":
            stage.kill(self.job.popen.pid, signal.SIGTERM)
        elif how == "all is killed":
            pids = self.play.pids()
            self.dice.shuffle(pids)
            for pid in pids:
                stage.kill(pid)

    def begin(self, number, mesh):
        self.name, self.faults = f"chaos-{number}", []
        self.file = self.findings / f"{number}.jsonl"
        self.job = self.start(stage.RANKWATCH, "run", "--job", self.name, "--findings", self.file, "--",
                              *stage.workload(*SIZES, *MESHES[mesh], f"--step-ms={self.dice.choice((20, 60, 120))}"),
                              CHAOS_PLUGIN=f"{stage.PLUGIN_DIR}/{stage.PLUGIN}",
                              CHAOS_SEED=str(self.dice.randrange(1 << 30)),
                              RANKWATCH_MESH=None)


def accusations(lines):
    """What is said of a healthy job beside that it is crowded."""
    found = []
    for line in lines:
        try:
            finding = json.loads(line)
        except ValueError:  # cut where the disk was full
            continue
        if isinstance(finding, dict) and finding.get("state") != "closed" and \
                finding.get("severity") in ("warning", "critical") and \
                (finding.get("cause") or {}).get("class") != "cpu":
            found.append(finding["text"])
    return found


def result_of(lines):
    for line in lines:
        if '"checksum"' in line:
            return json.loads(line)["checksum"]
    return None


def play_round(failures, chaos, number, expected):
    mesh, how = chaos.dice.choice(list(MESHES)), chaos.dice.choice(ENDS)
    chaos.begin(number, mesh)
    chaos.strike_for(8 if how != "by itself" else 120)
    if chaos.job.popen.poll() is not None:
        how = "by itself"
    chaos.finish(how)
    name = f"round {number}, {mesh}, {how}"
    status = chaos.job.wait(120)
    gone = stage.wait_until(lambda: not chaos.play.pids(), 60, 0.1)
    if not failures.check(gone, f"{name}: no process is left"):
        subprocess.run(["ps", "-o", "pid,ppid,stat,etime,wchan,args", *map(str, chaos.play.pids())])
        chaos.play.kill_everything()
    said = chaos.job.err.text()
    result = result_of(line for _, line in chaos.job.out.lines)
    ended = status == (-signal.SIGKILL if how == "run is killed" else 0)
    right = (ended and result == expected[mesh]) or how in ("run is asked to end", "all is killed")
    failures.check(right, f"{name}: status {status}, result {result}, without rankwatch {expected[mesh]}")
    accused = accusations(chaos.file.read_text().splitlines()) if chaos.file.exists() else []
    failures.check(not accused, f"{name}: nobody is accused {accused or ''}")
    failures.check(not chaos.faults, f"{name}: whoever is asked answers or is killed {chaos.faults or ''}")
    failures.check("chaos:" not in said and not re.search(r"ended by signal (4|6|7|8|11) ", said),
                   f"{name}: nobody crashes or hangs")
    if not right or accused or chaos.faults:
        print("    " + said.replace("\n", "\n    "))


def left_behind(play):
    """Everything in rankwatch's places but black boxes, whose number has a limit of its own, the two marks beside them,
    and locks, which belong to nobody."""
    places = (play.boxes, play.runtime, pathlib.Path("/run/rankwatch"))
    return [str(path) for place in places for path in place.rglob("*")
            if not path.is_dir() and not re.fullmatch(r".*\.rwbox|.*\.lock|run\.findings|run\.failed", path.name)]


def main(seconds):
    seed = int(os.environ.get("RANKWATCH_TEST_SEED", random.randrange(1 << 30)))
    print(f"RANKWATCH_TEST_SEED={seed}", flush=True)
    failures = stage.Failures()
    with stage.Stage() as play:
        chaos = Chaos(play, random.Random(seed))
        chaos.findings.mkdir()
        for directory, size in ((play.boxes, BOXES_SIZE), (chaos.findings, FINDINGS_SIZE)):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", directory], check=True)
        expected = {}
        for mesh, arguments in MESHES.items():
            alone = play.start(*stage.workload(*SIZES, *arguments, "--step-ms=0"))
            alone.wait(150)
            expected[mesh] = result_of(line for _, line in alone.out.lines)
        failures.check(all(expected.values()), f"the jobs alone: {expected}")
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            number += 1
            play_round(failures, chaos, number, expected)
        chaos.clock.set(0)
        last = chaos.start(stage.RANKWATCH, "run", "--", *stage.workload("--ranks=2", "--steps=3", "--step-ms=20"))
        failures.check(last.wait(60) == 0, "a job after all that")
        stage.wait_until(lambda: not play.pids(), 20)
        print(f"{number} jobs; strikes: {chaos.counts}")
        failures.check(not left_behind(play), f"nothing is left behind: {left_behind(play)}")
        boxes = [path for path in play.boxes.rglob("*.rwbox")]
        print(f"{len(boxes)} black boxes of jobs that were not seen to end well, "
              f"{sum(path.stat().st_blocks for path in boxes) >> 11} MiB")
    failures.end()


if __name__ == "__main__":
    stage.need_mount_namespace()
    if not stage.ROOT:
        stage.skip("file systems of its own are root's to mount")
    if os.environ.get(INSIDE) != "yes":
        os.environ[INSIDE] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    GUEST = sys.argv[1]
    main(float(sys.argv[2]) if len(sys.argv) > 2 else 600)
