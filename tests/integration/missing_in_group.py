#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank stops before it has used a communicator of its tensor parallel group: those that have come to it wait in ncclCommInitRank, all others
wait for these, and NCCL has reported the members of none of these communicators. The one that stopped is named, and nobody else."""

import stage

LATE = 5
WORKLOAD = ("--ranks=8", "--mesh=fsdp=2,tp=4", "--steps=20", "--elements=1024", "--fault=never", f"--fault-rank={LATE}", "--fault-step=1",
            "--limit=120")
NAMED_S = 60  # after 10 s of waiting


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", *stage.workload(*WORKLOAD))

        def found():
            return [line for _, line in job.out.json() if line.get("state") == "open"]

        stage.wait_until(lambda: found() or job.popen.poll() is not None, NAMED_S)
        told = [(one["kind"], one["ranks"], one["severity"], one["confidence"], one["operation"]["phase"], one["late"]["waiting"]) for one in found()]
        failures.check(told == [("hang", [LATE], "critical", "likely", "init", [4, 6, 7])], f"found {told} {job.err.text_now()}")
        play.kill_everything()
        report = play.start(stage.RANKWATCH, "report", play.boxes)
        report.wait(60)
        lines = [line.strip() for line in report.out.text().splitlines()]
        failures.check("ncclCommInitRank of 4 ranks: 3 seen in it" in lines and f"missing rank {LATE}" in lines,
                       f"the report of its boxes shows who was missing: {lines}")
    failures.end()


if __name__ == "__main__":
    main()
