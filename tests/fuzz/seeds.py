#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the kept corpus of tests/fuzz/damaged_box.h: seeds.py DIRECTORY. One damage a file, offsets of layout 1."""
import pathlib
import struct
import sys

RING, WAITS, SAMPLES, GPU, COMMS = 688128, 655360, 393216, 327680, 12288
LATER = 0x80


def change(offset, data, when=0):
    return struct.pack("<BI", when | len(data), offset) + data


def cut(offset, when=0):
    return struct.pack("<BI", when, offset)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def slot(number, field):
    return RING + number * 256 + field


def step_mark(number, step, group=0, when=0):
    """Slot `number` becomes a step mark. First what it is, then what it says, as no writer would."""
    return (change(slot(number, 8), u32(1 << 12), when) + change(slot(number, 24), u64(step), when)
            + change(slot(number, 60), u32(group), when))


def replay(number, call, times):
    """Slot `number` becomes a replay with the times of its kernel: seen to begin and end, began and ended by the GPU's
    clock."""
    return (change(slot(number, 8), u32(0xEB) + u32(0) + u32(2))
            + change(slot(number, 32), u64(2**63 | call << 40 | number) + u64(number))
            + change(slot(number, 128), struct.pack("<4Q", *times)))


def replays(times):
    return (change(COMMS + 120, u64(9)) + change(COMMS + 248, u64(9))
            + b"".join(replay(i, i % 3, times(i)) for i in range(9, 39)))


SEEDS = {
    "good": b"",
    "step-marks": step_mark(3, 5) + step_mark(11, 6) + step_mark(19, 7) + step_mark(27, 3) + step_mark(35, 4),
    "step-marks-later": step_mark(3, 5) + step_mark(11, 6, when=LATER) + step_mark(19, 7, when=LATER),
    "step-mark-first": step_mark(0, 0) + step_mark(1, 1),
    "step-marks-garbage": step_mark(2, 2**64 - 1) + step_mark(4, 2**53) + step_mark(6, 2**53 - 1, 9)
    + step_mark(7, 2**53 - 1, 2**32 - 1),
    "step-marks-tags": b"".join(step_mark(i, i + 1, 1) for i in range(1, 39, 2)) + step_mark(39, 0, 1),
    "step-mark-of-an-operation": change(slot(5, 8), u32(1 << 12 | 1)),
    "step-mark-late": step_mark(9, 8) + change(slot(9, 64), u64(2**63)),
    "magic": change(0, b"X"),
    "layout": change(8, u32(2)),
    "header-size": change(12, u32(0)),
    "required-feature": change(16, u64(1)),
    "optional-feature": change(24, u64(1)),
    "total-size": change(32, u64(2**64 - 1)),
    "control-offset": change(40, u64(0)),
    "comms-offset": change(48, u64(2**64 - 8)),
    "gpu-offset": change(56, u64(COMMS)),
    "samples-offset": change(64, u64(SAMPLES + 1)),
    "ring-offset": change(72, u64(2**63)),
    "comm-slots": change(80, u32(0xFFFFFFFF)),
    "sample-slots": change(84, u32(0)),
    "sample-slots-few": change(84, u32(3)),
    "ring-slots": change(88, u32(2**31)),
    "operation-size": change(92, u32(255)),
    "orphan": change(96, b"!"),
    "texts": change(176, b"h" * 127) + change(303, b"h" * 127),
    "head-far": change(6400, u64(2**63)),
    "head-lapped": change(6400, u64(1024 + 40)),
    "head-lapped-later": change(6400, u64(1024 + 40), LATER),
    "head-lapped-orphan": change(96, b"!") + change(6400, u64(1024 + 40)),
    "head-back-later": change(6400, u64(3), LATER),
    "head-jump-later": change(6400, u64(2**40), LATER),
    "comms-used": change(6400 + 64 + 8 + 64 + 16, u64(2**40)),
    "samples-head": change(6400 + 64 + 8 + 64 + 32, u64(2**64 - 1)),
    "samples-head-back-later": change(6400 + 64 + 8 + 64 + 32, u64(1), LATER),
    "cut-header": cut(100),
    "cut-ring": cut(RING + 1000),
    "cut-later": cut(RING + 1000, LATER),
    "layout-later": change(88, u32(2048), LATER),
    "ticket-zero": change(slot(3, 0), u64(0)),
    "ticket-older-pending": change(slot(3, 0), u64(2) + u32(1) + u32(1)),
    "ticket-far": change(slot(3, 0), u64(2**63)),
    "comm-index": change(slot(3, 20), b"\xff\xff\xff\xff"),
    "api-time-end": change(slot(3, 64), u64(2**63 - 1)),
    "api-time-beyond": change(slot(3, 64), u64(2**64 - 1)),
    "done-time-beyond": change(slot(3, 136), u64(2**64 - 1)),
    "orphan-times": change(96, b"!") + b"".join(change(slot(i, 64), u64(i * 7 * 10**11)) for i in range(12)),
    "drain-beyond": change(6400 + 64 + 8 + 64 + 40, u64(2**64 - 1)),
    "name": change(COMMS + 8, b"n" * 64),
    "ended-before-born": change(COMMS + 96, u64(1)),
    "sample-kind": change(SAMPLES + 20, b"\xff"),
    "sample-piece": change(SAMPLES + 64 + 21, b"\xff"),
    "sample-text": change(SAMPLES + 40, b"t" * 24) + change(SAMPLES + 104, b"t" * 24),
    "sample-time": change(SAMPLES + 8, u64(2**64 - 1)),
    "waits-offset": change(6144, u64(RING)),
    "waits-offset-samples": change(6144, u64(SAMPLES)),
    "waits-slots": change(6152, u32(0xFFFFFFFF)),
    "waits-none": change(24, u64(0)) + change(6144, u64(2**64 - 8)),
    "waits-offset-later": change(6144, u64(COMMS), LATER),
    "waits-slots-later": change(6152, u32(513), LATER),
    "wait-key": change(WAITS, b"\xff" * 64),
    "wait-back-later": change(WAITS + 8, b"\x00" * 56, LATER),
    "wait-key-later": change(WAITS, u64(2**63), LATER),
    "wait-times": change(WAITS + 8, u64(2**64 - 1) + u64(0) + u64(2**64 - 1) * 4),
    "leased-for-ever": change(6160, u64(2**64 - 1)),
    "progress": change(GPU, b"\xff" * 16),
    "rank-lowest": change(COMMS + 76, u32(2**31)),
    "rank-highest": change(COMMS + 76, u32(2**31 - 1)),
    "rank-of-another": change(COMMS + 76, u32(1)),
    "ranks-most": change(COMMS + 80, u32(2**31 - 1)),
    "ranks-unknown": change(COMMS + 80, u32(0) + u32(0)),
    "world-rank-lowest": change(352, u32(2**31) + u32(2**31)),
    "world-rank-highest": change(352, u32(2**31 - 1) + u32(2**31 - 1)),
    "world-rank-unknown": change(352, u32(2**32 - 1) + u32(2**32 - 1)),
    "watchdog-endless": change(368, u64(2**64 - 1) * 2),
    "mesh": change(3072, b"RANKWATCH_MESH=a=2,b=1\0") + change(COMMS + 76, u32(2**31)),
    "realtime-beyond": change(160, u64(2**64 - 1) * 2),
    "communicators-alike": change(COMMS + 256, u64(1)),
    "call-of-another-kind": change(slot(9, 22), b"\x01\x08" + u64(2**64 - 1) + u64(9)),
    "call-to-a-peer": b"".join(change(slot(i, 22), b"\x09") + change(slot(i, 112), u32(2**31)) for i in range(9, 20)),
    "sequence-far": change(slot(9, 32), u64(2**64 - 1)) + change(slot(10, 32), u64(2**63)),
    "count-largest": b"".join(change(slot(i, 23), b"\x08" + u64(2**64 - 1)) for i in range(9, 20)),
    "scanned": b"".join(change(slot(i, 8), u32(2**32 - 1)) + change(slot(i, 176), (u32(2**32 - 1) * 2 + u64(2**64 - 1))
                        + u32(0x7F800001) + u32(2**32 - 1) + u64(i)) for i in range(9, 20)),
    "gpu-times-backwards": b"".join(change(slot(i, 8), u32(2**32 - 1)) + change(slot(i, 144), u64(2**64 - 1) + u64(0))
                                    for i in range(9, 20)),
    "replays": replays(lambda i: (2 * 10**9 + i * 10**7, 2 * 10**9 + i * 10**7 + 10**6, 10**18 + i * 10**7, 10**18
                                  + i * 10**7 + 10**6)),
    "replays-backwards": replays(lambda i: (5, 3, 10**18 + i, i)),
    "replays-far": replays(lambda i: (2**64 - 1, 2**64 - 1 - i, 2**64 - 1 - i, 2**64 - 1)),
    "replays-before-time": replays(lambda i: (1, 2 * 10**9 + i, 0, 2**63 + i * 2**40)),
    "replays-more-than-captured": replay(9, 1, (1, 2, 3, 4)) + change(COMMS + 120, u64(1))
    + change(COMMS + 248, u64(2**64 - 1)),
    "replays-earlier-format": change(COMMS + 128, b"\xff" * 96),
    "versions": change(420, b"\xff" * 12),
    "devices": change(504, b"\xff" * 64),
}

directory = pathlib.Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
for name, data in SEEDS.items():
    (directory / name).write_bytes(data)
