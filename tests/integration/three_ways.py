#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""three_ways.py [NAME…]: jobs of four hosts with one rank each that are judged live over NATS, afterwards from their
black boxes as those of one machine, and as those of four machines with clocks of their own. All three name the rank at
fault and nobody else; of a job whose ranks wait for each other by turns all three tell that. Without a name: all."""

import json
import os
import re
import shutil
import subprocess
import sys

import nodes
import stage

HOSTS, FAULTY, STEP = 4, 2, 30
ANOTHER = os.environ.get("TEST_ANOTHER_BOOT")
# What is found, and whether the job goes on to its end. NCCL ends all ranks within milliseconds of one that fails: that
# it was this one no way says for sure.
JOBS = {
    "never": ({"hang"}, False),
    "kill": ({"gone"}, False),
    "segfault": ({"gone"}, False),
    "stop": ({"gone"}, False),
    "lock": ({"straggler"}, True),
    "loader": ({"straggler"}, True),
    "gpu-even": ({"straggler"}, True),
    "nan": ({"nan"}, True),
    "count": ({"desync"}, False),
    "skip": ({"desync"}, False),
    "extra": ({"desync"}, False),
    "order": ({"desync"}, False),
    "exit": ({"gone"}, False),
    "abort": ({"gone"}, False),
}
UNSURE = {"exit", "abort"}
BY_TURNS, PAUSE_MS = "by-turns", 150  # in each step another rank pauses: nobody is at fault
# What the ranks did otherwise, however many calls further they wait.
WORDS = {
    "count": "calls AllGather #350 of 512 bf16 ",
    "skip": "; it has left out AllGather of 1024 bf16",
    "extra": "; it has made one call more, AllGather of 1024 bf16",
    "order": "; it has called these two in the other order",
}


def named(found, unsure=False):
    """Who is named from a warning on, by kind."""
    return {(one["kind"], tuple(one["ranks"])) for one in found if one.get("kind") and one["severity"] != "notice" and
            (unsure or one["confidence"] != "inconclusive")}


def judge(failures, name, how, every):
    kinds, what = JOBS[name][0], f"{name}, {how}"
    found = named(every, name in UNSURE)
    right = {name for name in found if name[0] in kinds and name[1] == (FAULTY,)}
    failures.check(right, f"{what}: rank {FAULTY} is named: {sorted(found)}")
    # A machine that other tests share is slower for a while, for all ranks alike; that this is said of all of them
    # accuses nobody.
    wrong = {name for name in found if set(name[1]) - {FAULTY} and name != ("slowdown", tuple(range(HOSTS)))}
    failures.check(not wrong, f"{what}: and nobody else: {sorted(wrong)}", always=True)
    texts = [one["text"] for one in every if one.get("kind") in kinds]
    if name in WORDS:
        failures.check(texts and WORDS[name] in texts[-1], f"{what}: what it did: {texts[-1:]}")


def judge_turns(failures, how, every, said):
    what = f"{BY_TURNS}, {how}"
    failures.check(not named(every), f"{what}: nobody is named: {named(every)}", always=True)
    told = re.search(r"(\d+) % of the time by turns: (\d+) times in \d+ steps, (\d+) ms each; for rank \d \d+ times, "
                     r"rank \d \d+, rank \d \d+ and rank \d \d+ .*do .*in the same step", " ".join(said.split()))
    if failures.check(told, f"{what}: that ranks wait by turns: {told[0] if told else said}"):
        share, times, each_ms = map(int, told.groups())
        failures.check(share >= 20 and times >= 20 and abs(each_ms - PAUSE_MS) <= 40, f"{what}: and for how long")


def report_text(boxes):
    return subprocess.run([stage.RANKWATCH, "report", boxes], capture_output=True, text=True).stdout


def report(boxes):
    done = subprocess.run([stage.RANKWATCH, "report", "--json", boxes], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def all_boxes(play):
    """Of all hosts in one directory, as a shared file system has them."""
    together = play.dir / "together"
    together.mkdir()
    for host in range(HOSTS):
        for path in sorted((play.boxes / f"host-{host}").rglob("*.rwbox")):
            shutil.copyfile(path, together / path.name)
    return together


def spread(together):
    for host, path in enumerate(sorted(together.glob("*.rwbox"))):
        subprocess.run([ANOTHER, str(5000 + host * 4321.987), str(host * 700 - 2000), f"host-{host}",
                        f"{host:08d}-2222-3333-4444-555555555555", path], check=True)


def play_turns(failures):
    with stage.Stage() as play:
        server = nodes.Server(play.dir)
        job = nodes.Job(play, server, HOSTS)
        half = job.start_half("--until-idle")
        nodes.await_said(failures, half, f"hears {HOSTS} hosts", f"{BY_TURNS}: all hosts are heard")
        job.ranks = play.start(*stage.workload(f"--ranks={HOSTS}", f"--hosts={HOSTS}", f"--box-dirs={play.boxes}",
                                               "--elements=1024", "--step-ms=100", "--steps=90", "--limit=90",
                                               f"--fault={BY_TURNS}", f"--fault-ms={PAUSE_MS}"), **play.plugin())
        failures.check(job.ranks.wait(90) == 0, f"{BY_TURNS}: the job ends")
        for node in job.nodes.values():
            nodes.end(node, failures, f"{BY_TURNS}: a node's collector")
        half.wait(90)
        judge_turns(failures, "live", nodes.findings(half), half.err.text())
        together = all_boxes(play)
        judge_turns(failures, "its boxes as one machine's", report(together), report_text(together))
        spread(together)
        judge_turns(failures, f"as those of {HOSTS}", report(together), report_text(together))
        server.kill()


def play_job(failures, name):
    (kinds, goes_on), unsure = JOBS[name], name in UNSURE
    with stage.Stage() as play:
        server = nodes.Server(play.dir)
        job = nodes.Job(play, server, HOSTS)
        half = job.start_half("--until-idle")
        nodes.await_said(failures, half, f"hears {HOSTS} hosts", f"{name}: all hosts are heard")
        log = play.dir / "log"
        log.mkdir()
        job.ranks = play.start(*stage.workload(f"--ranks={HOSTS}", f"--hosts={HOSTS}", f"--box-dirs={play.boxes}",
                                               "--elements=1024", "--grace=60", "--step-ms=250",
                                               f"--steps={150 if goes_on else 1000}", "--limit=90", f"--fault={name}",
                                               f"--fault-rank={FAULTY}",
                                               f"--fault-step={STEP}", f"--log-dir={log}"), **play.plugin(),
                               RANKWATCH_SCAN="all", RANKWATCH_BUDGET="100")
        stage.wait_until(lambda: any(one[0] in kinds and FAULTY in one[1]
                                     for one in named(nodes.findings(half), unsure)), 80)
        job.ranks.popen.terminate()
        job.ranks.wait(60)
        for node in job.nodes.values():
            nodes.end(node, failures, f"{name}: a node's collector")
        half.wait(90)
        judge(failures, name, "live", nodes.findings(half))
        together = all_boxes(play)
        judge(failures, name, "its boxes as one machine's", report(together))
        spread(together)
        judge(failures, name, f"as those of {HOSTS}", report(together))
        if failures.count:
            print(half.err.text()[-2000:])
        server.kill()


def main():
    failures = stage.Failures(on_time=True)
    for name in sys.argv[1:] or (*JOBS, BY_TURNS):
        if name == BY_TURNS:
            play_turns(failures)
        else:
            play_job(failures, name)
    failures.end()


if __name__ == "__main__":
    main()
