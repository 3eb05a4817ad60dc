from __future__ import annotations

import pandas as pd
import pytest

from promptlift.client.known_answers import KnownAnswers
from support.foreign_service import ForeignService
from support.pulled import LISTED, workspace


@pytest.mark.parametrize("in_use", [False, True])
@pytest.mark.slow
def test_pages_that_are_as_before_are_not_sent_again(tmp_path, in_use):
    with ForeignService(honours=LISTED, tags=True) as service:
        service.fill(450)
        lift = workspace(service, snapshot=tmp_path if in_use else None)
        lift.conversations(insights=True)
        # The pages of a pull that goes on overlap more than those of the first.
        first = lift.conversations(insights=True)
        before = service.unchanged
        service.seen.clear()
        again = lift.conversations(insights=True)
        pages = service.requests("GET", "/conversations")
        assert pages >= 5
        assert service.unchanged >= before + pages
        pd.testing.assert_frame_equal(again, first)
        service.rows[444]["status"] = "abandoned"
        before = service.unchanged
        assert lift.conversations(insights=True)["status"].tolist()[444] == "abandoned"
        assert service.unchanged >= before + pages - 1


def test_the_room_is_for_what_was_asked_for_last():
    kept = KnownAnswers(room=10)
    for name in ("a", "b"):
        kept.keep(name, {"etag": f'"{name}"'}, b"12345")
    assert kept.of("a") == ('"a"', b"12345")
    kept.keep("c", {"etag": '"c"'}, b"123")
    assert kept.of("b") is None
    assert kept.of("a") is not None
    kept.keep("a", {"etag": '"a2"', "cache-control": "no-store"}, b"1")
    assert kept.of("a") is None
    kept.keep("d", {"etag": '"d"'}, b"12345678901")
    kept.keep("e", {}, b"1")
    assert kept.of("d") is kept.of("e") is None
    kept.keep("f", {"etag": '"f"'}, b"1234567")
    assert kept.of("c") is not None
    assert kept.of("f") is not None
