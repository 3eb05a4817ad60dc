"""Identifiers: what they are made of, and that those of the same time stand together in an index."""

from __future__ import annotations

import multiprocessing

import pytest

from promptlift.service.identifiers import new_id


@pytest.mark.slow
def test_a_forked_process_makes_other_ids():
    new_id("cnv")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        made = pool.map(new_id, ["cnv"] * 20, chunksize=1)
    assert len({one[-16:] for one in (*made, new_id("cnv"))}) == 21
