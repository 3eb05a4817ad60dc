"""Notes, verdicts, actions and undoing: with our service, and with one that keeps nothing of it."""

from __future__ import annotations

import inspect
import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import promptlift
from promptlift.client.retry import RetryPolicy
from promptlift.errors import ConfigError, ConnectionFailed, InvalidState, NotFound
from promptlift.service.store import accounts
from promptlift.service.store.database import Database
from promptlift.workspace.reviewing.file_store import FileReviewStore
from promptlift.workspace.reviewing.store import ReviewStore, ServiceReviewStore
from support.deployed import ORIGINAL, TEXTS, World
from support.foreign_service import KEY, hang_up
from support.hostile import PAYLOADS
from support.reviewed_service import ReviewedService

FILE = Path("promptlift-review.json")


@pytest.fixture
def foreign():
    with ReviewedService() as running:
        running.add(1)
        yield running


@pytest.fixture
def abroad(foreign):
    with promptlift.connect(foreign.base_url, KEY, progress=False) as opened:
        yield opened


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


COLUMNS = [
    "action_id",
    "kind",
    "acted_at",
    "prompt_id",
    "optimization_id",
    "variant_id",
    "from_version_id",
    "to_version_id",
    "note",
    "undoes",
    "undone",
    "undone_by",
    "undone_at",
    "outcome",
]


def test_our_service_keeps_it_all_and_no_file_is_made(ours):
    lift, world, optimization_id = ours
    assert lift.actions().empty
    assert list(lift.actions().columns) == COLUMNS
    variant_id = world.variant(optimization_id, 1)
    lift.review_variant(optimization_id, variant_id, verdict="keep", note="short ☎")
    assert lift.review_variant(optimization_id, variant_id, note=None).verdict == "keep"
    review = lift.review(optimization_id)
    assert review[["variant_id", "verdict"]].to_numpy().tolist() == [[variant_id, "keep"]]
    assert review["note"].isna().all()
    applied = lift.apply(optimization_id, note="it won")
    assert world.text == TEXTS[1]
    undone = lift.undo(applied.action_id, note="it lost")
    assert world.text == ORIGINAL
    table = lift.actions(world.prompt_id, optimization_id=optimization_id)
    assert table[["kind", "note"]].to_numpy().tolist() == [["undo", "it lost"], ["apply", "it won"]]
    assert table["undone"].tolist() == [False, True]
    assert table["undoes"].tolist()[0] == applied.action_id
    assert table["action_id"].tolist() == [undone.action_id, applied.action_id]
    assert table.attrs["promptlift"]["kept"] == "service"
    with pytest.raises(InvalidState, match="undone already"):
        lift.undo(applied.action_id)
    assert not FILE.exists()


def test_a_foreign_service_gets_no_field_that_it_does_not_know(foreign, abroad):
    abroad.apply("o00001", "vb", note="private")
    assert foreign.bodies == [("/optimizations/o00001/apply", {"variantId": "vb"})]
    assert foreign.texts == {"p1": "newer"}


def test_actions_with_a_foreign_service_are_kept_beside_the_notebook_and_undone(foreign, abroad):
    for text in ("x\r\n \t☎ \ud83d", *PAYLOADS[::9]):
        foreign.texts["p1"] = "old"
        before = text.encode("utf-8", "replace").decode()
        foreign.texts["p1"] = before
        applied = abroad.apply("o00001", note="it won")
        assert foreign.texts["p1"] == "new"
        abroad.undo(applied.action_id)
        assert foreign.texts["p1"] == before
    table = abroad.actions("p1")
    assert table["kind"].tolist()[:2] == ["undo", "apply"]
    assert table["undone"].tolist()[:2] == [False, True]
    assert (table["outcome"] == "done").all()
    assert table["variant_id"].tolist()[:2] == ["va", "va"]
    assert table["from_version_id"].iloc[0] == table["to_version_id"].iloc[1]
    assert table.attrs["promptlift"]["kept"] == "file"
    assert abroad.actions("p2").empty
    assert KEY not in FILE.read_text()


def test_a_foreign_text_that_was_changed_meanwhile_is_not_written_over(foreign, abroad):
    applied = abroad.apply("o00001")
    foreign.texts["p1"] = "somebody else"
    with pytest.raises(InvalidState, match="changed by someone else"):
        abroad.undo(applied.action_id)
    assert foreign.texts["p1"] == "somebody else"
    assert abroad.actions()["kind"].tolist() == ["apply"]
    with pytest.raises(NotFound, match=r"lift\.actions\(\) lists them"):
        abroad.undo("act_none")


@pytest.mark.slow
def test_what_was_refused_leaves_no_row_and_what_got_no_answer_an_unsure_one(foreign, abroad):
    foreign.add(1, status="running")
    with pytest.raises(InvalidState):
        abroad.apply("o00002")
    assert abroad.actions().empty
    foreign.fault = lambda _method, path, _count: hang_up if path.endswith("/apply") else None
    with pytest.raises(ConnectionFailed, match="look at the prompt"):
        abroad.apply("o00001")
    table = abroad.actions()
    assert table["outcome"].tolist() == ["unknown"]
    with pytest.raises(InvalidState, match="not known"):
        abroad.undo(table["action_id"].iloc[0])
    foreign.fault = None
    abroad.stop("o00002", "enough")
    assert abroad.actions()[["kind", "note"]].to_numpy().tolist()[0] == ["stop", "enough"]
    with pytest.raises(InvalidState, match="cannot be undone"):
        abroad.undo(abroad.actions()["action_id"].iloc[0])


def test_notes_on_a_foreign_optimization_are_there_again(foreign, abroad):
    for note in PAYLOADS:
        abroad.review_variant("o00001", "va", note=note)
        assert abroad.review_variant("o00001", "va", verdict="reject").note == note
    abroad.review_variant("o00001", "vb", verdict="keep")
    with promptlift.connect(foreign.base_url, KEY, progress=False) as again:
        table = again.review("o00001")
    assert table[["variant_id", "verdict"]].to_numpy().tolist() == [["va", "reject"], ["vb", "keep"]]
    with promptlift.connect("http://127.0.0.1:9/api/v1", KEY, progress=False) as other:
        other._review_store = FileReviewStore(other.client)
        assert other.review("o00001").empty


WRITER = """
import sys
from pathlib import Path
from promptlift.workspace.reviewing.file import ReviewFile
file = ReviewFile("http://127.0.0.1:1", Path(sys.argv[1]))
for n in range(25):
    file.update_review("o", f"{sys.argv[2]}-{n}", {"note": "n" * 2000})
"""


@pytest.mark.slow
def test_two_notebooks_at_once_lose_nothing(tmp_path):
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / FILE, name]) for name in ("a", "b", "c")
    ]
    assert [one.wait(timeout=120) for one in started] == [0, 0, 0]
    said = json.loads((tmp_path / FILE).read_text())["services"]["http://127.0.0.1:1"]["reviews"]["o"]
    assert sorted(said) == sorted(f"{name}-{n}" for name in "abc" for n in range(25))
    assert not [one for one in tmp_path.iterdir() if one.name.endswith(".part")]


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 7}', '{"format": 1, "services": 3}', "\x00"])
def test_a_file_of_something_else_is_left_alone(abroad, text):
    FILE.write_text(text)
    with pytest.raises(ConfigError, match="Move it away"):
        abroad.review_variant("o00001", "va", note="x")
    assert FILE.read_text() == text


def test_bad_words_are_refused_before_anything_is_asked(abroad):
    with pytest.raises(ConfigError, match="keep, reject"):
        abroad.review_variant("o00001", "va", verdict="maybe")
    with pytest.raises(ConfigError, match="note must be a text"):
        abroad.review_variant("o00001", "va", note=7)


@pytest.mark.parametrize("down", ["/actions", "/optimizations/o00001"])
def test_what_failed_before_an_apply_does_not_say_that_the_variant_may_be_live(foreign, abroad, down):
    foreign.fault = lambda _method, path, _count: hang_up if path == down else None
    abroad.client.transport.policy = RetryPolicy(timeout=0.0, first_timeout=0.0)
    with pytest.raises(ConnectionFailed) as caught:
        abroad.apply("o00001")
    assert "may be live" not in str(caught.value)
    assert ("POST", "/optimizations/o00001/apply") not in [(method, path) for method, path, _ in foreign.seen]


@pytest.mark.parametrize("store", [ServiceReviewStore, FileReviewStore])
def test_both_stores_offer_what_the_protocol_says(store):
    methods = {name for name in vars(ReviewStore) if not name.startswith("_")}
    for name in methods:
        expected, found = (inspect.signature(getattr(one, name)) for one in (ReviewStore, store))
        assert found.parameters == expected.parameters, name
    assert methods >= {"apply", "stop", "undo", "actions", "reviews", "review_variant", "version_text"}
    assert store.kept in ("service", "file")
