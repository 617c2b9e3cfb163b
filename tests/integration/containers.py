#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job in a container: pids, mounts and shared memory of its own. Its collector is outside, as a DaemonSet's with
hostPID is: it finds the black boxes through /proc/PID/root, and says of threads that it knows by other numbers what
they wait for."""

import subprocess

import stage

JOB = ("--ranks=4", "--steps=400", "--step-ms=300", "--elements=4096", "--host-waits=block", "--fault=lock",
       "--fault-rank=1",
       "--fault-step=8", "--limit=90")
CONTAINER = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc")


def ranks(play):
    """Their pids, as everybody outside knows them."""
    return [pid for pid in play.pids(f"{stage.WORKLOAD_DIR}/workload") if len(numbers(pid)) > 1]


def numbers(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            return next(line.split()[1:] for line in status if line.startswith("NSpid:"))
    except (OSError, StopIteration):
        return []


def late_for_a_lock(collector):
    return [value for _, value in collector.out.json() if value.get("kind") == "straggler"
            and (value.get("cause") or {}).get("class") == "lock"]


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        inside = f'mount -t tmpfs -o mode=0700 tmpfs {play.boxes} && exec "$@"'
        job = play.start(*CONTAINER, "sh", "-c", inside, "sh", *stage.workload(*JOB), **play.plugin())
        if not failures.check(stage.wait_until(lambda: len(play.events("start")) == 4 and ranks(play), 60),
                              f"the job has begun: {job.err.text_now()}"):
            failures.end()
        pids = ranks(play)
        failures.check(not list(play.boxes.rglob("*.rwbox")), "its black boxes are not to be seen outside")
        collector = play.start(stage.RANKWATCH, "collect", "--json", "--dir", f"/proc/{pids[0]}/root{play.boxes}")
        said = stage.wait_until(lambda: [line for _, line in collector.err.lines if "watching 4 ranks" in line], 60)
        failures.check(said, f"its ranks are watched: {collector.err.text_now()}")
        if said and "with eBPF" not in said[0]:
            print(f"skipped: without eBPF causes are of threads that may not be named: {said[0]}")
            failures.end()
        found = stage.wait_until(lambda: late_for_a_lock(collector), 60)
        seen = [(value["level"], [(where["rank"], where["pid"] in pids) for where in value["where"]]) for value in found
                or []]
        failures.check(found and seen[0] == ("ebpf", [(1, True)]),
                       f"rank 1 is late for a lock, seen by the kernel, under its pid outside: {seen}")
        collector.popen.terminate()  # so that it takes its lock away
        failures.check(collector.wait(20) is not None, "the collector ends when it is asked to")
        if not found:
            print(collector.err.text_now(), [value.get("text") for _, value in collector.out.json()])
    failures.end()


if __name__ == "__main__":
    if not stage.ROOT:
        stage.skip("only root can make a pid namespace")
    if subprocess.run([*CONTAINER, "true"], capture_output=True).returncode:
        stage.skip("no pid namespace can be had here (unshare --pid --mount-proc)")
    main()
