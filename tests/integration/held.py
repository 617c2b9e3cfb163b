#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A driver call of the plugin's own does not return while NCCL starts: the job waits, and is told that it waits for
rankwatch, on which rank, in which call, and how to start without it."""

import stage

RANK = 3
# call, the variable that leaves it out; none of these does the workload make itself
CALLS = [("cuMemHostRegister", "cuMemHostRegister_v2", ("RANKWATCH_GPU_TIME", "RANKWATCH_SCAN")),
         ("cuDeviceGetUuid", "cuDeviceGetUuid", ("RANKWATCH",)),
         ("cuFuncLoad", "cuFuncLoad", ("RANKWATCH_SCAN",)),
         ("cuMemsetD8Async", "cuMemsetD8Async", ("RANKWATCH_SCAN",))]
WORKLOAD = ("--ranks=8", "--steps=5", "--step-ms=20", "--elements=1024", "--limit=40")


def play_call(failures, call, function, variables):
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*WORKLOAD),
                         SIM_CUDA_FAULTS=f"{function}:block,rank={RANK}")
        found = stage.wait_until(lambda: [value for _, value in job.out.json() if value.get("kind")], 20)
        play.kill_everything()
        job.wait(10)
        findings = [value for _, value in job.out.json() if value.get("kind")]
        said = [value["text"] for value in findings]
        failures.check(found and [(value["kind"], value["ranks"]) for value in findings] == [("blind", [RANK])],
                       f"{call}: rank {RANK} and nobody else: {said}")
        if not found:
            print(job.err.text())
            return
        failures.check("rankwatch itself" in said[0] and call in said[0], f"{call}: {said[0]}")
        failures.check(" ".join(f"{variable}=off" for variable in variables) in found[0]["advice"],
                       f"{call}: {found[0]['advice']}")


def play_remedy(failures, call, function, variables):
    """What the advice says must help."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--", *stage.workload(*WORKLOAD), **{
            "SIM_CUDA_FAULTS": f"{function}:block,rank={RANK}", **{variable: "off" for variable in variables}})
        failures.check(job.wait(40) == 0, f"{call}: with {'=off and '.join(variables)}=off the job runs")


def main():
    failures = stage.Failures()
    for case in CALLS:
        play_call(failures, *case)
        play_remedy(failures, *case)
    failures.end()


if __name__ == "__main__":
    main()
