#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boxes outlive the memory they were in: saved when a rank dies, whole at the end of the job, at SIGTERM within 5 s
while the ranks run on, also when somebody has removed their names; reports read them as they are; clean removes what
has ended."""

import json
import os
import pathlib
import shutil
import signal
import time

import stage
import two_jobs

WORKLOAD = ("--ranks=4", "--steps=100000", "--step-ms=100", "--elements=16384", "--grace=60")


HISTORY = 100  # operations


def report(play, directory):
    process = play.start(stage.RANKWATCH, "report", "--json", directory)
    status = process.wait(60)
    return status, [value for _, value in process.out.json()], process.err.text()


def saved(play):
    return sorted((play.dir / "kept").rglob("*.rwbox.gz"))


def headers(play):
    process = play.start(stage.RANKWATCH, "dump", "--header", play.boxes)
    process.wait(60)
    return {value["rank"]: value for _, value in process.out.json() if value.get("part") == "header"}


def have_history(play):
    """All four ranks have a box with operations in it, so that there is something to save."""
    found = headers(play) if len(list(play.boxes.rglob("*.rwbox"))) == 4 else {}
    return len(found) == 4 and all(header["claims"] >= HISTORY for header in found.values())


def have_outlived(play, dead):
    """By their own last signs the others have lived well longer than the second after which a rank is reported gone: a
    report from boxes polls every 100 ms of their time, and the others' end ends the wait for it."""
    found = headers(play)
    return all(header["drain_ns"] > found[dead]["drain_ns"] + 1.5e9 for rank, header in found.items() if rank != dead)


def start(play, *arguments):
    job = play.start(stage.RANKWATCH, "run", "--save", play.dir / "kept", "--", *stage.workload(*WORKLOAD, *arguments))
    return job, stage.wait_until(lambda: have_history(play), 60)


def collector_pid(play):
    """Of the one that `run` started; its command line says collect."""
    for pid in play.pids():
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"collect"]:
            return pid
    return None


def holds_boxes(pid):
    """Has the collector opened all four? What it has not seen before a name goes it cannot save."""
    names = []
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.append(os.readlink(link))
        except OSError:
            continue
    return len({name for name in names if name.endswith(".rwbox")}) == 4


def has_joined(play, old=None):
    """Is the launcher a client of a collector, which is not the process `old`? Who joins behind it is told so."""
    if collector_pid(play) in (None, old):
        return False
    found = two_jobs.find_collector(play)
    if not found:
        return False
    _, launcher = found
    launcher.send(join="run")
    muted = next((json.loads(line)["muted"] for line in launcher.lines if "muted" in line), False)
    launcher.socket.close()
    return muted


def start_watched(failures, play, what):
    """The job, and the collector that has opened all of its boxes; None where none has, which fails the check `what`.
    The launcher has joined it: one that has not gets no last words of it. It starts one 2 s later where another test's,
    which that has stopped, has the path that all share."""
    job, ready = start(play)
    pid = stage.wait_until(lambda: collector_pid(play), 30) if ready else None
    watched = pid and stage.wait_until(lambda: holds_boxes(pid), 30) and stage.wait_until(lambda: has_joined(play), 30)
    opened = failures.check(watched, what)
    return job, pid if opened else None


def dies(failures):
    with stage.Stage() as play:
        job, ready = start(play)
        if not failures.check(ready, "four ranks have a black box with history"):
            return
        stage.kill(play.rank_pids()[2])
        first = stage.wait_until(lambda: saved(play), 10)
        failures.check(first and first[0].name.startswith("rank2-"),
                       "the dead rank's box is saved while the others live")
        stage.wait_until(lambda: any("GONE" in line for _, line in list(job.err.lines)), 20)
        failures.check(stage.wait_until(lambda: have_outlived(play, 2), 20), "the others live on")
        job.popen.send_signal(signal.SIGTERM)
        job.wait(60)
        shutil.rmtree(play.boxes, ignore_errors=True)
        failures.check(len(saved(play)) == 4, "every box is saved when the job has ended")
        failures.check("look again rankwatch report" in job.err.text() and "kept" in job.err.text(),
                       "the last words name the saved boxes")
        page = play.dir / "kept" / play.dir.name / "report.html"
        failures.check(job.err.text().rstrip().endswith(f"as a page  {page}")
                       and page.read_text().startswith("<!DOCTYPE html>"),
                       f"its last line names a page of it: {job.err.text()}")
        status, findings, said = report(play, play.dir / "kept")
        gone = [value for value in findings if value.get("kind") == "gone"]
        if not failures.check(status == 0 and [2] in [value["ranks"] for value in gone],
                              "the report from them names rank 2"):
            print(findings, said)


def terminated(failures):
    with stage.Stage() as play:
        job, pid = start_watched(failures, play, "a collector has opened all boxes")
        if not pid:
            return
        # As the end of a Slurm job does: the names are gone before the processes are.
        for box in play.boxes.rglob("*.rwbox"):
            box.unlink()
        began = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        stage.wait_until(lambda: len(saved(play)) == 4, 10)
        took = time.monotonic() - began
        failures.check(len(saved(play)) == 4 and took < 5, f"SIGTERM saves all within 5 s ({took:.2f} s)")
        status, findings, said = report(play, play.dir / "kept")
        failures.check(status == 0 and not [value for value in findings if value.get("kind") == "gone"],
                       "nobody is called gone by a copy of a living process")
        job.popen.send_signal(signal.SIGTERM)
        job.wait(60)


def cancelled(failures):
    """A scheduler signals the collector as well as the launcher and the job."""
    with stage.Stage() as play:
        job, pid = start_watched(failures, play, "a collector has opened all boxes of a job that is cancelled")
        if not pid:
            return
        for process in play.pids():
            stage.kill(process, signal.SIGTERM)
        failures.check(job.wait(60) == 143, "it ends by the signal")
        said = job.err.text()
        failures.check(f"look again rankwatch report {play.dir / 'kept'}" in said
                       and "no collector watched it" not in said and len(saved(play)) == 4,
                       f"its last words name the saved boxes: {said[-400:]}")


def launcher_of_ranks(play):
    return int(next(line for line in open(f"/proc/{next(iter(play.rank_pids().values()))}/status")
                    if line.startswith("PPid:")).split()[1])


def followed(failures):
    """The same; the collector is the first to end, and another one comes and finds nobody before the job has ended:
    what the first one saw is told."""
    with stage.Stage() as play:
        job, pid = start_watched(failures, play, "a collector has opened all boxes, which another one follows")
        if not pid:
            return
        stage.kill(launcher_of_ranks(play), signal.SIGSTOP)
        job.popen.send_signal(signal.SIGTERM)
        for box in play.boxes.rglob("*.rwbox"):
            box.unlink()
        stage.kill(pid, signal.SIGTERM)
        failures.check(stage.wait_until(lambda: has_joined(play, pid), 30), "another collector is there")
        stage.kill(launcher_of_ranks(play), signal.SIGCONT)
        failures.check(job.wait(60) == 143, "the job ends by the signal")
        said = job.err.text()
        failures.check(f"look again rankwatch report {play.dir / 'kept'}" in said and "4 of 4 ranks" in said,
                       f"what the first one saw is told: {said[-400:]}")


def on_demand(failures):
    with stage.Stage() as play:
        job, ready = start(play)
        copy = play.start(stage.RANKWATCH, "save", "--to", play.dir / "copy", play.boxes)
        failures.check(copy.wait(60) == 0 and len(copy.out.text().splitlines()) == 4, "save prints four files")
        clean = play.start(stage.RANKWATCH, "clean", play.boxes)
        clean.wait(60)
        failures.check(len(list(play.boxes.rglob("*.rwbox"))) == 4, "clean leaves a running job alone")
        job.popen.send_signal(signal.SIGTERM)
        job.wait(60)
        note = play.boxes / "notes.rwbox"
        note.write_text("not a box")
        clean = play.start(stage.RANKWATCH, "clean", play.boxes)
        status = clean.wait(60)
        left = list(play.boxes.rglob("*.rwbox"))
        if not failures.check(status == 0 and left == [note],
                              "clean removes the boxes that have ended, and nothing else"):
            print(left, clean.out.text(), clean.err.text())


def full(failures):
    """The disk is full: the summary points to where all boxes are."""
    if not stage.ROOT:
        print("skipped: mounting needs root")
        return
    stage.need_mount_namespace()
    with stage.Stage() as play:
        kept = play.dir / "kept"
        kept.mkdir()
        mounted = ["unshare", "--mount", "--propagation", "private", "bash", "-ec",
                   f'mount -t tmpfs -o size=16k tmpfs {kept}; exec "$0" "$@"']
        job = play.start(*mounted, stage.RANKWATCH, "run", "--save", kept, "--", *stage.workload(
            "--ranks=4", "--steps=20", "--step-ms=50", "--elements=1024"))
        failures.check(job.wait(60) == 0, "the job ends as it would without rankwatch")
        said = job.err.text()
        right = "not saved: No space left on device" in said and f"report {play.boxes}" in said
        if not failures.check(right and f"report {kept}" not in said, "a full disk is said, and where the boxes are"):
            print(said)


def main():
    failures = stage.Failures()
    full(failures)
    dies(failures)
    terminated(failures)
    cancelled(failures)
    followed(failures)
    on_demand(failures)
    failures.end()


if __name__ == "__main__":
    main()
