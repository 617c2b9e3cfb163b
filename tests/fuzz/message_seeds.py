#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the kept corpus of tests/fuzz/messages_target.c: message_seeds.py DIRECTORY. A small job on two to four hosts
a file."""
import pathlib
import struct
import sys

RANK, MEMBER, FLIGHT, CALLS, WHY, FINDING = 1, 2, 4, 5, 6, 7
ASK_CALLS, CALLED, INIT, ABSENT, ROW = range(11, 16)
ALL_GATHER, ALL_REDUCE = 1, 2
WHOLE, LAST = 0x80, 0x40
ARRIVED, HOLDS, STILL, AWAITS = 1, 4, 8, 16


def message(kind, rank, body, function=0, generation=0):
    return struct.pack("<BBHi", kind, function, generation, rank) + body.ljust(40, b"\0")


def rank(number, life=0, size=4, status=-1, sending=0, generation=0, age=1000):
    return message(RANK, number, struct.pack("<iiIiIBBh", 100 + number, size, 600000, status, age, life, sending, 0),
                   generation=generation)


def member(number, comm=7, size=4, flags=0):
    return message(MEMBER, number, struct.pack("<QiiiB19s", comm, size, number % max(size, 1), 2, flags, b"dp"))


def row(number, at, own, inside, comm=7, unseen=0, steps=1):
    us = [value % 2**32 for value in (own, inside, unseen, 0, own)]
    return message(ROW, number, struct.pack("<QII5IHH", comm, at, 8, *us, at * 24 % 2**16, steps), ALL_REDUCE)


def flight(number, sequence=9, function=ALL_REDUCE, age=4000, flags=ARRIVED | HOLDS, comm=7, peer=-1, awaits=0):
    return message(FLIGHT, number, struct.pack("<QQQIiBBBBi", comm, sequence, 1024, age, peer, 8, 5, flags, 0, awaits),
                   function)


def calls(number, following=9, function=ALL_REDUCE, comm=7):
    return message(CALLS, number, struct.pack("<QQQQI", comm, following, 2**64 - 1, 0, 3000), function)


def order(number, count, value, comm=7):
    return message(CALLS, number, struct.pack("<QQQQI", comm, 0, count, value, 0))


def called(number, index, value, function=ALL_REDUCE, elements=1024, shift=0, begin=0, comm=7):
    return message(CALLED, number, struct.pack("<QQQIIiBBB", comm, elements, value, begin, index, -1, shift, index, 8),
                   function)


def why(number, progress=2):
    return message(WHY, number, struct.pack("<IBBBB32s", 4000, progress, 2, 1, 0, b"fsync(2)"))


def finding(number, kind=0, state=0):
    return message(FINDING, number, struct.pack("<8BII24s", kind, state, 1, 1, 0, 1, 1, 0, 100000, 5000, b"fsync(2)"))


def init(number, age, comm=77, size=4, place=None, life=0, world=4):
    return message(INIT, number,
                   struct.pack("<QiiiiIIB", comm, size, number if place is None else place, world, 100 + number, age,
                               600000, life))


def absent(number, age, absence=2):
    return message(ABSENT, number, struct.pack("<iIBBBB28s", 100 + number, age, absence, 2, 1, 0, b"fsync(2)"))


def piece(flags, time, *messages):
    body = b"".join(messages)
    return struct.pack("<BBH", flags, time, len(body)) + body


def everybody(hosts=4, **how):
    return b"".join(piece(i, 0, rank(i, size=hosts, **how), member(i, size=hosts)) for i in range(hosts))


def steps(hosts=4, slow=2, count=40):
    text, owns, insides = everybody(hosts), [0] * hosts, [0] * hosts
    for step in range(1, count):
        for i in range(hosts):
            own = 1600000 + (400000 if i == slow and step > 12 else 1000 * ((step + i) * 7 % 11))
            owns[i] += own
            insides[i] += 2100000 - own
            text += piece(i, 5 if i else 0, row(i, step, owns[i], insides[i]))
    return text


def standing(missing, *more):
    text = everybody()
    for turn in range(12):
        for i in range(4):
            text += piece(i, 4, *([flight(i, age=4000 + turn * 1600)] if i != 3 else missing(4000 + turn * 1600)),
                          *more)
    return text


def making(missing, turns=12, came=init):
    """All but rank 3 are in an init."""
    text = b"".join(piece(i, 0, rank(i)) for i in range(3))
    for turn in range(turns):
        age = 1000 + turn * 1600
        for i in range(4):
            text += piece(i, 4, *(missing(age) if i == 3 else [came(i, age)]))
    return text


def circle():
    """Ranks 0 and 2 wait on communicators of their hosts for 1 and 3, as their hosts say; 1 for 2 and 3 for 0 on shared
    ones."""
    text = everybody() + b"".join(piece(i, 0, member(i, comm=8)) for i in range(4))
    for turn in range(12):
        for i in range(4):
            own = {"comm": 20 + i, "awaits": i + 1, "flags": ARRIVED | HOLDS | STILL | AWAITS}
            shared = {"comm": 7 + i // 2, "flags": ARRIVED | HOLDS | STILL}
            text += piece(i, 4, flight(i, age=4000 + turn * 1600, **(shared if i % 2 else own)),
                          calls(i, comm=8 - i // 2))
    return text


def other_call(*answers):
    """Rank 3 has made another fifth call; both hosts are asked twice."""
    hashes = b"".join(piece(i, 0, order(i, 8, 6 if i == 3 else 5)) for i in range(4))
    return everybody() + hashes + piece(1, 30) + b"".join(answers) + piece(1, 30) + b"".join(answers) + piece(1, 90)


def eight_calls(number, differs=4):
    return piece(number, 1,
                 *(called(number, at, 10 + at + (7 if number == 3 and at >= differs else 0), elements=1024
                          + (number == 3 and at == differs))
                              for at in range(8)))


def header(magic=0x424D5752, version=1, count=0, host=b"h0", job=b"j"):
    return struct.pack("<IHHIIQQQ16s64s64s8s", magic, version, 0, count, 0, 0, 0, 0, b"", host, job, b"")


SEEDS = {
    "rows": steps(),
    "rows-two-hosts": steps(2, 1),
    "rows-host": steps(3, 0),
    "hang": standing(lambda age: [calls(3), why(3)]),
    "hang-unknown": standing(lambda age: [calls(3)]),
    "hang-gets-on": standing(lambda age: [calls(3), why(3, 1)]),
    "killed": standing(lambda age: [rank(3, life=3, status=9, age=age)]),
    "stopped": standing(lambda age: [rank(3, life=1, age=age)]),
    "silent": everybody() + b"".join(piece(i % 3, 4, flight(i % 3, age=4000 + 400 * i)) for i in range(60)),
    "collector-ends": everybody() + piece(LAST | 3, 200),
    "desync": standing(lambda age: [flight(3, 2, ALL_GATHER, age=age)]),
    "circle": circle(),
    "other-call": other_call(eight_calls(0), eight_calls(3)),
    "other-call-equal": other_call(eight_calls(0), eight_calls(3, 9)),
    "other-call-gone": other_call(eight_calls(0), piece(3, 1, called(3, 0, 0, function=0))),
    "other-call-unanswered": other_call(piece(1, 1, message(ASK_CALLS, 1, struct.pack("<QQB", 7, 0, 3)),
                                              called(1, 15, 9, shift=40, begin=2**32 - 1))) + piece(1, 250) * 2,
    "init": making(lambda age: [absent(3, age)]),
    "init-stopped": making(lambda age: [absent(3, age, 1)]),
    "init-gets-on": making(lambda age: [absent(3, age, 3)]),
    "init-ended": making(lambda age: [init(3, age, life=3)]),
    "init-unknown": making(lambda age: [], 24),
    "init-waits": making(lambda age: [flight(3, age=age)]),
    "init-circle": making(lambda age: [init(3, age, 78)]),
    "init-part": making(lambda age: [absent(3, age)], came=lambda i, age: init(i, age, size=5, place=i, world=5)),
    "init-large": making(lambda age: [init(3, age, size=131072, world=131072)], 2)
    + piece(0, 5, absent(131071, 2**32 - 1), absent(-1, 0), init(-1, 0)),
    "init-generation": making(lambda age: [absent(3, age)]) + piece(1, 5, rank(1, generation=1))
    + piece(0, 5, init(0, 1000), absent(2, 1000)),
    "whole": standing(lambda age: [flight(3, age=age)]),
    "pipeline": b"".join(piece(i, 0, rank(i, sending=1), member(i, 9, 4, 1), flight(i, 3, 11, peer=(i + 1) % 4, comm=9))
                         for i in range(4)) + piece(0, 100),
    "adopted": standing(lambda age: [calls(3), why(3), finding(3, 1)]),
    "found-and-closed": steps() + piece(2, 5, finding(2)) + piece(2, 5, finding(2, state=2)),
    "restart": steps(count=20) + piece(0x04, 5, row(0, 25, 5, 5)) + piece(0x04, 5, row(0, 26, 2**31, 5)),
    "generation": steps(count=16) + piece(1, 5, rank(1, generation=1)) + piece(0, 5, row(0, 26, 5, 5)),
    "wraps": everybody()
    + b"".join(piece(i, 5, row(i, n + 1, 2**32 - 10**6 + n * 10**6, 0)) for n in range(9) for i in range(4)),
    "moves": everybody() + piece(1, 100, rank(0)) + piece(2, 5, member(0), row(0, 1, 1, 1)),
    "large": piece(0, 5, rank(131071), rank(131072), rank(-1), member(2**30, size=2**20), member(5, size=0)),
    "whole-batch": piece(WHOLE, 5, header(count=1), rank(0)),
    "no-magic": piece(WHOLE, 5, header(magic=1)),
    "version": piece(WHOLE, 5, header(version=2)),
    "count": piece(WHOLE, 5, header(count=2), rank(0)),
    "other-job": piece(WHOLE, 5, header(job=b"k")),
    "endless-host": piece(WHOLE, 5, header(host=b"h" * 64)),
}

if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (directory / name).write_bytes(data)
