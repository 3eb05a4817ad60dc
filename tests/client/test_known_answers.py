from __future__ import annotations

import pandas as pd
import pytest

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
