#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Registration of the black box's pages with the driver: does it work, how long does it take, who sees what the GPU
writes."""

import part


def main():
    self = part.Part("page")
    done = part.run([part.PROGRAMS / "gpu_page", part.WORK_SHARED], 60)
    self.check(done.status == 0 and len(done.json()) == 3, f"every kind of memory tried{done.why()}")
    for line in done.json():
        name, in_shared_memory = line["kind"], "tmpfs" in line["kind"]
        if not self.check(line["error"] == 0, f"{name}: cuMemHostRegister gives CUDA error {line['error']} (0: none)"):
            continue
        self.number(f"{name}, {line['bytes'] >> 10} KiB: first registration", line["first_us"], "us")
        self.number(f"{name}: later registrations, median", line["median_us"], "us")
        self.check(line["written"] and line["stamped"], f"{name}: a stream memory operation and a kernel write into it")
        if in_shared_memory:
            self.check(line["seen_by_other"] and line["stamp_seen_by_other"], f"{name}: another process sees both")
        self.note(f"{name}: the same address on host and device", "yes" if line["same_address"] else "no")
    self.end()


if __name__ == "__main__":
    main()
