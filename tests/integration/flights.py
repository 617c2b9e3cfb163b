# SPDX-License-Identifier: MIT
"""Which operations were in flight when a job ended, worked out from `rankwatch dump` alone: what `rankwatch report` has
to agree with, found by another way than its analysis."""


class Rank:
    """What one rank did on one communicator: names of operations in the order of their calls, and which ended."""

    def __init__(self):
        self.names = []
        self.done = set()


def _name(operation):
    return operation["function"], operation["sequence"]


def _by_communicator(lines):
    """{communicator: {rank: Rank}}; gpu_done of the communicator tells more than the drain thread had time to note."""
    gpu_done = {(line["rank"], line["comm_id"]): line["gpu_done"] for line in lines if line["part"] == "communicator"}
    communicators = {}
    operations = [line for line in lines if line["part"] == "operation" and "untracked" not in line.get("flags", [])]
    for line in sorted(operations, key=lambda line: line["ticket"]):
        if "comm_id" not in line:
            continue
        rank = communicators.setdefault(line["comm_id"], {}).setdefault(line["rank"], Rank())
        rank.names.append(_name(line))
        progress = line.get("progress", 0)
        if "done" in line["known"] or 0 < progress <= gpu_done.get((line["rank"], line["comm_id"]), 0):
            rank.done.add(_name(line))
    return communicators


def oldest_in_flight(lines):
    """{communicator: (function, sequence, ranks that joined, ranks that are missing)} from the lines of a dump."""
    sizes = {line["comm_id"]: line["comm_size"] or 0 for line in lines if line["part"] == "communicator"}
    world = {line["rank"] for line in lines}
    flights = {}
    for communicator, ranks in _by_communicator(lines).items():
        # A rank that died in its init is a member of the communicator of all ranks, of which it recorded nothing.
        members = world if sizes.get(communicator) == len(world) else set(ranks)
        order = max((rank.names for rank in ranks.values()), key=len)
        unfinished = [name for name in order
                      if any(name in rank.names and name not in rank.done for rank in ranks.values())]
        if not unfinished:
            continue
        name = unfinished[0]
        joined = sorted(number for number, rank in ranks.items() if name in rank.names)
        flights[communicator] = (*name, joined, sorted(members - set(joined)))
    return flights


def reported(values):
    """The same from the lines of `rankwatch report --json`."""
    flights = {}
    for value in values:
        flight = value.get("flight")
        if flight:
            flights[flight["comm"]] = (flight["function"], flight["sequence"],
                                       sorted(entry["rank"] for entry in flight["joined"]),
                                       sorted(entry["rank"] for entry in flight["missing"]))
    return flights
