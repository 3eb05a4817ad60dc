"""Identifiers: what they are made of, and that those of the same time stand together in an index."""

from __future__ import annotations

import multiprocessing
import re

import pytest

from promptlift.service import identifiers
from promptlift.service.identifiers import new_id


def test_an_identifier_is_its_kind_the_second_and_random_digits(monkeypatch):
    made = []
    for second in (0.0, 0x6923_0A5F + 0.75, 2.0**32 - 0.5):
        monkeypatch.setattr(identifiers.time, "time", lambda now=second: now)
        made.append([new_id("cnv") for _ in range(1_000)])
        assert all(re.fullmatch(f"cnv_{int(second):08x}[0-9a-f]{{16}}", one) for one in made[-1])
    first, second, third = map(set, made)
    assert len(first | second | third) == 3_000
    assert max(first) < min(second)
    assert max(second) < min(third)
    monkeypatch.setattr(identifiers.time, "time", lambda: 2.0**32 + 3.0)
    assert re.fullmatch("cnv_[0-9a-f]{24}", new_id("cnv"))


@pytest.mark.slow
def test_a_forked_process_makes_other_ids():
    new_id("cnv")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        made = pool.map(new_id, ["cnv"] * 20, chunksize=1)
    assert len({one[-16:] for one in (*made, new_id("cnv"))}) == 21
