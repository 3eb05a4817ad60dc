"""Topics and failing endings of a prompt in one call each, from the service and from a snapshot."""

from __future__ import annotations

import warnings
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace

import pandas as pd
import pytest

import promptlift
from promptlift import analysis
from promptlift.errors import ConfigError, FrameError, NotFound
from promptlift.local import wait_for_insights
from promptlift.schema.topics import PromptTopics
from promptlift.service.store.database import Database
from promptlift.workspace import NothingMatchesWarning, Topics
from support.topical import logged
from support.wire import open_account

MODEL = "gpt-4o"
N = 160


@pytest.fixture(scope="module")
def lift(service):
    """A workspace on an account of its own, whose snapshot has nothing of other tests."""
    with closing(Database(f"sqlite:///{service.data / 'promptlift.db'}")) as database:
        key = open_account(service.base_url, database).key
    with promptlift.connect(service.base_url, key, progress=False) as opened:
        rows = logged(N)[["content", "task_completed"]].to_numpy()
        records = [
            {"content": content, "metadata": {"solved": bool(solved), "channel": ["web", "app"][at % 2]}}
            for at, (content, solved) in enumerate(rows)
        ]
        for name, outcome in (("Explained", "solved"), ("Judged by words", None)):
            made = opened.create_prompt(name, "You help.", llm_model=MODEL, outcome=outcome)
            opened.log(records, prompt_id=made.id)
            wait_for_insights(opened, [made.id], progress=False)
        yield opened


def test_topics_of_the_service_are_columns_of_conversations_and_follow_a_rename(lift):
    kept = lift.topics("Judged by words")
    assert len(kept.table) >= 3
    assert repr(kept).startswith(f"{len(kept.table)} topics, ")
    first = kept.table["name"][0]

    def named(name):
        return (
            lift.conversations("Judged by words", insights=True)["topics"].map(lambda one: name in one).sum()
        )

    n = named(first)
    assert n >= 0.9 * kept.table["n"][0] > 0
    assert kept.change(first, name="What most want").table["named_by"][0] == "person"
    assert (named(first), named("What most want")) == (0, n)
    found = lift.atlas("Judged by words")
    assert (found.table["cluster"][0], found.table["name"][0]) == (kept.table["id"][0], "What most want")
    assert found.table["n"][0] == found.assignments["name"].eq("What most want").sum() == n
    second = kept.table["name"][1]
    kept.change(second, merged_into="What most want")
    merged = lift.atlas("Judged by words").table
    assert merged["n"][0] == n + found.table["n"][1]
    assert second not in set(merged["name"])
    kept.change(second, merged_into=None)
    kept.change("What most want", name=None)
    assert named(first) == n
    with pytest.raises(ValueError, match="There is no topic 'What'; there are: "):
        kept.change("What", pinned=True)


def kept(topics, ready=0):
    """The kept topics of a prompt with so many judged conversations, as a service gives them."""
    api = SimpleNamespace(
        topics=topics, status=lambda _: SimpleNamespace(insights=SimpleNamespace(ready=ready))
    )
    return Topics(SimpleNamespace(client=SimpleNamespace(prompts=api)), "prm_1")


def test_where_there_are_no_topics_they_say_why(monkeypatch):
    def missing(_):
        raise NotFound("Topics not found", status=404, code="NOT_FOUND", request="GET")

    monkeypatch.setattr("promptlift.workspace.topics._LONGEST_WAIT", 0.0)
    none = PromptTopics(topics=[], n_compared=40, found_at=datetime.now(UTC))
    found = kept(lambda _: none)
    assert repr(found) == "No topics in 40 conversations: they share their words no more than by chance."
    assert found.table.empty
    assert repr(kept(missing, 29)).endswith("once 30 conversations are judged.")
    assert "the service is looking for them" in repr(kept(missing, 30))


def test_topics_and_failing_endings_of_a_prompt(lift, tmp_path):
    topics, why = lift.atlas("Explained"), lift.why("Explained")
    endings = why.table
    assert len(topics.table) >= 3
    assert topics.table.attrs["promptlift"]["basis"] == "outcome"
    assert len(topics.assignments) == N
    facts = endings.attrs["promptlift"]
    assert "sorry" in " ".join(endings["name"])
    assert endings["difference_points_low"].gt(0).all()
    assert "fail more often than others of the same topic" in facts["summary"].replace("fails", "fail")
    shown, page = str(why), why._repr_html_()
    assert shown.startswith(f"{why.sentence}\n- {facts['sentences'][0]}\n    “")
    assert page.count("<blockquote>") == endings["quotations"].map(len).sum() > 0
    labels = pd.DataFrame(
        {"conversation_id": topics.assignments["conversation_id"], "task_completed": [True, False] * (N // 2)}
    )
    assert lift.why("Explained", labels=labels).table.attrs["promptlift"]["basis"] == "label"
    web = lift.atlas("Explained", where={"metadata.channel": "web"})
    assert len(web.assignments) == N // 2
    assert lift.why("Explained", where={"metadata.channel": "web"}).table.attrs["promptlift"]["n"] == N // 2

    kept = lift.pull(tmp_path / "with texts", content=True).folder
    with promptlift.open_snapshot(kept) as opened, warnings.catch_warnings():
        warnings.simplefilter("error")
        same = ["name", "n", "share", "rate", "first_seen"]
        pd.testing.assert_frame_equal(opened.atlas("Explained").table[same], topics.table[same])
        pd.testing.assert_frame_equal(opened.why("Explained").table, endings)
        scan = opened.snapshot.scan
        both = analysis.atlas(scan(), contents=scan("details"))
        assert len(both.assignments) == 2 * N
        assert both.table["n"].sum() >= 0.9 * 2 * N
        with pytest.raises(FrameError, match=r'contents=snapshot.scan\("details"\)'):
            analysis.atlas(scan())
    bare = lift.pull(tmp_path / "without texts", content=False).folder
    with promptlift.open_snapshot(bare) as opened, pytest.raises(ConfigError, match="content=True"):
        opened.why("Explained")


def test_a_word_list_cannot_say_what_fails_and_no_conversations_are_too_few(lift):
    listed = lift.why("Judged by words")
    assert "n_failed" not in listed.table
    assert "cannot be told without outcomes, labels or a model" in listed.sentence
    with pytest.warns(NothingMatchesWarning, match="No conversation started from 2100-01-01"):
        nothing = lift.atlas("Explained", since="2100-01-01")
    assert nothing.sentence == "0 conversations are too few for topics: at least 30 are needed."
    with pytest.warns(NothingMatchesWarning, match="They started from"):
        assert lift.why("Explained", until="2000-01-01").table.empty
