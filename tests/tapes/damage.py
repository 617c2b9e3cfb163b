#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""damage.py TAPE: a tape with damaged bytes is refused in a sentence, whether the checksum tells or not; nobody
crashes, and no file is written outside of the player's own directory."""

import gzip
import os
import pathlib
import random
import subprocess
import sys
import tempfile

PLAYER = os.environ["TEST_TAPE_PLAYER"]
SEED = 4711
ROUNDS = 24


class Failures:
    count = 0

    def check(self, right, what):
        print(("ok     " if right else "FAILED ") + what, flush=True)
        self.count += not right


def play(content, scratch):
    tape = scratch / "damaged.tape"
    tape.write_bytes(content)
    done = subprocess.run([PLAYER, tape, "self"], capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def refused(failures, what, content, scratch, words):
    status, said = play(content, scratch)
    failures.check(status == 1 and words in said, f"{what}: status {status}, {said!r}")


def number(value):
    text = b""
    while value >= 0x80:
        text += bytes([value & 0x7f | 0x80])
        value >>= 7
    return text + bytes([value])


def stream(letter, content):
    return letter + number(len(content)) + content


def escapes(failures, head, scratch):
    """Paths that lead outside, straight or through a link."""
    victim = scratch / "victim"
    for what, names, texts in (
            ("an absolute path", [b"x" + bytes(victim)], [b""]),
            ("a path upwards", [b"x../../../" + bytes(victim)[1:]], [b""]),
            ("a link as a directory", [b"lproc/1", b"xproc/1/victim"], [bytes(scratch), b""]),
            ("a file below a link", [b"lproc/1/fd/1", b"xproc/1/fd/1/victim"], [bytes(scratch), b""])):
        order = b"t" + b"".join(b"nx" for _ in names) + b"e"
        numbers = b"".join(number(i) + number(0) + number(0) + number(len(text)) + text for i, text in enumerate(texts))
        texts = b"".join(one + b"\0" for one in names)
        content = head + stream(b"o", order) + stream(b"t", number(1)) + stream(b"n", texts) + stream(b"x", numbers)
        refused(failures, what, gzip.compress(content), scratch, "damaged")
        failures.check(not victim.exists(), f"{what}: nothing was written there")


def main(tape):
    failures = Failures()
    packed = pathlib.Path(tape).read_bytes()
    content = gzip.decompress(packed)
    head = content[:content.index(b"\n", content.index(b"\n") + 1) + 1]
    dice = random.Random(SEED)
    print(f"seed {SEED}")
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        refused(failures, "an empty file", b"", scratch, "not a tape")
        refused(failures, "a text", b"rankwatch\n", scratch, "not a tape")
        refused(failures, "another version", gzip.compress(content.replace(b"tape 1", b"tape 9", 1)), scratch,
                "another version")
        refused(failures, "no header", gzip.compress(b"rankwatch tape 1\n[1]\n"), scratch, "header")
        refused(failures, "half of it", packed[:len(packed) // 2], scratch, "damaged")
        refused(failures, "the last byte is missing", packed[:-1], scratch, "damaged")
        refused(failures, "without an end", gzip.compress(head), scratch, "damaged")
        escapes(failures, head, scratch)
        for _ in range(4):
            at = dice.randrange(20, len(packed))
            refused(failures, f"byte {at} of the file is another one",
                    packed[:at] + bytes([packed[at] ^ 1 << dice.randrange(8)]) + packed[at + 1:], scratch, "damaged")
        # The checksum is right, and what it vouches for makes no sense or says something else: both are fine, a crash
        # is not.
        for _ in range(ROUNDS):
            at = dice.randrange(len(head), len(content))
            status, said = play(gzip.compress(content[:at] + bytes([dice.randrange(256)]) + content[at + 1:], 1),
                                scratch)
            failures.check(status == 0 or (status == 1 and said),
                           f"byte {at} of the content is another one: status {status}, {said!r}")
    sys.exit(1 if failures.count else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
