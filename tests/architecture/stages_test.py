#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stages.py finds each kind of disagreement between a picture and the calls of a library of three files, and none where
there is none."""
import importlib.util
import pathlib
import unittest

SPEC = importlib.util.spec_from_file_location("stages", pathlib.Path(__file__).with_name("stages.py"))
stages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(stages)
PAGE = "# A page\n\n```stages\nhigh ─► .\nlow  ─► middle\nlow  ─► deep\n```\n"
CALLS = {("top", "middle_half"): "half_do", ("middle_half", "deep_end"): "end_do"}


def wrong(page=PAGE, calls=CALLS, files=frozenset({"top", "middle_half", "deep_end"})):
    return list(stages.disagreements(stages.picture(page), set(files), calls))


class Stages(unittest.TestCase):
    def finds(self, words, sentences):
        self.assertEqual(len(sentences), 1, sentences)
        self.assertIn(words, sentences[0])

    def test_a_picture_that_is_right(self):
        self.assertEqual(wrong(), [])

    def test_a_call_to_a_stage_above(self):
        calls = {("top", "middle_half"): "half_do", ("deep_end", "top"): "top_do"}
        self.finds("deep_end (low) calls top_do of top", wrong(calls=calls))

    def test_a_circle_within_a_stage(self):
        self.finds("in a circle: deep_end, middle_half", wrong(calls=CALLS | {("deep_end", "middle_half"): "half_ask"}))

    def test_a_circle_of_three(self):
        sentences = wrong(calls=CALLS | {("deep_end", "top"): "top_do"})
        self.assertIn("these files call each other in a circle: deep_end, middle_half, top", sentences)

    def test_a_file_in_no_stage(self):
        self.finds("files stand in no stage: other",
                   wrong(page=PAGE.replace("─► .", "─► top"), files={"top_a", "middle_half", "deep_end", "other"},
                         calls={}))

    def test_a_folder_that_is_empty(self):
        self.finds("low ─► deep: there is no file in it", wrong(calls={}, files={"top", "middle_half"}))

    def test_a_folder_in_two_stages(self):
        self.finds("middle stands in two stages", wrong(page=PAGE.replace("deep", "deep middle", 1), calls={}))

    def test_a_line_without_an_arrow(self):
        with self.assertRaises(SystemExit):
            stages.picture("```stages\nhigh top\n```\n")


if __name__ == "__main__":
    unittest.main()
