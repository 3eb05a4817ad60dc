"""Notes, verdicts, actions and undoing: with our service, and with one that keeps nothing of it."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.errors import ConfigError, ConnectionFailed, InvalidState, NotFound
from support.foreign_service import KEY, hang_up
from support.reviewed_service import ReviewedService


@pytest.mark.slow
def test_a_service_that_keeps_nothing_still_applies_and_stops():
    with ReviewedService() as foreign, promptlift.connect(foreign.base_url, KEY, progress=False) as lift:
        foreign.add(1)
        foreign.add(1, status="running")
        lift.optimizations["o00001"].apply("vb")
        assert foreign.bodies == [("/optimizations/o00001/apply", {"variantId": "vb"})]
        assert foreign.texts == {"p1": "newer"}
        lift.optimizations["o00002"].stop()
        assert not lift.reviews.offered()
        for ask in (lift.actions, lift.optimizations["o00001"].review, lambda: lift.undo("act_1")):
            with pytest.raises(NotFound, match="beyond the specification"):
                ask()
        with pytest.raises(InvalidState):
            lift.optimizations["o00002"].apply()
        foreign.fault = lambda _method, path, _count: hang_up if path.endswith("/apply") else None
        with pytest.raises(ConnectionFailed, match="may be live all the same; look at the prompt"):
            lift.optimizations["o00001"].apply()
        run, seen = lift.optimizations["o00001"], len(foreign.seen)
        with pytest.raises(ConfigError, match="keep, reject"):
            run.mark("va", verdict="maybe")
        with pytest.raises(ConfigError, match="note must be a text"):
            run.mark("va", note=7)
        assert len(foreign.seen) == seen
