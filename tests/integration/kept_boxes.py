# SPDX-License-Identifier: MIT
"""Which black boxes are left in memory when jobs have ended, and what `rankwatch run` says about it."""

import json
import subprocess

import stage

WORKLOAD = ("--ranks=2", "--steps=20", "--step-ms=20", "--elements=1024")


def boxes(play):
    return sorted(play.boxes.rglob("*.rwbox"))


def run(play, *options, status=0, **environment):
    command = stage.when_watched("sh", "-c", f'"$@"; exit {status}', "sh", *stage.workload(*WORKLOAD))
    job = play.start(stage.RANKWATCH, "run", *options, "--", *command, **environment)
    assert job.wait(60) == status, job.err.text()
    return job.err.text()


def has_finding(job):
    """Of a rank that was stopped: it makes the others wait."""
    return stage.wait_until(lambda: any("was stopped" in line for _, line in list(job.err.lines)), 60)


def age(play):
    """As if their processes had shown the last sign of life long ago: field drain_ns of the header."""
    for box in boxes(play):
        with open(box, "r+b") as file:
            file.seek(6576)
            file.write((1).to_bytes(8, "little"))


def listed(play):
    """What `rankwatch ls` says of the runs, the newest first."""
    said = subprocess.run([stage.RANKWATCH, "ls", "--json", play.boxes], capture_output=True, text=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def ends(failures):
    with stage.Stage() as play:
        said = run(play)
        failures.check(not boxes(play), "exit status 0 and no finding: the boxes go")
        failures.check("removed (2, " in said and "--keep-boxes all" in said and "look again" not in said,
                       f"and it is said: {said}")
    with stage.Stage() as play:
        said = run(play, "--keep-boxes", "all")
        failures.check(len(boxes(play)) == 2 and "look again" in said and "removed" not in said,
                       f"--keep-boxes all keeps them, {len(boxes(play))} of 2: {said}")
    with stage.Stage() as play:
        said = run(play, status=3)
        failures.check(len(boxes(play)) == 2 and "look again" in said, "another exit status keeps them")
        runs = listed(play)
        failures.check([(run["state"], run["failed"], run["findings"], run["boxes"], run["ranks"]) for run in runs]
                       == [("ended", True, False, 2, 2)], f"ls shows the run: {runs}")
        failures.check("kept" in said and "2 black boxes of 1 ended run;" in said,
                       f"and it is said how much they hold: {said}")


def with_findings(failures):
    """A rank is stopped, all are killed, and the launcher ends with 0 all the same: what was found keeps the boxes,
    also beyond the limit."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--job", "found", "--", "sh", "-c", '"$@"; exit 0', "sh",
                         *stage.workload(
            "--ranks=2", "--steps=1000", "--step-ms=20", "--elements=1024", "--fault=stop", "--fault-rank=1",
            "--fault-step=40"))
        failures.check(has_finding(job), "something is found")
        runs = listed(play)
        failures.check([(run["job"], run["state"], run["findings"], (run["collector"] or {}).get("job"))
                        for run in runs]
                       == [("found", "running", True, "found")], f"ls shows the run and its collector: {runs}")
        for pid in play.rank_pids().values():
            stage.kill(pid)
        failures.check(job.wait(60) == 0, "the job's launcher ends with 0")
        failures.check(len(boxes(play)) == 2, "findings keep the boxes")
        run(play, "--job", "later", "--keep-boxes", "1", status=1)
        age(play)
        run(play, "--job", "latest", "--keep-boxes", "1", status=1)
        left = subprocess.run([stage.RANKWATCH, "dump", "--all", "--header", play.boxes], capture_output=True,
                              text=True).stdout
        jobs = sorted({line["job"] for line in map(json.loads, left.splitlines()) if line.get("part") == "header"})
        failures.check(jobs == ["found", "latest"], f"the newest run and the last with findings stay: {jobs}")


def older_runs(failures):
    with stage.Stage() as play:
        run(play, "--job", "first", status=1)
        first = boxes(play)
        said = run(play, "--job", "second", "--keep-boxes", "1", status=1)
        failures.check(set(first) <= set(boxes(play)), "boxes that showed life a moment ago stay")
        failures.check("4 black boxes of 2 ended runs" in said, f"they are counted: {said}")
        age(play)
        said = run(play, "--job", "third", "--keep-boxes", "1", status=1)
        # The older run when the collector starts, the other one when a newer one has ended.
        failures.check(said.count("removed 2 black boxes of 1 ended run") == 2 and len(boxes(play)) == 2,
                       f"then they go: {said}")


def kept(failures):
    """Who asked for all boxes has them after later runs, too."""
    with stage.Stage() as play:
        run(play, "--job", "first", "--keep-boxes", "all", status=1)
        first = boxes(play)
        age(play)
        said = run(play, "--job", "second", "--keep-boxes", "1", status=1)
        failures.check(set(first) <= set(boxes(play)) and ": removed" not in said, f"what was to be kept stays: {said}")
        said = play.start(stage.RANKWATCH, "run", "--job", "third", "--", "sh", "-c", "exit 7")
        failures.check(said.wait(60) == 7 and "was recorded" not in said.err.text(),
                       f"a command without NCCL recorded nothing: {said.err.text()}")


def two_launchers(failures):
    """The first launcher's rank fails, the last one's does not: the boxes of both stay."""
    with stage.Stage() as play:
        long = play.start(stage.RANKWATCH, "run", "--",
                          *stage.workload("--ranks=2", "--steps=400", "--step-ms=20", "--elements=1024"))
        if not failures.check(stage.wait_until(lambda: len(boxes(play)) == 2, 60), "the first launcher's ranks record"):
            return
        failed = play.start(stage.RANKWATCH, "run", "--", "sh", "-c", "exit 7")
        failures.check(failed.wait(60) == 7, "the second launcher ends with its job's status")
        failures.check(long.wait(60) == 0 and len(boxes(play)) == 2, "the job as a whole has failed: its boxes stay")


def main():
    failures = stage.Failures()
    ends(failures)
    older_runs(failures)
    kept(failures)
    with_findings(failures)
    two_launchers(failures)
    failures.end()


if __name__ == "__main__":
    main()
