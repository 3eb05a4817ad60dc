"""A snapshot is complete, or the pull says that it is not, whatever the service and the network do meanwhile."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from promptlift.errors import ApiError, IncompleteError
from promptlift.snapshot import Snapshot
from support.kills import SEEDS
from support.pulled import LISTED, SkippingClock, TroubledService, workspace

pytestmark = pytest.mark.slow

# Rows come, go, or both, in two orders, with two services: forty seeds meet each of these in several ways.
BLOCKS = 4
COURSES = 20 * SEEDS


def ids(folder):
    return Counter(Snapshot(folder).read("conversations", ["conversation_id"])["conversation_id"].to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_stable_row_is_there_once_or_the_pull_fails(tmp_path, block):
    done = 0
    for seed in range(block, COURSES, BLOCKS):
        folder = tmp_path / str(seed)
        honours = LISTED if seed % 2 else ()
        with TroubledService(
            seed=seed, page_limit=10, honours=honours, oldest_first=seed % 7 == 0
        ) as service:
            service.fill(60)
            service.trouble()
            lift = workspace(service, clock=SkippingClock())
            for _ in range(3):
                with suppress(IncompleteError, ApiError):
                    lift.pull(folder)
                    found = ids(folder)
                    assert set(found.values()) == {1}, seed
                    assert not service.stable - found.keys(), seed
                    done += 1
            service.troubled = False
            # What the troubled pulls left, deleted rows among it, is right after a quiet one.
            snapshot = lift.pull(folder)
            assert ids(folder) == Counter(row["id"] for row in service.rows), seed
            assert snapshot.verify() == {}
    assert done  # not every pull may fail
