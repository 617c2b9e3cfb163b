#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rooms.py finds each kind of disagreement between a picture and a tree of three files, and none where there is
none."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("rooms.py")
HEADER = "include/it/common.h"
FILES = {
    HEADER: "",
    "low/low.h": "#include <it/common.h>\n",
    "high/inner/high.c": '#include <stdio.h>\n#include "low/low.h"\n',
}
PICTURE = "high/inner ─► low\nlow ─► include\ninclude ─\n"


def check(picture, files=FILES):
    """Exit status and text of the script over such a tree."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        page = tree / "page.md"
        page.write_text(f"# A page\n\n```rooms\n{picture}```\n")
        done = subprocess.run([sys.executable, SCRIPT, tree, page], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Rooms(unittest.TestCase):
    def fails_with(self, words, picture, files=FILES):
        status, text = check(picture, files)
        self.assertEqual(status, 1, text)
        self.assertIn(words, text)

    def test_a_picture_that_is_right(self):
        status, text = check(PICTURE)
        self.assertEqual(status, 0, text)

    def test_an_include_that_is_not_drawn(self):
        self.fails_with("no arrow high/inner ─► include", PICTURE,
                        FILES | {"high/inner/other.c": "#include <it/common.h>\n"})

    def test_an_include_against_the_arrows(self):
        self.fails_with("no arrow low ─► high/inner", PICTURE,
                        FILES | {"high/inner/high.h": "", "low/low.c": '#include "high/inner/high.h"\n'})

    def test_two_rooms_that_would_know_each_other(self):
        self.fails_with("high/inner stands above low", PICTURE.replace("low ─► include", "low ─► include high/inner"),
                        FILES | {"high/inner/high.h": "", "low/low.c": '#include "high/inner/high.h"\n'})

    def test_an_arrow_that_is_used_no_more(self):
        self.fails_with("nothing of it is included", PICTURE.replace("high/inner ─► low", "high/inner ─► low include"))

    def test_a_file_in_no_room(self):
        self.fails_with("high/high.c lies in no room", PICTURE, FILES | {"high/high.c": ""})

    def test_a_room_that_is_not_there(self):
        self.fails_with("there is no such room", PICTURE.replace("─► low", "─► low middle"))


if __name__ == "__main__":
    unittest.main()
