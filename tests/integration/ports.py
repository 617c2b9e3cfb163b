#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A link of this host goes down, and a rank dies for which the others wait: what the collector says of the port while
it runs, and `rankwatch report` says from the black boxes alone. The ports are files in a /sys/class of the test's
own."""

import os
import pathlib
import subprocess
import sys

import stage

INSIDE = "TEST_PORTS_INSIDE"
RDMA = pathlib.Path("/sys/class/infiniband/mlx5_2")
COUNTERS = {"link_downed": 0, "symbol_error": 3, "port_rcv_errors": 0, "link_error_recovery": 0}
JOB = ("--ranks=4", "--hosts=2", "--steps=40", "--step-ms=400", "--fault=exit", "--fault-rank=2", "--fault-step=20",
       "--grace=10")


def write(counters):
    """As the kernel has it: a file a counter."""
    port = RDMA / "ports/1"
    for folder in (port / "counters", port / "hw_counters"):
        folder.mkdir(parents=True, exist_ok=True)
    (RDMA / "board_id").write_text("MT_0000000838\n")
    (port / "state").write_text("4: ACTIVE\n")
    (port / "rate").write_text("400 Gb/sec (4X NDR)\n")
    for name, value in counters.items():
        (port / "counters" / name).write_text(f"{value}\n")


def said_of_ports(findings):
    """[what], of the findings that say something of ports."""
    return sorted({piece["what"] for finding in findings for piece in finding.get("evidence") or []
                   if piece["source"] == "port"})


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        write(COUNTERS)
        job = play.start(stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", "-", "--", *stage.workload(*JOB))
        if not failures.check(stage.wait_until(lambda: len(play.events("start")) == 4, 60),
                              f"the job has begun: {job.err.text_now()}"):
            failures.end()
        # The last reading before has to be there: one comes every two seconds.
        failures.check(stage.wait_until(lambda: any("watching 4 ranks" in line for _, line in job.err.lines), 60),
                       "and is watched")
        write({**COUNTERS, "link_downed": 2, "symbol_error": 1217})
        status = job.wait(120)
        failures.check(status not in (0, None), f"the job fails: {status}")
        live = said_of_ports([value for _, value in job.out.json() if "not_json" not in value])
        failures.check(len(live) >= 1 and all(what.startswith("mlx5_2 port 1: link went down twice, symbol errors "
                                                              "+1,214 (between ") for what in live),
                       f"while it runs: {live}")
        saved = play.dir / "saved"
        subprocess.run([stage.RANKWATCH, "save", "--to", saved, play.boxes], env=play.environment(), check=True,
                       capture_output=True)
        for directory in (play.boxes, next(saved.iterdir())):
            asked = subprocess.run([stage.RANKWATCH, "report", "--json", directory], env=play.environment(),
                                   capture_output=True, text=True)
            found = [value for value in stage.json_lines(asked.stdout) if "evidence" in value]
            # The job's two hosts are this one: boxes of both have its ports, and say whose.
            dead = [what.split(", ", 1) for what in said_of_ports(found)]
            failures.check({host for host, _ in dead} == {"host-0", "host-1"} and all(what in live for _, what in dead),
                           f"afterwards, {directory.name}: {dead} {asked.stderr}")
        if failures.count:
            print(job.err.text())
    failures.end()


if __name__ == "__main__":
    if not stage.ROOT:
        stage.skip("only root can have a /sys/class of its own")
    stage.need_mount_namespace()
    if os.environ.get(INSIDE) != "yes":
        os.environ[INSIDE] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/sys/class"], check=True)
    main()
