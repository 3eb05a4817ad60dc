"""Whether a sentence on completion has the direction, the numbers and the strength of the row of its table."""

from __future__ import annotations

import re

import pandas as pd
import pytest

NUMBER = r"[+−]?[\d,]+(?:\.\d+)?"


def value(text):
    return float(text.replace("−", "-").replace(",", ""))


def agrees(text, number):
    """Whether a printed number is the number, rounded to the decimals that it shows."""
    _, _, decimals = text.partition(".")
    assert abs(value(text) - number) <= 0.5 * 10 ** -len(decimals) + 1e-9, (text, number)


def check(sentence, row):
    """Compare a sentence on completion with the row of the table that it is about."""
    difference, low, high = (row[f"difference_points{end}"] for end in ("", "_low", "_high"))
    if pd.isna(difference):
        assert "cannot be compared" in sentence
        return
    if low <= 0 <= high:
        assert not re.search(r"higher|lower|completes", sentence)
        assert row["verdict"] == "no winner"
        found = re.search(rf"({NUMBER}) points? measured \(({NUMBER}) to ({NUMBER})\); unclear\.", sentence)
        for text, number in zip(found.groups(), (difference, low, high), strict=True):
            agrees(text, number)
        few, many, base = re.search(
            rf"From ({NUMBER}) fewer to ({NUMBER}) more of ({NUMBER})", sentence
        ).groups()
        for text, number in ((few, -low), (many, high)):
            assert abs(value(text) - number * value(base) / 100) <= 0.5 + 1e-6
        return
    if min(row["n"], row["n_control"]) < 10:
        assert row["verdict"] == "no winner"
        assert sentence.startswith("No clear difference")
        assert not re.search(r"higher|lower|completes", sentence)
        return
    up = difference > 0
    word, other = ("more", "higher") if up else ("less", "lower")
    assert {"winner": True, "worse": False}.get(row["verdict"], up) == up
    assert ("lower" if up else "higher") not in sentence
    assert (f"clearly {other}." in sentence) == (row["verdict"] != "no winner")
    assert (f"perhaps {other}" in sentence) == (row["verdict"] == "no winner")
    found = re.search(rf"({NUMBER}) points? {word} than .* \(({NUMBER}) to ({NUMBER})\)", sentence)
    assert all(value(text) > 0 for text in found.groups())
    agrees(found[1], abs(difference))
    agrees(found[2], min(abs(low), abs(high)))
    agrees(found[3], max(abs(low), abs(high)))
    users = re.search(rf"({NUMBER}) {'more' if up else 'fewer'} of ({NUMBER}) users", sentence)
    assert bool(users) == (row["verdict"] != "no winner")
    if users:
        assert value(users[1]) / value(users[2]) == pytest.approx(value(found[1]) / 100)
