#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fewest.py CONTROL MOST DIRECTORY: copies at most so many inputs into the directory: each time the one that adds most
to what those before it do, by the file in which libFuzzer's -merge=1 -merge_control_file=CONTROL keeps what each input
does."""
import heapq
import pathlib
import shutil
import sys


def read(control):
    lines = pathlib.Path(control).read_text().split("\n")
    count = int(lines[0])
    paths, does = lines[2:2 + count], {}
    for line in lines[2 + count:]:
        words = line.split()
        if words and words[0] == "FT":
            does[int(words[1])] = frozenset(words[2:])
    return {paths[at]: features for at, features in does.items()}


def choose(does, most):
    done, chosen = set(), []
    queue = [(-len(features), path) for path, features in does.items()]
    heapq.heapify(queue)
    while queue and len(chosen) < most:
        _, path = heapq.heappop(queue)
        adds = len(does[path] - done)
        if queue and adds < -queue[0][0]:
            heapq.heappush(queue, (-adds, path))
        elif adds:
            chosen.append(path)
            done |= does[path]
    return chosen


def main():
    control, most, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    for path in choose(read(control), most):
        shutil.copy(path, directory)


main()
