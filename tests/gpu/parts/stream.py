#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two stream memory operations, two events, two stamp kernels around an AllReduce: host ns and stream us that they add,
on an idle GPU and on a filled one. With one rank (NCCL copies, and waits for nobody) and with two."""

import part


ALONE = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": "0", "NCCL_RAS_ENABLE": "0"}


def tell(self, name, done, lines, where):
    """What gpu_around and gpu_write print."""
    self.check(done.status == 0 and len(done.json()) == lines, f"{name}{where}{done.why()}")
    for line in done.json():
        gpu = "filled GPU" if line["filled"] else "idle GPU"
        what = (f"{line['method']} around {line['around']}, {line['ranks']} rank{'s' * (line['ranks'] > 1)}, "
                f"{gpu}{where}")
        if line["method"] == "nothing":
            self.number(f"{what}: stream time", line["stream_us"], "us")
            continue
        self.number(f"{what}: added host time", line["added_host_ns"], "ns")
        self.number(f"{what}: added stream time", line["added_stream_us"], "us")
    early = sum(line["unfilled"] for line in done.json() if line["method"] == "nothing")
    self.note(f"{name}{where}: samples that outlived the kernel that fills the GPU", early)


def measure(self, how, seconds, repeat, environment, where=""):
    done = part.run([part.PROGRAMS / "gpu_around", how, seconds, repeat], 60, **environment)
    tell(self, f"gpu_around {how}", done, 30, where)


def main():
    self = part.Part("stream")
    measure(self, "alone", *(("0.1", "4") if part.STAND_IN else ("1.5", "20")), ALONE)
    if part.Pair.file.exists():
        pair = part.Pair(self)
        measure(self, pair.how, *(("0.1", "1") if part.STAND_IN else ("3", "1")), pair.environment)
    self.end()


if __name__ == "__main__":
    main()
