#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""missing_over_hosts.py CROSSED: ranks that do not come to the making of a communicator over several hosts, so that the
others wait in ncclCommInitRank, and no host sees enough of them to know for whom. Who hears all hosts names the rank,
and nobody else."""

import contextlib
import os
import pathlib
import signal
import sys

import nodes
import stage

NAMED_S = 60  # after 10 s of waiting
PRELOAD = {"LD_PRELOAD": f"{stage.PLUGIN_DIR}/{stage.PLUGIN}"}


class Job(nodes.Job):
    """Collectors as `rankwatch run` starts them: they know whose boxes they read before there is any."""

    def start_node(self, host, *more):
        directory = self.play.boxes / f"host-{host}"
        directory.mkdir(mode=0o700, exist_ok=True)
        self.nodes[host] = self.play.start(stage.RANKWATCH, "collect", "--host", f"host-{host}", *more,
                                           RANKWATCH_NATS=self.url,
                                           RANKWATCH_DIR=directory)


def check(failures, play, job, half, ranks, rank, host, waiting):
    found = stage.wait_until(lambda: nodes.findings(half), NAMED_S)
    told = [(value["kind"], value["ranks"], value["confidence"], value["operation"]["phase"], value["late"]["waiting"])
            for value in found or []]
    expected = ("hang", [rank], "likely", "init", waiting)
    failures.check(told and all(one == expected for one in told),
                   f"the rank that does not come is named, and nobody else, however often it is told: {told}")
    failures.check(found and found[0]["where"][0]["host"] == host and found[0]["cause"]["text"],
                   f"where, and what it does: {found}")
    os.killpg(ranks.popen.pid, signal.SIGKILL)
    ranks.wait(30)
    for node in job.nodes.values():
        nodes.end(node, failures, "a node's collector")
        failures.check(" HANG " not in node.out.text_now(), "which no node could")
    failures.check(half.wait(90) == 0, "the reader ends with them")
    if failures.count:
        print(*(process.err.text() for process in (ranks, half, *job.nodes.values())), half.out.text(), sep="\n---\n")


LATER = [  # what the rank does not come to, and who waits for it
    (("--fault=never", "--fault-step=1"), [4, 6, 7]),
    (("--eager", "--fault=split-never"), [0, 1, 2, 3, 4, 6, 7]),
]


def later_communicator(failures):
    """A rank stops before it has used a communicator of its tensor parallel group, which lies on two of four hosts;
    another one before the world's communicator is split."""
    with contextlib.ExitStack() as stages:
        plays = []
        for arguments, waiting in LATER:
            play = stages.enter_context(stage.Stage())
            server = nodes.Server(play.dir)
            job = nodes.Job(play, server, 4)
            half = job.start_half("--until-idle")
            nodes.await_said(failures, half, "hears 4 hosts", "all hosts are heard")
            job.start_ranks(8, "--mesh=fsdp=2,tp=4", "--fault-rank=5", *arguments, **PRELOAD)
            plays.append((play, server, job, half, waiting))
        for play, server, job, half, waiting in plays:
            check(failures, play, job, half, job.ranks, 5, "host-2", waiting)
            server.kill()


def first_communicator(failures, crossed):
    """The only rank of its host has not called NCCL yet: its collector has no black box, and no host has ever told
    anything of it."""
    with stage.Stage() as play:
        server = nodes.Server(play.dir)
        job = Job(play, server, 3)
        half = job.start_half("--until-idle")
        nodes.await_said(failures, half, "hears 3 hosts", "all hosts are heard")
        prepares = play.start("sleep", "600", RANK="1", WORLD_SIZE="3", LOCAL_RANK="0", SLURMD_NODENAME="host-1")
        ranks = play.start(crossed, 3, "without", play.boxes, **play.plugin(), **PRELOAD)
        check(failures, play, job, half, ranks, 1, "host-1", [0, 2])
        os.killpg(prepares.popen.pid, signal.SIGKILL)
        server.kill()


def main():
    failures = stage.Failures()
    first_communicator(failures, pathlib.Path(sys.argv[1]))
    later_communicator(failures)
    failures.end()


if __name__ == "__main__":
    main()
