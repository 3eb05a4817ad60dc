"""The catalogue: what is found, what is shown, and what it costs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from promptlift.errors import FrameError
from promptlift.widgets.browser.catalogue import Catalogue, Filters
from support.conversation_tables import browsable
from support.hostile import PAYLOADS


def found(table, *, blind=False, **filters):
    return Catalogue(table, blind=blind).find(Filters(**filters)).tolist()


def test_filters_hold_together():
    table = browsable(30)
    assert found(table) == list(range(30))
    assert found(table, sentiment=frozenset({"positive"})) == list(range(0, 30, 3))
    assert found(table, sentiment=frozenset({"positive"}), completion=frozenset({"no"})) == list(
        range(3, 30, 6)
    )
    assert found(table, issue=0) == list(range(0, 30, 3))
    assert found(table, issue=0, text="parcel 3") == [3]


def test_text_is_searched_in_what_was_said_and_not_in_its_json():
    quote = 'She said "très bien"\nand left, Straße 5'
    table = browsable(40, extra={7: [quote], 9: ["role timestamp"]})
    assert found(table, text='"très bien" STRASSE') == [7]
    assert found(table, text="said left") == [7]
    assert found(table, text='"left said"') == []
    assert found(table, text="timestamp") == [9]  # the key of the JSON is in every content
    assert found(table, text="c39") == [39]
    assert found(table, text="asked twice parcel 12") == [12]
    assert found(table, text="delivery") == list(range(40))
    assert found(table, text='"') == [7]


def test_plain_transcripts_and_missing_ones_are_read():
    table = browsable(4)
    table["content"] = ["User: hello there\nAssistant: hi", None, "{broken", ""]
    catalogue = Catalogue(table)
    assert catalogue.row(0).title == "hello there"
    assert [turn.role for turn in catalogue.turns(0)[0]] == ["user", "assistant"]
    assert catalogue.turns(1) == ([], "This conversation has no transcript.")
    turns, problem = catalogue.turns(2)
    assert turns == []
    assert problem.startswith("The transcript cannot be read:")
    assert found(table, text="hello") == [0]
    assert found(table, text="broken") == [2]


def test_without_content_it_says_how_to_get_it():
    catalogue = Catalogue(browsable(3).drop(columns="content"))
    assert catalogue.row(0).title == "Asks for a parcel."
    assert catalogue.turns(0)[1] == (
        "No transcript: read the table with lift.conversations(insights=True, content=True)."
    )


def test_ids_alone_are_enough():
    catalogue = Catalogue(pd.DataFrame({"conversation_id": ["a", "b"]}))
    assert [catalogue.row(place).title for place in range(2)] == ["a", "b"]
    assert catalogue.choices() == {"sentiment": [], "completion": [], "issues": []}
    assert not catalogue.has_judgements


def test_messages_carry_roles_times_and_tokens():
    turns, problem = Catalogue(browsable(2)).turns(1)
    assert problem == ""
    assert [(turn.role, turn.detail) for turn in turns] == [
        ("system", ""),
        ("user", "2026-03-01 10:00:00"),
        ("assistant", "2026-03-01 10:00:07 · 1,234 tokens · gpt-4o"),
    ]


def test_calls_of_tools_are_shown_as_calls_also_blind():
    table = browsable(1)
    messages = [
        {"role": "assistant", "content": '[tool call] find({"id": 7})', "tokens": 9},
        {"role": "system", "content": "[tool result] Lyon", "toolResult": "likeness"},
    ]
    table["content"] = pd.Series([json.dumps({"messages": messages})], dtype="object")
    for blind in (False, True):
        turns, _ = Catalogue(table, blind=blind).turns(0)
        assert [(turn.role, turn.content, turn.detail) for turn in turns] == [
            ("tool call", "find\n  id: 7", "9 tokens"),
            ("tool result", "Lyon", "imitated from logged calls"),
        ]


@pytest.mark.parametrize("tokens", [float("inf"), -1e300, True, "12", None, {}, 2**70])
def test_odd_tokens_are_left_out(tokens):
    table = browsable(1)
    message = {"role": "user", "content": "x", "tokens": tokens}
    table["content"] = pd.Series([json.dumps({"messages": [message]})], dtype="object")
    turns, _ = Catalogue(table).turns(0)
    assert not turns or turns[0].detail == ""


def test_missing_judgements_are_a_choice_of_their_own():
    table = browsable(6)
    table.loc[:2, "sentiment"] = None
    table.loc[:1, "task_completed"] = None
    catalogue = Catalogue(table)
    assert dict(catalogue.choices()["sentiment"])["none"] == 3
    assert dict(catalogue.choices()["completion"])["unknown"] == 2
    assert found(table, sentiment=frozenset({"none"})) == [0, 1, 2]
    assert catalogue.row(0).sentiment is None


def test_blind_hides_every_verdict_of_the_judge():
    table = browsable(9)
    catalogue = Catalogue(table, blind=True)
    shown = json.dumps(
        [vars(catalogue.row(3)) if hasattr(catalogue.row(3), "__dict__") else str(catalogue.row(3))]
    )
    sent = shown + json.dumps(catalogue.facts(3)) + json.dumps(catalogue.choices())
    for word in ("positive", "neutral", "negative", "Asked twice", "delivery", "Asks for", "yes", "score"):
        assert word not in sent
    assert found(table, blind=True, text="asked twice") == []
    assert found(table, blind=True, text="parcel 3") == [3]


def test_only_the_hundred_most_frequent_issues_are_offered():
    table = browsable(300)
    table["issues"] = [[{"title": "Common"}, {"title": f"Rare {i}"}] for i in range(300)]
    issues = Catalogue(table).choices()["issues"]
    assert issues[0] == ["Common", 300]
    assert len(issues) == 100


@pytest.mark.parametrize("make", [pl.from_pandas, lambda table: pl.from_pandas(table).lazy()])
def test_other_engines_are_browsed_too(make):
    table = browsable(12)
    theirs, ours = Catalogue(make(table)), Catalogue(table)
    assert theirs.choices() == ours.choices()
    assert [theirs.row(i) for i in range(12)] == [ours.row(i) for i in range(12)]
    assert (
        theirs.find(Filters(text="asked", issue=0)).tolist()
        == ours.find(Filters(text="asked", issue=0)).tolist()
    )


def test_any_text_can_be_shown_found_and_sent():
    table = browsable(len(PAYLOADS))
    for name in ("conversation_id", "summary", "llm_model"):
        table[name] = pd.Series(PAYLOADS, dtype=object)
    table["issues"] = pd.Series([[{"title": one, "severity": "low"}] for one in PAYLOADS], dtype=object)
    table["topics"] = pd.Series([[one] for one in PAYLOADS], dtype=object)
    table["content"] = pd.Series(
        [json.dumps({"messages": [{"role": "user", "content": one}]}) for one in PAYLOADS], dtype=object
    )
    catalogue = Catalogue(table)
    for place in range(len(PAYLOADS)):
        row, (turns, _) = catalogue.row(place), catalogue.turns(place)
        sent = json.dumps(
            [row.title, row.when, catalogue.facts(place), [turn.content for turn in turns]],
            ensure_ascii=False,
        )
        sent.encode()
        assert len(row.title) <= 90
        assert "\n" not in row.title
        assert all(len(turn.content) <= 20_000 for turn in turns)
    json.dumps(catalogue.choices(), ensure_ascii=False).encode()
    assert len(catalogue.find(Filters(text="owned"))) > 10
    assert catalogue.find(Filters(text="\ud83d \x00")).tolist() is not None


def test_a_table_without_ids_is_refused():
    with pytest.raises(FrameError, match="conversation_id"):
        Catalogue(pd.DataFrame({"content": ["User: x"]}))


def test_an_empty_table_is_browsed():
    catalogue = Catalogue(browsable(0))
    assert catalogue.find(Filters(text="x", sentiment=frozenset({"positive"}))).tolist() == []
    assert np.array_equal(catalogue.find(Filters()), [])
