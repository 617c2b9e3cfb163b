#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""circles.py finds a circle of three files, by a call and by an inline function, and none where there is none."""
import importlib.util
import pathlib
import unittest

SPEC = importlib.util.spec_from_file_location("circles", pathlib.Path(__file__).with_name("circles.py"))
circles = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(circles)


def tree(*calls):
    """Files a, b and c, each with one function, X_do(); calls: pairs of which the first calls the second."""
    texts = {}
    for name in "abc":
        others = [other for one, other in calls if one == name]
        texts[f"{name}.h"] = f"void {name}_do(int number);\n"
        included = "".join(f'#include "{other}.h"\n' for other in others)
        called = "".join(f"\t{other}_do(number);\n" for other in others)
        texts[f"{name}.c"] = f"{included}void {name}_do(int number)\n{{\n{called}}}\n"
    return texts


class Circles(unittest.TestCase):
    def test_a_row(self):
        self.assertEqual(list(circles.sentences(tree("ab", "bc", "ac"))), [])

    def test_two_files_may_call_each_other(self):
        self.assertEqual(list(circles.sentences(tree("ab", "ba", "bc"))), [])

    def test_a_circle(self):
        (sentence,) = circles.sentences(tree("ab", "bc", "ca"))
        self.assertIn("a → b (b_do), b → c (c_do), c → a (a_do)", sentence)

    def test_a_circle_through_an_inline_function(self):
        texts = tree("ab", "bc", "ca")
        texts["c.c"] = "void c_do(int number)\n{\n}\n"
        texts["c.h"] = '#include "a.h"\nstatic inline void c_inline(int number)\n{\n\ta_do(number);\n}\n'
        texts["b.c"] = texts["b.c"].replace("c_do(", "c_inline(")
        self.assertEqual(len(list(circles.sentences(texts))), 1)

    def test_names_in_comments_and_members_are_no_calls(self):
        texts = tree("ab", "bc")
        texts["c.c"] = ('#include "a.h"\n/* a_do(1) */\nvoid c_do(int '
                        'number)\n{\n\tcall->a_do(number);\n\tprint("a_do(1)");\n}\n')
        self.assertEqual(list(circles.sentences(texts)), [])


if __name__ == "__main__":
    unittest.main()
