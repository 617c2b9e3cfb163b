#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run says at its end of its GPUs' memory, and its black boxes when no collector is left: one that fills its
caches has warmed up, one that grows with each step ends at a step. The stand-in's NVML tells what the workload writes
for it."""

import json
import re
import subprocess

import stage

STEPS, LEAK_MIB, WARM_MIB, TOTAL_MIB = 44, 160, 2048, 16384
NOTED_STEPS = 5  # that two seconds hold, and one more


def explained(play, *arguments):
    """What `rankwatch explain` says now; {} where no collector tells it."""
    asked = subprocess.run([stage.RANKWATCH, "explain", "--json", *arguments], env=play.environment(),
                           capture_output=True, text=True)
    told = json.loads(asked.stdout) if asked.returncode == 0 else {}
    return told["explanation"] if told.get("source") == "collector" else {}


def is_near(live, boxes):
    """GiB have a point, and steps have none."""
    return abs(float(live) - float(boxes)) <= max(0.15 * float(live), 0 if "." in live else NOTED_STEPS)


def line_of(label, report):
    """What a report's head says there, in one line; which labels follow is the job's affair: a slow step has one of its
    own."""
    found = re.search(rf"^{label} +(.*(?:\n {{10}}.*)*)", report, re.M)
    return " ".join(found.group(1).split()) if found else ""


def check_boxes(failures, play, fault, said):
    """Noted every two seconds in MiB: what boxes say may be that much off."""
    asked = subprocess.run([stage.RANKWATCH, "explain", "--json", str(play.boxes)], capture_output=True, text=True)
    told = json.loads(asked.stdout)["explanation"]["gpu_memory"] if asked.returncode == 0 else None
    report = subprocess.run([stage.RANKWATCH, "report", str(play.boxes)], capture_output=True, text=True).stdout
    line = line_of("memory", report)
    words = said.split(":")[0].split(" by ")[0]
    failures.check(told and line.startswith(f"{words} by "), f"{fault}: boxes alone say it, too: {told}, {report}")
    live, boxes = (re.findall(r"\d+(?:\.\d+)?", text) for text in (said, line))
    failures.check(len(live) == len(boxes) and all(map(is_near, live, boxes)), f"{fault}: and the same: {said}; {line}")


def play(failures, fault, rank):
    with stage.Stage() as play:
        nvml = play.dir / "nvml"
        nvml.touch()
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--", *stage.workload(
            "--ranks=8", f"--steps={STEPS}", "--step-ms=500", f"--fault={fault}", f"--fault-rank={rank}",
            "--fault-step=2"),
            SIM_NVML=str(nvml))
        course = "grows" if fault == "gpu-memory-leak" else "flat"
        told = stage.wait_until(lambda: explained(play, "--job", play.dir.name).get("gpu_memory"), 60, 1)
        failures.check(told and told["rank"] == rank and told["course"] == course,
                       f"{fault}: explain, while it runs: {told}")
        failures.check(job.wait(90) == 0, f"{fault}: the job ends well")
        said = job.err.text()
        failures.check(re.search(r"^ *findings +none$", said, re.M), f"{fault}: nothing is a finding: {said}")
        line = re.search(r"^ *memory +(.*)$", said, re.M)
        check_boxes(failures, play, fault, line.group(1) if line else said)
        return line.group(1) if line else said


def main():
    failures = stage.Failures()
    said = play(failures, "gpu-memory", 2)
    line = re.match(r"of rank 2's GPU grew by 6\.2 GiB up to step (\d+) and stayed for the (\d+) steps since: "
                    r"warm-up, no leak", said)
    failures.check(line and int(line.group(1)) <= 12 and int(line.group(2)) >= STEPS - 14, f"it has warmed up: {said}")
    said = play(failures, "gpu-memory-leak", 5)
    line = re.match(r"of rank 5's GPU grows by (\d\.\d+) GiB a step, [\d.]+ of 16\.0 GiB are in use: "
                    r"full at step (\d+), if it goes on", said)
    failures.check(line and abs(float(line.group(1)) - LEAK_MIB / 1024) < 0.03, f"it grows by what it does: {said}")
    full = 1 + (TOTAL_MIB - WARM_MIB) / LEAK_MIB
    failures.check(line and abs(int(line.group(2)) - full) < 0.15 * full,
                   f"it is full at about step {full:.0f}: {said}")
    failures.end()


if __name__ == "__main__":
    main()
