#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""meshes_over_hosts.py [NAME…]: the jobs of meshes.py with their ranks on four hosts, whose collectors publish through
a real nats-server: who hears them all must name the slow GPU, or the slow stage, within seconds, and nobody else.
Without a name a selection; RANKWATCH_TEST_LONG=1: all."""

import sys

import meshes
import nodes
import stage

HOSTS = 4
FAULT_STEP, STEPS = 24, 60  # for some seconds a host does not know yet which ranks it will not see
STEP_MS = 200  # ranks, collectors and server share two processors: where a step waits for these, no GPU makes it longer
WITHIN_STEPS, MORE_S = 12, 6.0  # six late rows, and what rows take to come together
SELECTION = ("tensor", "tensor, healthy")
ALL = [name for name, (arguments, _) in meshes.JOBS.items() if "--hosts=2" not in arguments]


def named(half):
    return [(at_ns, finding) for at_ns, finding in half.out.json()
            if finding.get("kind") == "straggler" and finding["state"] != "closed" and
            finding["severity"] != "notice" and finding["confidence"] != "inconclusive"]


def judge(failures, play, name, job, half, slow_ranks):
    wrong = [finding["text"] for _, finding in named(half) if not set(finding["ranks"]) <= set(slow_ranks)]
    failures.check(not wrong, f"{name}: nobody else is named {wrong or ''}", always=True)
    if not slow_ranks:
        return
    found = {rank for _, finding in named(half) for rank in finding["ranks"]}
    failures.check(found == set(slow_ranks), f"{name}: ranks {slow_ranks} are named, and {sorted(found)} were")
    if found:
        after_s = (named(half)[0][0] - meshes.fault_begins_ns(play)) / 1e9
        limit_s = meshes.limit_s(job.ranks, FAULT_STEP, WITHIN_STEPS, MORE_S)
        print(f"{name}: named after {after_s:.1f} s: {named(half)[0][1]['text']}", flush=True)
        failures.check(after_s <= limit_s, f"{name}: after {after_s:.1f} s, limit {limit_s:.1f} s")


def play_job(failures, name):
    arguments, slow_ranks = meshes.JOBS[name]
    arguments = [f"--fault-step={FAULT_STEP}" if argument.startswith("--fault-step") else argument
                 for argument in arguments]
    with stage.Stage() as play:
        server = nodes.Server(play.dir)
        job = nodes.Job(play, server, HOSTS)
        half = job.start_half("--until-idle", "--json")
        nodes.await_said(failures, half, f"hears {HOSTS} hosts", f"{name}: all hosts are heard")
        job.ranks = play.start(*stage.workload(f"--hosts={HOSTS}", f"--box-dirs={play.boxes}", "--limit=90",
                                               f"--steps={STEPS}", *arguments, f"--step-ms={STEP_MS}"),
                               **play.plugin())
        status = job.ranks.wait(120)
        failures.check(status == 0, f"{name}: status {status} {job.ranks.err.text() if status else ''}", always=True)
        for node in job.nodes.values():
            nodes.end(node, failures, f"{name}: a node's collector")
        failures.check(half.wait(90) == 0, f"{name}: who hears them ends with them")
        judge(failures, play, name, job, half, slow_ranks)
        server.kill()


def main(names):
    failures = stage.Failures(on_time=True)
    for name in names or (ALL if stage.LONG else SELECTION):
        play_job(failures, name)
    failures.end()


if __name__ == "__main__":
    main(sys.argv[1:])
