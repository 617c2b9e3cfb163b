#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank dies inside ncclCommInitRank, and the others wait on: `rankwatch report` names it while they do, without a
collector. Another one never comes; of that there is no box, and nothing is said. When all have been killed, the boxes
do not tell who was first."""

import stage

DIES = 2
WORKLOAD = ("--ranks=4", "--steps=4", "--elements=1024", "--fault=init-never", "--fault-rank=3", "--fault-step=1",
            "--grace=60", "--limit=90")


def report(play):
    process = play.start(stage.RANKWATCH, "report", "--json", play.boxes)
    status = process.wait(60)
    return status, [value for _, value in process.out.json() if value.get("kind")], process.err.text()


def text(play):
    process = play.start(stage.RANKWATCH, "report", play.boxes)
    process.wait(60)
    return process.out.text()


def waiting(play):
    """All three of them, as the report's text counts them."""
    return "ncclCommInitRank of 4 ranks: 3 seen in it" in text(play)


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        job = play.start(*stage.workload(*WORKLOAD), **play.plugin(), LD_PRELOAD=f"{stage.PLUGIN_DIR}/{stage.PLUGIN}")
        if not failures.check(stage.wait_until(lambda: waiting(play), 60, 0.5),
                              "three of four ranks wait in ncclCommInitRank"):
            print(job.err.text())
            failures.end()
        _, found, _ = report(play)
        failures.check(not found, f"while all live nobody is named {found}")
        stage.kill(play.rank_pids()[DIES])
        stage.wait_until(lambda: report(play)[1], 60, 0.5)  # the others must have waited for 10 s
        status, found, said = report(play)
        failures.check(status == 0
                       and [(one["kind"], one["ranks"], one["level"]) for one in found] == [("gone", [DIES], "self")],
                       f"while the others live it is named: {status} {[one['text'] for one in found]} {said}")
        play.kill_everything()
        status, found, said = report(play)
        failures.check(status == 0 and not found,
                       f"when all have ended nobody is: {status} {[one['text'] for one in found]} {said}")
        told = text(play)
        failures.check("no finding, but ranks were waiting for others in the call that makes a communicator" in told
                       and "missing rank 3" in told,
                       f"but that they waited, and for whom: {told}")
    failures.end()


if __name__ == "__main__":
    main()
