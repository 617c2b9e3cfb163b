#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""circles.py finds a circle of three files, by calls, by an inline function and by includes, and none where there is
none."""
import importlib.util
import pathlib
import unittest
import unittest.mock

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
        sentences = list(circles.sentences(tree("ab", "bc", "ca")))
        self.assertEqual(len(sentences), 2)
        for how, sentence in zip(("call", "know"), sentences):
            self.assertIn(f"{how} each other in a circle: a → b (b_do), b → c (c_do), c → a (a_do)", sentence)

    def test_a_circle_through_an_inline_function(self):
        texts = tree("ab", "bc", "ca")
        texts["c.c"] = "void c_do(int number)\n{\n}\n"
        texts["c.h"] = '#include "a.h"\nstatic inline void c_inline(int number)\n{\n\ta_do(number);\n}\n'
        texts["b.c"] = texts["b.c"].replace("c_do(", "c_inline(")
        self.assertEqual(len(list(circles.sentences(texts))), 2)

    def test_a_circle_through_an_include(self):
        texts = tree("ab", "bc")
        texts["c.c"] = '#include "a.h"\nvoid c_do(int number)\n{\n}\n'
        (sentence,) = circles.sentences(texts)
        self.assertIn("know each other in a circle: a → b (b_do), b → c (c_do), c → a (#include)", sentence)

    def test_a_circle_that_is_accepted_may_not_grow(self):
        texts = {f"room/{path}": text for path, text in tree("ab", "bc").items()}
        texts["room/c.c"] = '#include "a.h"\n'
        with unittest.mock.patch.dict(circles.ACCEPTED, room=3):
            self.assertEqual(list(circles.sentences(texts)), [])
        with unittest.mock.patch.dict(circles.ACCEPTED, room=2):
            self.assertEqual(len(list(circles.sentences(texts))), 1)

    def test_names_in_comments_and_members_are_no_calls(self):
        texts = tree("ab", "bc")
        texts["c.c"] = ('#include "a.h"\n/* a_do(1) */\nvoid c_do(int '
                        'number)\n{\n\tcall->a_do(number);\n\tprint("a_do(1)");\n}\n')
        self.assertNotIn("c", circles.calls(texts))


if __name__ == "__main__":
    unittest.main()
