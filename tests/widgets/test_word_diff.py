"""The differences between two texts, by line and then by word."""

from __future__ import annotations

from itertools import pairwise

import pytest

from promptlift.schema.inert import visible
from promptlift.widgets.word_diff import describe_difference, diff_lines
from support.hostile import PAYLOADS


def test_words_of_similar_lines_are_compared_and_others_replaced():
    lines = diff_lines("One line.\nBe very brief today.\nLast.", "One line.\nBe brief and kind today.\nLast.")
    assert [line.mark for line in lines] == [" ", "-", "+", " "]
    removed = "".join(text for kind, text in lines[1].parts if kind == "removed")
    added = "".join(text for kind, text in lines[2].parts if kind == "added")
    assert (removed.split(), added.split()) == (["very"], ["and", "kind"])
    assert diff_lines("alpha beta", "12345 67890 !!") == [
        ("-", (("removed", "alpha beta"),)),
        ("+", (("added", "12345 67890 !!"),)),
    ]


def test_words_are_compared_over_the_lines_of_a_replacement():
    lines = diff_lines("Be brief.\nAnswer in German.\nEnd.", "Be very brief.\nAnswer in English.\nEnd.")
    assert [line.mark for line in lines] == ["-", "-", "+", "+", " "]
    changed = [[text.strip() for kind, text in line.parts if kind != "same"] for line in lines]
    assert changed == [[], ["German"], ["very"], ["English"], []]


def test_lines_far_from_a_change_are_omitted_and_counted():
    before = "\n".join(f"line {n}" for n in range(20))
    lines = diff_lines(before, before + "\nnew")
    assert [line.mark for line in lines] == ["…", " ", " ", "+"]
    assert lines[0].parts[0][1] == "18 unchanged lines"
    assert len(diff_lines(before, before + "\nnew", context=None)) == 21


def test_equal_texts_and_invisible_differences_have_no_diff():
    for text in ("", "same", "a\nb\r\nc"):
        assert diff_lines(text, text) == []
        assert "identical" in describe_difference(text, text)
    assert diff_lines("a\nb", "a\r\nb ") == []
    assert "invisible" in describe_difference("a\nb", "a\r\nb ")


def test_both_texts_can_be_put_together_from_a_whole_diff():
    for one, other in pairwise(PAYLOADS):
        lines = diff_lines(one, other, context=None) if max(len(one), len(other)) <= 2_500 else []
        for sign, text in (("-", one), ("+", other)) if lines else ():
            kept = ("".join(part for _, part in line.parts) for line in lines if line.mark in (" ", sign))
            assert "\n".join(kept) == visible(text)


@pytest.mark.slow
def test_diffs_of_hostile_texts_stay_small():
    assert len(PAYLOADS) > 90
    for one in PAYLOADS:
        lines = diff_lines(one, one[::-1] + " changed " + one)
        assert sum(len(text) for line in lines for _, text in line.parts) < 200_000
