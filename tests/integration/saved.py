#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boxes outlive the memory they were in: saved when a rank dies, whole at the end of the job, at SIGTERM within 5 s while the
ranks run on, also when somebody has removed their names; reports read them as they are; clean removes what has ended."""

import shutil
import signal
import time

import stage

WORKLOAD = ("--ranks=4", "--steps=100000", "--step-ms=100", "--elements=1024", "--grace=60")


def report(play, directory):
    process = play.start(stage.RANKWATCH, "report", "--json", directory)
    status = process.wait(60)
    return status, [value for _, value in process.out.json()], process.err.text()


def saved(play):
    return sorted((play.dir / "kept").rglob("*.rwbox.gz"))


def start(play, *arguments):
    job = play.start(stage.RANKWATCH, "run", "--save", play.dir / "kept", "--", *stage.workload(*WORKLOAD, *arguments))
    ready = stage.wait_until(lambda: len(list(play.boxes.rglob("*.rwbox"))) == 4, 60)
    time.sleep(1)  # of history, so that there is something to save
    return job, ready


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


def dies(failures):
    with stage.Stage() as play:
        job, ready = start(play)
        if not failures.check(ready, "four ranks have a black box"):
            return
        stage.kill(play.rank_pids()[2])
        first = stage.wait_until(lambda: saved(play), 10)
        failures.check(first and first[0].name.startswith("rank2-"), "the dead rank's box is saved while the others live")
        # Others must outlive it by a second, by what the boxes alone tell, before it is one that is missed.
        stage.wait_until(lambda: any("GONE" in line for _, line in list(job.err.lines)), 20)
        time.sleep(1)
        job.popen.send_signal(signal.SIGTERM)
        job.wait(60)
        shutil.rmtree(play.boxes, ignore_errors=True)
        failures.check(len(saved(play)) == 4, "every box is saved when the job has ended")
        failures.check("look again rankwatch report" in job.err.text() and "kept" in job.err.text(),
                       "the last words name the saved boxes")
        status, findings, said = report(play, play.dir / "kept")
        gone = [value for value in findings if value.get("kind") == "gone"]
        if not failures.check(status == 0 and [2] in [value["ranks"] for value in gone], "the report from them names rank 2"):
            print(findings, said)


def terminated(failures):
    with stage.Stage() as play:
        job, ready = start(play)
        pid = collector_pid(play) if ready else None
        if not failures.check(pid, "a collector runs"):
            return
        # As the end of a Slurm job does: the names are gone before the processes are.
        for box in play.boxes.rglob("*.rwbox"):
            box.unlink()
        began = time.monotonic()
        stage.os.kill(pid, signal.SIGTERM)
        stage.wait_until(lambda: len(saved(play)) == 4, 10)
        took = time.monotonic() - began
        failures.check(len(saved(play)) == 4 and took < 5, f"SIGTERM saves all within 5 s ({took:.2f} s)")
        status, findings, said = report(play, play.dir / "kept")
        failures.check(status == 0 and not [value for value in findings if value.get("kind") == "gone"],
                       "nobody is called gone by a copy of a living process")
        job.popen.send_signal(signal.SIGTERM)
        job.wait(60)


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
        if not failures.check(status == 0 and left == [note], "clean removes the boxes that have ended, and nothing else"):
            print(left, clean.out.text(), clean.err.text())


def main():
    failures = stage.Failures()
    dies(failures)
    terminated(failures)
    on_demand(failures)
    failures.end()


if __name__ == "__main__":
    main()
