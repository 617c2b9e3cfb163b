#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same program on this NCCL and on the stand-in, under a plugin that writes down every callback. What differs is
listed in sequence.txt; it is for people to judge and fails nothing. Handles, times and addresses are not in it."""

import collections
import difflib
import re

import part

MASK = "0xFDF"  # all of ABI v5 but ProxyCtrl, which tells how often a thread slept
RECORDER = "libnccl-profiler-recorder.so"
OTHER = "(other thread) "
MOST = 40  # lines of a difference on the screen; the file has all


def record(self, pair, name, libraries, **environment):
    """{rank: [(ns, thread, line)]}; empty when it did not run."""
    base = part.WORK / f"sequence-{name}"
    done = part.run([part.PROGRAMS / "gpu_calls", pair.how], 60, LD_LIBRARY_PATH=f"{libraries}:{part.PROGRAMS}",
                    NCCL_PROFILER_PLUGIN=RECORDER, RECORDING_FILE=str(base), RECORDING_MASK=MASK, RECORDING_TIMES="1",
                    **{**pair.environment, **environment})
    ranks = {}
    for file in part.WORK.glob(f"sequence-{name}.*"):
        lines = [line.split(" ", 2) for line in file.read_text(errors="replace").splitlines()]
        found = re.match(r"init .* rank (\d+) of 2", lines[0][2]) if lines else None
        if found:
            ranks[int(found.group(1))] = lines
    self.check(done.status == 0 and sorted(ranks) == [0, 1], f"callbacks of both ranks recorded, {name}{done.why()}")
    return ranks


def keep(self, ranks):
    """Each callback with its time since the first one, for those who compare the stand-in with it."""
    for rank, lines in sorted(ranks.items()):
        begin_ns = int(lines[0][0])
        threads = {}
        for ns, thread, text in lines:
            self.record("callback", program="gpu_calls", rank=rank, us=(int(ns) - begin_ns) / 1000,
                        thread=threads.setdefault(thread, len(threads)), text=text)


def words(ranks):
    return {rank: [text for _, _, text in lines] for rank, lines in ranks.items()}


def calling_thread(lines):
    return [line for line in lines if not line.startswith(OTHER)]


def other_threads(lines):
    """Their order depends on when data comes: only how often each came, without numbers."""
    return collections.Counter(re.sub(r"\d+", "N", line[len(OTHER):]) for line in lines if line.startswith(OTHER))


def compare(left, right):
    """Lines of difference: the calling thread's as a diff, the others' as counts."""
    diff = list(difflib.unified_diff(calling_thread(left), calling_thread(right), "stand-in", "this NCCL", lineterm="",
                                     n=2))
    a, b = other_threads(left), other_threads(right)
    counts = [f"other threads: {line}: stand-in {a[line]} times, this NCCL {b[line]}"
              for line in sorted(a | b) if (a[line] == 0) != (b[line] == 0)]
    amounts = [f"other threads, amount: {line}: stand-in {a[line]} times, this NCCL {b[line]}"
               for line in sorted(a & b) if a[line] != b[line]]
    return diff, counts, amounts


def changed(diff):
    return [line for line in diff if line[:1] in "+-" and not line.startswith(("+++", "---"))]


def main():
    self = part.Part("sequence")
    pair = part.Pair(self)
    ours = record(self, pair, "stand-in", part.SIM_LIBRARIES)
    real = record(self, pair, "real", part.LIBRARIES)
    if self.failures:
        self.end()
    keep(self, real)
    ours, real = words(ours), words(real)
    with open(part.OUT / "sequence.txt", "w") as file:
        for rank in (0, 1):
            diff, counts, amounts = compare(ours[rank], real[rank])
            file.write(f"== rank {rank}\n" + "\n".join(diff + counts + amounts) + "\n")
            file.write(f"== rank {rank}, this NCCL, calling thread\n" + "\n".join(calling_thread(real[rank])) + "\n")
            self.number(f"rank {rank}: lines of the calling thread", len(calling_thread(real[rank])), "lines")
            self.number(f"rank {rank}: of these, different from the stand-in's", len(changed(diff)), "lines")
            self.number(f"rank {rank}: kinds of lines of other threads that only one of them has", len(counts), "kinds")
            if rank == 0:
                print("\n".join((changed(diff) + counts)[:MOST]))
    if part.STAND_IN:
        other = record(self, pair, "2.29.7", part.SIM_LIBRARIES, SIM_NCCL_VERSION="2.29.7")
        self.check(other and changed(compare(ours[0], words(other)[0])[0]),
                   "another release's callbacks are seen to differ")
        self.check(not changed(compare(ours[0], real[0])[0]), "the same release's are seen not to")
    self.end()


if __name__ == "__main__":
    main()
