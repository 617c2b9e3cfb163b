#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two ranks on one GPU: which settings of NCCL allow it. The best that works is what the other parts use; `quick`: no
other is tried."""

import json
import sys

import part

QUIET = {"NCCL_NVLS_ENABLE": "0", "NCCL_RAS_ENABLE": "0", "NCCL_MNNVL_ENABLE": "0"}
LOOPBACK = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
# name, a host of its own for each process, settings; best first.
VARIANTS = [
    ("NCCL_HOSTID per process, sockets", True, {**LOOPBACK, **QUIET}),
    ("NCCL_HOSTID per process, sockets, 2 channels", True, {**LOOPBACK, **QUIET, "NCCL_MAX_NCHANNELS": "2"}),
    ("NCCL_MULTI_RANK_GPU_ENABLE", False, {**QUIET, "NCCL_SOCKET_IFNAME": "lo", "NCCL_MULTI_RANK_GPU_ENABLE": "1"}),
    ("NCCL_HOSTID per process and NCCL_SOCKET_IFNAME alone", True, {"NCCL_SOCKET_IFNAME": "lo"}),
    ("nothing set", False, {"NCCL_SOCKET_IFNAME": "lo"}),
]
LIMIT_S = 20


def main():
    self = part.Part("pair")
    quick = part.STAND_IN or sys.argv[1:] == ["quick"]
    chosen = None
    for name, hosts, environment in VARIANTS:
        done = part.run([part.PROGRAMS / "gpu_calls", "hosts" if hosts else "two"], LIMIT_S, NCCL_DEBUG="WARN",
                        **environment)
        works = done.status == 0 and bool(done.json())
        self.note(name, "works, results right" if works else done.reason())
        if works and not chosen:
            chosen = {"name": name, "hosts": hosts, "environment": environment}
        if chosen and quick:
            break
    if self.check(chosen, "two ranks share one GPU" + (f": {chosen['name']}" if chosen else "")):
        part.Pair.file.write_text(json.dumps(chosen))
        settings = " ".join(f"{key}={value}" for key, value in chosen["environment"].items())
        self.note("settings", settings)
        if not quick:
            part.run([part.PROGRAMS / "gpu_calls", "hosts" if chosen["hosts"] else "two"], LIMIT_S, NCCL_DEBUG="INFO",
                     **chosen["environment"])  # into the log: transports, channels, plugins
    self.end()


if __name__ == "__main__":
    main()
