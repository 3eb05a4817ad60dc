"""Notes, verdicts, actions and undoing: with our service, and with one that keeps nothing of it."""

from __future__ import annotations

import secrets

import pytest

import promptlift
from promptlift.errors import ConfigError, ConnectionFailed, InvalidState, NotFound
from promptlift.service.store import accounts
from promptlift.service.store.database import Database
from support.deployed import ORIGINAL, TEXTS, World
from support.foreign_service import KEY, hang_up
from support.reviewed_service import ReviewedService


@pytest.fixture
def ours(service):
    """An account of our service with a completed optimization: the workspace, the world, the optimization's id."""
    database = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    world = World(database)
    key = f"test_{secrets.token_urlsafe(32)}"
    with database.write() as connection:
        accounts.add_key(connection, world.account, key, name="test")
    with promptlift.connect(service.base_url, key, progress=False) as opened:
        yield opened, world, world.optimization()
    database.close()


def test_our_service_keeps_it_all_and_no_file_is_made(ours):
    lift, world, optimization_id = ours
    assert lift.actions().empty
    variant_id = world.variant(optimization_id, 1)
    lift.optimizations[optimization_id].mark(variant_id, verdict="keep", note="short ☎")
    assert lift.optimizations[optimization_id].mark(variant_id, note=None).verdict == "keep"
    review = lift.optimizations[optimization_id].review()
    assert review[["variant_id", "verdict"]].to_numpy().tolist() == [[variant_id, "keep"]]
    assert review["note"].isna().all()
    applied = lift.optimizations[optimization_id].apply(note="it won")
    assert world.text == TEXTS[1]
    undone = lift.undo(applied.action_id, note="it lost")
    assert world.text == ORIGINAL
    table = lift.actions(world.prompt_id, optimization_id=optimization_id)
    assert table[["kind", "note"]].to_numpy().tolist() == [["undo", "it lost"], ["apply", "it won"]]
    assert table["undone"].tolist() == [False, True]
    assert table["undoes"].tolist()[0] == applied.action_id
    assert table["action_id"].tolist() == [undone.action_id, applied.action_id]
    with pytest.raises(InvalidState, match="undone already"):
        lift.undo(applied.action_id)


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
