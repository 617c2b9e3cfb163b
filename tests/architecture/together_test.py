#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which sources are compiled as one (scripts/together.py), and which stay apart."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import together  # noqa: E402

FIND = "static int find(int key)\n{\n\treturn key;\n}\n"


class Grouped(unittest.TestCase):
    def groups(self, **files):
        """How many sources there are in each group. A name with _h is a header."""
        with tempfile.TemporaryDirectory() as one:
            together.ROOT = pathlib.Path(one).resolve()
            for name, text in files.items():
                (together.ROOT / (name.removesuffix("_h") + (".h" if name.endswith("_h") else ".c"))).write_text(text)
            sources = sorted(together.ROOT.glob("*.c"))
            return [len(group) for group in together.together([together.Source(path) for path in sources])]

    def test_what_does_not_meet_is_one(self):
        self.assertEqual(self.groups(a="static int one;\n", b="int two(void)\n{\n\treturn 2;\n}\n"), [2])

    def test_no_more_than_most(self):
        self.assertEqual(self.groups(**{f"f{number}": "" for number in range(together.MOST + 1)}), [together.MOST, 1])

    def test_a_function_of_one_name(self):
        self.assertEqual(self.groups(a=FIND, b=FIND, c="static int other;\n"), [2, 1])

    def test_a_table_of_a_type_without_a_name(self):
        table = "static const struct {\n\tint key;\n} keys[] = {\n\t{ 1 },\n};\n"
        self.assertEqual(self.groups(a=table, b=table), [1, 1])

    def test_a_comment_defines_nothing(self):
        self.assertEqual(self.groups(a=FIND, b="/*\nstatic int find(int key)\n*/\n"), [2])

    def test_a_macro_that_another_one_would_meet(self):
        self.assertEqual(self.groups(a="#define room 8\n", b="int f(int room);\n"), [1, 1])

    def test_types_and_their_values(self):
        self.assertEqual(self.groups(a="struct place {\n\tint at;\n};\n", b="struct place {\n\tint of;\n};\n"), [1, 1])
        self.assertEqual(self.groups(a="enum { MOST = 1,\n\tLEAST };\n", b="enum { LEAST = 2 };\n"), [1, 1])

    def test_a_name_that_a_header_brings(self):
        header = "int find(int key);\n"
        self.assertEqual(self.groups(a=FIND, b='#include "b.h"\n', b_h=header), [1, 1])
        self.assertEqual(self.groups(a=FIND, b='#include "c.h"\n', c_h='#include "b.h"\n', b_h=header), [1, 1])
        self.assertEqual(self.groups(a="static int raise(int sum);\n", b="#include <sys/wait.h>\n"), [1, 1])

    def test_two_headers_with_one_name(self):
        text = "struct place {\n\tint at;\n};\n"
        self.assertEqual(self.groups(a='#include "a.h"\n', b='#include "b.h"\n', a_h=text, b_h=text), [1, 1])
        self.assertEqual(self.groups(a='#include "a.h"\n', b='#include "a.h"\n', a_h=text), [2])


if __name__ == "__main__":
    unittest.main()
