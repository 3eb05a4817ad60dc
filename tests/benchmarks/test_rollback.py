"""Rollback in simulated production: harm does not stay live, and quiet texts are left alone. `rollback.py` has the table."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.rollback import summary
from promptlift.service.store.database import Database
from support.production import PHASES, harmed, quiet

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1_800)]


@pytest.fixture
def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'promptlift.db'}")
    opened.migrate()
    yield opened
    opened.close()


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("harm", "found", "median"), [(0.10, 0.35, None), (0.20, 0.95, 300), (0.30, 1.0, 180)]
)
def test_harm_is_rolled_back(database, phase, harm, found, median):
    random = np.random.default_rng(20261)
    lives = [harmed(database, random, phase, harm, days=100) for _ in range(20)]
    seen = summary(lives)
    print({"after": phase, "harm": round(100 * harm), **seen})
    assert seen["rolledBack"] >= found * len(lives)
    assert median is None or seen["median"] <= median


def test_quiet_deployments_are_left_alone(database):
    random = np.random.default_rng(20262)
    lives = [quiet(database, random, days=200) for _ in range(200)]
    seen = summary(lives)
    print(seen)
    assert seen["rolledBack"] <= 0.05 * len(lives)
    assert seen["regressedTold"] == 0
