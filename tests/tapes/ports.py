#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recorded job beside network ports that flap, or do not: from files of /sys to the finding, by the collector's own
code."""

import json
import os
import re
import subprocess
import tempfile

from recorded import HERE, PLAYER, check, finish

PORT = "sys/class/infiniband/mlx5_{}/ports/1/"


def healthy_ports():
    lines = []
    for device in range(4):
        port = PORT.format(device)
        lines += [(0, f"sys/class/infiniband/mlx5_{device}/board_id", "MT_0000000838"),
                  (0, port + "state", "4: ACTIVE"),
                  (0, port + "rate", "400 Gb/sec (4X NDR)"), (0, port + "counters/link_downed", "3"),
                  (0, port + "counters/symbol_error", "17")]
        # What a busy network counts all the time.
        lines += [(at, port + "hw_counters/np_cnp_sent", str(1000000 + 10 * at)) for at in range(0, 40000, 500)]
    return lines


def flapping_ports():
    port = PORT.format(2)
    return sorted(healthy_ports() + [
        (5700, port + "counters/link_downed", "4"), (5700, port + "counters/symbol_error", "1231"),
        (5700, port + "state", "1: DOWN"),
        (7400, port + "counters/link_downed", "5"), (7400, port + "state", "4: ACTIVE")], key=lambda line: line[0])


def play(name, level, lines=None):
    with tempfile.NamedTemporaryFile("w", suffix=".ports") as script:
        environment = dict(os.environ)
        if lines:
            script.writelines(f"{at} {path} {text}\n" for at, path, text in sorted(lines, key=lambda line: line[0]))
            script.flush()
            environment["TEST_TAPE_PORTS"] = script.name
        done = subprocess.run([PLAYER, HERE / f"{name}.tape", level], capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"{name} at level {level} is played {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def said_of_ports(told):
    return [piece["what"] for piece in told["finding"].get("evidence") or [] if piece["source"] == "port"]


def without_ports(told):
    """What is said of everything else, and each change of it once."""
    kept = []
    for one in told:
        finding = one["finding"]
        key = {name: finding[name]
               for name in ("kind", "ranks", "scope", "severity", "confidence", "cause", "advice", "state")}
        if not kept or kept[-1] != key:
            kept.append(key)
    return kept


def main():
    plain = play("slow-link", "proc")
    told = play("slow-link", "proc", flapping_ports())
    slow = [one for one in told if one["finding"]["kind"] == "slowdown" and one["finding"]["state"] != "closed"]
    check(bool(slow) and all(len(said_of_ports(one)) == 1 for one in slow), "slow transfers say what one port showed")
    said = said_of_ports(slow[-1])[0] if slow else ""
    found = re.fullmatch(r"mlx5_2 port 1: link went down twice, symbol errors \+1,214 "
                         r"\(between (\d+) s before and (\d+) s after it began\)", said)
    check(found is not None and max(int(found[1]), int(found[2])) <= 4, said)
    check(without_ports(told) == without_ports(plain), "and name and blame nobody else for it")

    calm = play("slow-link", "proc", healthy_ports())
    check(not any(said_of_ports(one) for one in calm) and len(calm) == len(plain),
          "nothing is said of ports that are healthy")
    check(not any(said_of_ports(one) for one in play("slow-link", "report", flapping_ports())),
          "from boxes alone nothing is known of ports")
    check(not play("healthy", "proc", flapping_ports()), "a healthy job is silent, whatever its ports count")
    finish()


main()
