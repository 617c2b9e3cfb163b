#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the collector saw outlives it: a report names the same rank with the same cause as was said live, when
everything was killed, from a saved copy, and after a second collector of the job that saw less; without the file of
evidence it says what the boxes alone show."""

import shutil
import signal
import sys
import tempfile

import stage

JOB = stage.HERE / "python_job.py"
PYTHON = "/usr/bin/python3"
LEVELS = ["none", "self", "proc", "root", "ebpf"]
FAULTY = 2
RING = 4096  # operations: more than a box of 1 MiB has


def start(play, *options):
    return play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", *options, "--", PYTHON, JOB,
                      "sleep",
                      RANKWATCH_GPU_TIME="watermark")


def explained(job):
    """The straggler as it was said live with a cause; rows can name it before one is known."""
    return [finding for _, finding in list(job.out.json()) if finding.get("kind") == "straggler"
            and (finding["cause"] or {}).get("class") not in (None, "unknown")]


def told(job):
    """The first of these for which more than its own black box has been looked at."""
    return next((finding for finding in explained(job) if LEVELS.index(finding["level"]) > LEVELS.index("self")), None)


def report_all(play, directory):
    process = play.start(stage.RANKWATCH, "report", "--json", directory)
    process.wait(60)
    return [value for _, value in process.out.json() if value.get("kind")], process.err.text()


def report(play, directory):
    findings, said = report_all(play, directory)
    return [finding for finding in findings if finding["kind"] == "straggler"], said


def text_of(play, directory):
    process = play.start(stage.RANKWATCH, "report", directory)
    process.wait(60)
    return process.out.text()


def check_same(failures, what, live, findings):
    """One straggler, the same rank, and the cause as live."""
    if not failures.check(len(findings) == 1 and findings[0]["ranks"] == live["ranks"] == [FAULTY],
                          f"{what}: {[one['text'] for one in findings]}"):
        return
    found = findings[0]
    for key in ("class", "text", "thread", "syscall"):
        failures.check(found["cause"][key] == live["cause"][key],
                       f"{what}: {key} is {found['cause'][key]}, live {live['cause'][key]}")
    place = ((live["cause"].get("python") or {}).get("at") or {}).get("function")
    failures.check(((found["cause"].get("python") or {}).get("at") or {}).get("function") == place,
                   f"{what}: Python's function is {place}")
    failures.check(found["level"] == live["level"] and found.get("seen_live", {}).get("in_boxes") is True,
                   f"{what}: level {found['level']}, {found.get('seen_live')}")


def check_boxes_alone(failures, what, live, findings):
    alone = [finding for finding in findings if finding["ranks"] == live["ranks"]]
    failures.check(len(alone) == 1 and "seen_live" not in alone[0] and alone[0]["level"] == "self",
                   f"{what}: {[(one['level'], one.get('seen_live')) for one in findings]}")


def shows_alone(play):
    """Of few late steps the boxes alone name nobody, where a cause that is seen live needs three."""
    with tempfile.TemporaryDirectory() as copy:
        for box in play.boxes.rglob("*.rwbox"):
            shutil.copy(box, copy)
        return any(finding["ranks"] == [FAULTY] for finding in report(play, copy)[0])


def evidence(directory):
    return sorted(directory.rglob("*.rwevidence*"))


def killed(failures):
    """Everything, in no order: whatever the collector was about to write."""
    with stage.Stage() as play:
        job = start(play)
        live = stage.wait_until(lambda: told(job), 60)
        if not failures.check(live, "the cause of the straggler is seen live"):
            return
        failures.check(stage.wait_until(lambda: shows_alone(play), 60, 0.5), "the boxes alone show it, too")
        play.kill_everything()
        job.wait(10)
        live = explained(job)[-1]
        findings, said = report(play, play.boxes)
        check_same(failures, "from the boxes", live, findings)
        failures.check("left out" not in said, f"nothing is damaged: {said}")
        failures.check("seen live, by " in text_of(play, play.boxes), "the text says so")
        copy = play.start(stage.RANKWATCH, "save", "--to", play.dir / "copy", play.boxes)
        failures.check(copy.wait(60) == 0 and copy.out.text().count(".rwevidence.gz") == 1,
                       f"save takes it along: {copy.out.text()}")
        check_same(failures, "from a copy", live, report(play, play.dir / "copy")[0])
        for file in evidence(play.dir / "copy"):
            file.unlink()
        check_boxes_alone(failures, "from a copy without it", live, report(play, play.dir / "copy")[0])
        for file in evidence(play.boxes):
            file.write_bytes(file.read_bytes().replace(b'"finding"', b'"fanding"'))
        findings, said = report(play, play.boxes)
        check_boxes_alone(failures, "damaged", live, findings)
        failures.check(said.count("left out") == 1, f"one line says that it is damaged: {said}")
        clean = play.start(stage.RANKWATCH, "clean", play.boxes)
        failures.check(clean.wait(60) == 0 and not evidence(play.boxes), "clean removes it with the boxes")


def followed(failures):
    """The collector is killed, the next one sees the rest of the job; the boxes are saved as the ranks end."""
    with stage.Stage() as play:
        job = start(play, "--save", play.dir / "kept")
        live = stage.wait_until(lambda: told(job), 60)
        if not failures.check(live, "the cause of the straggler is seen live, and then its collector is killed"):
            return
        for pid in play.pids("collect"):
            stage.kill(pid)
        failures.check(job.wait(120) == 0, "the job ends by itself")
        files = evidence(play.dir / "kept")
        failures.check(len(files) == 1 and files[0].name.endswith(".gz"), f"it is saved with the boxes: {files}")
        check_same(failures, "behind a second collector", live, report(play, play.boxes)[0])
        check_same(failures, "saved as the ranks ended", live, report(play, play.dir / "kept")[0])
        page = play.dir / "kept" / play.dir.name / "report.html"
        failures.check("seen live, by " in page.read_text(), "the page that `run` makes says so")


def claims(play):
    """Operations that each rank has begun."""
    dump = play.start(stage.RANKWATCH, "dump", "--header", play.boxes)
    dump.wait(60)
    return [value["claims"] for _, value in dump.out.json() if value.get("part") == "header"]


def of_stop(job):
    return [finding for _, finding in job.out.json() if finding.get("severity") == "critical"
            and finding["ranks"] == [1]]


def overwritten(failures):
    """A rank was stopped for a while; its box has long forgotten it when the job ends."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", *stage.workload(
            "--ranks=2", "--steps=100000", "--step-ms=20", "--elements=1024", "--fault=stop", "--fault-rank=1",
            "--fault-step=40"),
            RANKWATCH_HISTORY="1M")
        told = stage.wait_until(lambda: of_stop(job), 60)
        stage.kill(play.rank_pids()[1], signal.SIGCONT)
        over = stage.wait_until(lambda: any(finding["state"] == "closed" for finding in of_stop(job)), 30)
        kinds = [(finding["kind"], finding["state"], finding["ranks"]) for _, finding in job.out.json()
                 if "kind" in finding]
        if not failures.check(told and over, f"that a rank is stopped is said live, and that it is over: {kinds} "
                                             f"{job.err.text_now()[-600:]}"):
            return
        at = max(claims(play))
        failures.check(stage.wait_until(lambda: min(claims(play)) > at + RING, 60), "its box has forgotten it")
        job.popen.send_signal(signal.SIGTERM)
        job.wait(60)
        found = [finding for finding in report_all(play, play.boxes)[0] if finding["kind"] == told[0]["kind"]
                 and finding["ranks"] == [1]]
        failures.check(len(found) == 1 and found[0]["state"] == "closed" and found[0]["seen_live"]["in_boxes"] is False,
                       f"it is listed as seen live: {[(one['text'], one.get('seen_live')) for one in found]}")
        failures.check("; the black boxes alone do not show it" in text_of(play, play.boxes), "the text says so")
        for file in evidence(play.boxes):
            file.unlink()
        found = [finding for finding in report_all(play, play.boxes)[0] if finding["kind"] == told[0]["kind"]
                 and finding["ranks"] == [1]]
        failures.check(not found, f"without the file nobody knows of it: {found}")


def main():
    failures = stage.Failures()
    overwritten(failures)
    killed(failures)
    followed(failures)
    failures.end()


if __name__ == "__main__":
    sys.exit(main())
