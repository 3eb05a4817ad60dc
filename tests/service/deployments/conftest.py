"""A prompt whose optimized text is live."""

from __future__ import annotations

import pytest

from support.deployed import AT_ONCE


@pytest.fixture
def live(world):
    """A winner that a person applied; 200 conversations before it, 80 of them failed."""
    world.log(200, failed=80, at=world.started)
    optimization_id = world.optimization()
    world.apply(optimization_id)
    return optimization_id


@pytest.fixture
def auto(world):
    """The same, gone live by itself."""
    world.log(200, failed=80, at=world.started)
    return world.optimization(AT_ONCE)
