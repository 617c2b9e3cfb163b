#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_products.py LIBRARY [alone]: how much longer real matrix products take beside scans, by the scans' blocks and
priority, and how fast the scans are there. One JSON line each. alone: only that the library works, without PyTorch.
77: no PyTorch with CUDA."""

import ctypes
import json
import sys

SIZE, PRODUCTS, BYTES, TRIES = 8192, 10, 1 << 30, 5
GRIDS = (8, 24, 32, 48, 64, 132, 264)


def tell(what, **more):
    print(json.dumps({"what": what, **more}), flush=True)


def load(path):
    library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)  # the stand-in looks for its kernels by name
    library.products_open.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    library.products_scan.argtypes = [ctypes.c_uint64, ctypes.c_uint]
    library.products_stream.restype = ctypes.c_uint64
    library.products_nan.restype = ctypes.c_uint32
    return library


def alone(library):
    """On whatever driver there is: one NaN in device memory is found."""
    driver, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    values = (ctypes.c_uint16 * 100000)(*([0x3f80] * 100000))
    values[777] = 0x7fc0
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(values))) == 0
    assert driver.cuMemcpyHtoD_v2(memory, values, ctypes.c_size_t(ctypes.sizeof(values))) == 0
    library.products_open(memory, len(values))
    library.products_scan(library.products_stream(0), 8)
    assert driver.cuCtxSynchronize() == 0
    assert library.products_nan() == 1, library.products_nan()
    tell("the library alone", text="finds the NaN that was put there")


class Bench:
    def __init__(self, torch, library):
        self.torch, self.library = torch, library
        self.main = torch.cuda.Stream()
        self.a, self.b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        self.c = torch.empty_like(self.a)
        self.scanned = torch.ones(BYTES // 2, device="cuda", dtype=torch.bfloat16)
        library.products_open(self.scanned.data_ptr(), BYTES // 2)
        torch.cuda.synchronize()

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def products_ms(self, side=None, blocks=0, scans=0):
        """(ms of the products, ms of the scans beside them, ms in which no scan of them was left), medians."""
        found = []
        for _ in range(TRIES + 1):
            self.torch.cuda.synchronize()
            begin, end, first, last = (self.event() for _ in range(4))
            if scans:
                with self.torch.cuda.stream(side):
                    first.record()
                    for _ in range(scans):
                        self.library.products_scan(side.cuda_stream, blocks)
                    last.record()
            with self.torch.cuda.stream(self.main):
                begin.record()
                for _ in range(PRODUCTS):
                    self.torch.mm(self.a, self.b, out=self.c)
                end.record()
            self.torch.cuda.synchronize()
            found.append((begin.elapsed_time(end), first.elapsed_time(last) if scans else 0.0))
        return [sorted(values)[TRIES // 2] for values in zip(*found[1:])]

    def scan_ms(self, side, blocks):
        """One scan with the GPU to itself."""
        self.torch.cuda.synchronize()
        begin, end = self.event(), self.event()
        with self.torch.cuda.stream(side):
            for _ in range(3):
                begin.record()
                self.library.products_scan(side.cuda_stream, blocks)
                end.record()
        self.torch.cuda.synchronize()
        return begin.elapsed_time(end)

    def measure(self):
        base, _ = self.products_ms()
        tell(f"{PRODUCTS} bf16 products of {SIZE}", value=base, unit="ms")
        tell("they reach", value=2 * SIZE**3 * PRODUCTS / base / 1e9, unit="TFLOP/s")
        for greatest, name in ((0, "the least"), (1, "the greatest")):
            side = self.torch.cuda.ExternalStream(self.library.products_stream(greatest))
            for blocks in GRIDS:
                what = f"beside scans of {blocks} blocks, {name} priority"
                single = self.scan_ms(side, blocks)
                # As many as the products last.
                scans = max(1, round(base / single))
                beside, scanning = self.products_ms(side, blocks, scans)
                tell(f"products {what}: longer by", value=(beside / base - 1) * 100, unit="%")
                tell(f"products {what}: {scans} scans longer by", value=(scanning / (single * scans) - 1) * 100,
                     unit="%")
                tell(f"products {what}: taken from the products for each scanned GB",
                     value=(beside - base) * 1e3 / (scans * BYTES / 1e9), unit="us")


def no_torch(why):
    print(why, file=sys.stderr)
    sys.exit(77)


def main():
    library = load(sys.argv[1])
    if sys.argv[2:] == ["alone"]:
        alone(library)
        return
    try:
        import torch
    except ImportError:
        alone(library)
        no_torch("there is no PyTorch here")
    if not torch.cuda.is_available():
        no_torch("this PyTorch has no CUDA")
    torch.cuda.init()
    Bench(torch, library).measure()


if __name__ == "__main__":
    main()
