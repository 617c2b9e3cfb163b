#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank stops before it has used a communicator of its tensor parallel group, which lies on two of four hosts: the others wait in ncclCommInitRank, and
neither host sees enough of them to know whom they wait for. Who hears all hosts names the rank, and nobody else."""

import os
import signal

import nodes
import stage

LATE = 5
NAMED_S = 60  # after 10 s of waiting


def main():
    failures = stage.Failures()
    with stage.Stage() as play:
        server = nodes.Server(play.dir)
        job = nodes.Job(play, server.url(), 4)
        half = job.start_half("--until-idle")
        nodes.await_said(failures, half, "hears 4 hosts", "all hosts are heard")
        job.start_ranks(8, "--mesh=fsdp=2,tp=4", "--fault=never", f"--fault-rank={LATE}", "--fault-step=1",
                        LD_PRELOAD=f"{stage.PLUGIN_DIR}/{stage.PLUGIN}")
        found = stage.wait_until(lambda: nodes.findings(half), NAMED_S)
        told = [(value["kind"], value["ranks"], value["confidence"], value["operation"]["phase"], value["late"]["waiting"]) for value in found or []]
        failures.check(told == [("hang", [LATE], "likely", "init", [4, 6, 7])], f"the rank that does not come is named: {told}")
        failures.check(found and found[0]["where"][0]["host"] == "host-2" and found[0]["cause"]["text"], f"where, and what it does: {found}")
        os.killpg(job.ranks.popen.pid, signal.SIGKILL)
        job.ranks.wait(30)
        for node in job.nodes.values():
            nodes.end(node, failures, "a node's collector")
            failures.check(" HANG " not in node.out.text_now(), "which no node could")
        failures.check(half.wait(90) == 0, "the reader ends with them")
        if failures.count:
            print(*(process.err.text() for process in (half, *job.nodes.values())), half.out.text(), sep="\n---\n")
        server.kill()
    failures.end()


if __name__ == "__main__":
    main()
