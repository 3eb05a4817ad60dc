"""Harm in simulated production is rolled back in every phase of a deployment; `tests/benchmarks/rollback.py` has figures."""

from __future__ import annotations

import numpy as np
import pytest

from support.production import PHASES, Production, harmed


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_harm_of_thirty_points_is_rolled_back_in_every_phase(world, phase):
    random = np.random.default_rng(3)
    life = harmed(world.database, random, phase, 0.30, days=20)
    assert life.conversations is not None
    assert life.conversations <= 300
    assert life.kinds.count("prompt.updated") == 2
    told = [kind for kind in life.kinds if kind.startswith("deployment.")]
    assert (
        told
        == {
            "pending": [],
            "verified": ["deployment.verified", "deployment.regressed"],
            "not_fixed": ["deployment.not_fixed"],
        }[phase]
    )


@pytest.mark.slow
def test_a_deployment_that_changes_nothing_stays_live(world):
    production = Production(world.database, np.random.default_rng(4))
    life = production.live(0.6, days=10)
    assert life.conversations is None
    assert production.row.checked == 300
