#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch report` reads the kernel log beside the boxes: the Xid of a rank's GPU is told and explains its lateness
as it did live; an Xid of a later job is not; nobody looks where the log may not be read or the boxes are another
machine's, and it says so."""

import re
import shutil

import stage

STEPS, FAULT_STEP = 44, 28  # behind the job's first 24, in which a rank is named only where little else happens


def report(play, log, boxes, *arguments):
    process = play.start(stage.RANKWATCH, "report", "--kernel-log", log, *arguments, boxes)
    status = process.wait(60)
    return status, process.out


def play_job(play, log):
    nvml = play.dir / "nvml"
    nvml.touch()
    log.touch()
    job = play.start(stage.RANKWATCH, "run", "--kernel-log", log, "--", *stage.workload(
        "--ranks=8", f"--steps={STEPS}", "--step-ms=250", "--fault=xid", "--fault-rank=3",
        f"--fault-step={FAULT_STEP}"),
        SIM_KERNEL_LOG=str(log), SIM_NVML=str(nvml))
    return job.wait(120)


def later(line):
    """The same GPU an hour later, with another Xid."""
    stamp = int(line.split(",")[2])
    return re.sub(r"^3,\d+,\d+", f"3,1,{stamp + 3600 * 10**6}", line).replace("): 119", "): 79")


def of_another_machine(play):
    copies = play.dir / "copies"
    shutil.copytree(play.boxes, copies)
    boot_id = open("/proc/sys/kernel/random/boot_id", "rb").read().strip()
    for box in copies.rglob("*.rwbox"):
        box.write_bytes(box.read_bytes().replace(boot_id, b"00000000-0000-0000-0000-000000000000"))
    return copies


def main():
    failures = stage.Failures(on_time=True)
    with stage.Stage() as play:
        log = play.dir / "kernel-log"
        status = play_job(play, log)
        lines = log.read_text().splitlines(keepends=True)
        if not failures.check(status == 0 and len(lines) == 1,
                              f"the job ran and its driver reported one Xid: {status} {lines}"):
            failures.end()
        log.write_text(lines[0] + later(lines[0]))
        _, out = report(play, log, play.boxes, "--json")
        findings = {value["kind"]: value for _, value in out.json() if "kind" in value}
        failures.check(findings.get("gpu", {}).get("ranks") == [3] and "Xid 119" in findings["gpu"]["text"],
                       "the Xid is a finding")
        late = findings.get("straggler", {})
        failures.check(late.get("ranks") == [3] and late["cause"]["class"] == "gpu",
                       f"it explains the lateness: {late.get('cause')}")
        _, out = report(play, log, play.boxes)
        failures.check("Xids      1 in the kernel log" in out.text() and "Xid 79" not in out.text(),
                       "a later job's is left out")
        # What the collector saw live is no reading of this log.
        for evidence in play.boxes.rglob("*.rwevidence"):
            evidence.unlink()
        for boxes, path, words in ((play.boxes, "/nonexistent/log", "/nonexistent/log: No such file"),
                                   (of_another_machine(play), log, "not all boxes were recorded here")):
            status, out = report(play, path, boxes)
            failures.check(status == 0 and "Xids      not looked for in the kernel log: " in out.text() and words in
                           " ".join(out.text().split()) and "Xid 119" not in out.text(), f"without: {words}")
    failures.end()


if __name__ == "__main__":
    main()
