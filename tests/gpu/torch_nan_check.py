#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch itself has against NaN, timed over 1 GiB: torch.any(torch.isnan(x)), the operator c10d.check_for_nan
where there is one, and TORCH_NCCL_NAN_CHECK as shipped, by a communicator of one rank with and without it. One JSON
line each. 77: no PyTorch with CUDA."""

import json
import os
import subprocess
import sys

BYTES, CALLS, TRIES = 1 << 30, 5, 5


def tell(what, **more):
    print(json.dumps({"what": what, **more}), flush=True)


def milliseconds(torch, work):
    """Stream time of one call, median."""
    times = []
    for _ in range(TRIES + 1):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(CALLS):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / CALLS)
    return sorted(times[1:])[TRIES // 2]


def speed(torch, what, work):
    tell(what, value=BYTES / 1e6 / milliseconds(torch, work), unit="GB/s")


def operators(torch, name, x):
    speed(torch, f"{name}: torch.any(torch.isnan(x)), PyTorch {torch.__version__}", lambda: torch.any(torch.isnan(x)))
    speed(torch, f"{name}: torch.isfinite(x).all()", lambda: torch.isfinite(x).all())
    speed(torch, f"{name}: x.abs().max()", lambda: x.abs().max())
    try:
        check = torch.ops.c10d.check_for_nan
    except AttributeError:
        tell(f"{name}: torch.ops.c10d.check_for_nan", text="not in this PyTorch")
        return
    speed(torch, f"{name}: torch.ops.c10d.check_for_nan", lambda: check(x))


def communicator(torch):
    """In a process of its own: AllReduce in place on one rank, which is nothing but what PyTorch adds."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1")
    torch.distributed.init_process_group("nccl")
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        x = torch.ones(BYTES // dtype.itemsize, dtype=dtype, device="cuda")
        tell(name, ms=milliseconds(torch, lambda: torch.distributed.all_reduce(x)))
    torch.distributed.destroy_process_group()


def all_reduce_ms(check):
    done = subprocess.run([sys.executable, __file__, "communicator"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TORCH_NCCL_NAN_CHECK": check})
    return {line["what"]: line["ms"] for line in map(json.loads, filter(None, done.stdout.splitlines()))}


def as_shipped():
    without, with_check = all_reduce_ms("0"), all_reduce_ms("1")
    for name in ("bf16", "fp32"):
        what = f"{name}: TORCH_NCCL_NAN_CHECK as shipped"
        if name not in with_check or name not in without:
            tell(what, text="its process failed")
        elif with_check[name] - without[name] < 0.02:
            tell(what, text="makes no difference here: not checked for one rank")
        else:
            tell(what, value=BYTES / 1e6 / (with_check[name] - without[name]), unit="GB/s")


def driver_error(torch):
    """Does a failing driver call of somebody else, as ours would be, become the runtime's last error?"""
    import ctypes
    driver, pointer = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    error = driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 60))
    try:
        torch.ones(4, device="cuda").sum().item()
        after = "the program goes on"
    except RuntimeError as raised:
        after = f"the program's next call fails: {raised}"
    tell("after a driver call that failed", text=f"CUDA error {error}, then {after}")


def main():
    try:
        import torch
    except ImportError:
        no_torch("there is no PyTorch here")
    if not torch.cuda.is_available():
        no_torch("this PyTorch has no CUDA")
    if sys.argv[1:] == ["communicator"]:
        communicator(torch)
        return
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        operators(torch, name, torch.ones(BYTES // dtype.itemsize, dtype=dtype, device="cuda"))
    as_shipped()
    driver_error(torch)


def no_torch(why):
    print(why, file=sys.stderr)
    sys.exit(77)


if __name__ == "__main__":
    main()
