"""Columns and filters of conversations: on our service, and the same on one that knows none of our fields."""

from __future__ import annotations

import json
import warnings
from contextlib import ExitStack
from datetime import UTC, date, datetime

import pandas as pd
import pytest

import promptlift
from promptlift import frames
from promptlift.errors import ConfigError, FrameError, IncompleteError, NotFound
from promptlift.local import wait_for_insights
from promptlift.workspace import NothingMatchesWarning
from promptlift.workspace.prompt_names import id_of
from support.foreign_service import KEY, ForeignService
from support.service_process import ServiceProcess

pytestmark = pytest.mark.slow  # a service holds what they read

MODEL = "gpt-4o"
BAD = "User: Cancel my order.\nAssistant: I cannot do that.\nUser: That did not help, forget it."


def timed(day, *, channel, turns=2, **metadata):
    messages = [
        {
            "role": ("user", "assistant")[turn % 2],
            "content": f"turn {turn}",
            "timestamp": f"2026-03-{day:02d}T12:00:{turn * 5:02d}Z",
            "tokens": 10,
        }
        for turn in range(turns)
    ]
    return json.dumps({"messages": messages, "metadata": {"channel": channel, **metadata}})


CONTENTS = [
    timed(1, channel="web", seats=1),
    timed(2, channel="app", seats=2, turns=4),
    timed(3, channel="web", seats=3, vip=True),
    timed(4, channel="mail"),
]


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """A workspace with two prompts; tests that change something take prompts of their own."""
    with ExitStack() as ends:
        service = ServiceProcess(tmp_path_factory.mktemp("filters")).start()
        ends.callback(service.kill)
        lift = ends.enter_context(promptlift.connect(service.base_url, service.key, progress=False))
        lift.create_prompt("Support", "You help.", llm_model=MODEL)
        # One after the other: requests side by side may be answered in any order.
        for content in CONTENTS:
            lift.log([{"content": content}], prompt_id="Support")
        lift.create_prompt("Sales", "You sell.", llm_model=MODEL)
        lift.log(
            [
                {
                    "content": BAD,
                    "metadata": {"channel": "app", "tags": ["a", "b"]},
                    "cost": 0.5,
                    "title": "No",
                }
            ],
            prompt_id="Sales",
        )
        wait_for_insights(lift, ["Support", "Sales"], progress=False)
        yield lift


@pytest.fixture
def foreign():
    with ForeignService() as service:
        for content in CONTENTS:
            service.insert(content=content)
        with promptlift.connect(service.base_url, KEY, progress=False) as lift:
            yield lift


def shown(frame, *columns):
    return frame[list(columns)].astype(object).where(frame[list(columns)].notna(), None).to_numpy().tolist()


def test_the_table_has_names_measures_and_a_typed_column_for_each_key(ours):
    frame = ours.conversations(["Support", "Sales", "Support"])
    assert len(frame.attrs["promptlift"]["filters"]["prompt_id"]) == 2
    assert shown(frame, "prompt", "title", "n_turns", "duration_s", "tokens", "output_tokens", "cost") == [
        ["Sales", "No", 3, None, None, None, 0.5],
        ["Support", None, 2, 5.0, 20, 10, None],
        ["Support", None, 2, 5.0, 20, 10, None],
        ["Support", None, 4, 15.0, 40, 20, None],
        ["Support", None, 2, 5.0, 20, 10, None],
    ]
    assert list(frame.columns[-7:-3]) == [f"metadata.{key}" for key in ("channel", "seats", "tags", "vip")]
    assert [str(dtype) for dtype in frame.dtypes[-7:-3]] == ["str", "Int64", "str", "boolean"]
    assert frame["metadata.tags"].dropna().tolist() == ["a, b"]
    assert frame["latency_ms"].dropna().tolist() == [5000] * 4


def test_a_key_with_values_of_several_types_is_text_and_numbers_of_both_kinds_are_floats(ours):
    ours.create_prompt("Mixed", "c", llm_model=MODEL)
    records = [
        {"content": BAD + str(n), "metadata": {"x": x, "y": y}}
        for n, (x, y) in enumerate([(1, 2), (True, 2.5), ("t", 3)])
    ]
    ours.log(records, prompt_id="Mixed")
    frame = ours.conversations("Mixed")
    assert sorted(frame["metadata.x"]) == ["1", "t", "true"]
    assert (str(frame["metadata.y"].dtype), sorted(frame["metadata.y"])) == ("Float64", [2.0, 2.5, 3.0])


def test_two_prompts_of_one_name_are_told_apart_and_a_deleted_one_has_its_id(ours):
    ids = [ours.client.prompts.create(name="Twin", content="c", llm_model=MODEL).id for _ in range(2)]
    for one in ids:
        ours.log([{"content": BAD}], prompt_id=one)
    frame = ours.conversations(ids)
    for one, name in zip(frame["prompt_id"], frame["prompt"], strict=True):
        assert name.startswith("Twin (prm_")
        assert one.startswith(name.removeprefix("Twin (").removesuffix(")"))
    assert frame["prompt"].nunique() == 2
    with pytest.raises(ConfigError, match="There is a prompt 'Twin' already"):
        ours.create_prompt("Twin", "c", llm_model=MODEL)
    ours.client.prompts.delete(ids[0])
    assert ids[0] not in set(ours.prompts()["prompt_id"])
    assert set(ours.conversations(ids)["prompt"]) == {ids[0], "Twin"}


def test_versions_are_told_apart_where_the_rows_know_several(ours):
    ours.create_prompt("Versions", "c", llm_model=MODEL)
    records = [
        {"content": BAD + str(n), "metadata": {"promptVersion": v}}
        for n, v in enumerate([1, 2, "beta", None])
    ]
    ours.log(records[:1], prompt_id="Versions")
    assert set(ours.conversations("Versions")["prompt"]) == {"Versions"}
    ours.log(records, prompt_id="Versions")
    assert set(ours.conversations("Versions")["prompt"]) == {
        *("Versions · v1", "Versions · v2", "Versions · beta", "Versions"),
    }


FILTERS = [
    ({"since": "2026-03-02"}, [2, 3, 4]),
    ({"until": "2026-03-02"}, [1]),
    ({"since": date(2026, 3, 2), "until": datetime(2026, 3, 3, 12, tzinfo=UTC)}, [2]),
    ({"since": pd.Timestamp("2026-03-03T14:00:00+02:00")}, [3, 4]),
    ({"where": {"metadata.channel": ["app", "mail"]}}, [2, 4]),
    ({"where": {"metadata.vip": True, "metadata.channel": "web"}}, [3]),
    ({"where": {"metadata.seats": None}}, [4]),
    ({"where": {"n_turns": 4}}, [2]),
    ({"where": {"status": "completed"}, "since": "2026-03-04"}, [4]),
]


def assert_days(lift, prompt, wanted, days, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = lift.conversations(prompt, **options, **wanted)
    assert sorted(frame["started_at"].dt.day) == days
    told = frame.attrs["promptlift"]
    assert (told["rows"], told["total"], told["complete"]) == (len(days), 4, True)
    assert set(wanted) <= set(told["filters"])


def test_filters_leave_the_right_rows_also_of_a_service_that_knows_none_of_them(ours, foreign):
    for wanted, days in FILTERS:
        assert_days(ours, "Support", wanted, days)
        # It has the metadata in the content only.
        assert_days(foreign, "p1", wanted, days, content=True)


def test_a_read_of_several_prompts_that_stops_carries_what_was_read(ours, monkeypatch):
    first, second = id_of(ours, "Support"), id_of(ours, "Sales")
    whole = ours._read

    def stops(wanted, on_part, **filters):
        if filters["prompt_id"] == second:
            raise promptlift.errors.ServerError("it broke", status=500, code="INTERNAL")
        return whole(wanted, on_part, **filters)

    monkeypatch.setattr(ours, "_read", stops)
    with pytest.raises(IncompleteError, match="1 of 2 prompts") as caught:
        ours.conversations([first, second])
    assert len(caught.value.fetched) == 4
    assert caught.value.fetched.attrs["promptlift"]["complete"] is False


def test_a_filter_that_matches_nothing_says_what_there_is(foreign):
    for wanted, said in (
        (
            {"where": {"metadata.channel": "sms"}},
            r"No conversation has 'sms' in metadata.channel. There are: 'web' \(2\)",
        ),
        (
            {"where": {"metadata.seats": "2"}},
            r"No conversation has '2' in metadata.seats. There are: .*1 \(1\)",
        ),
        ({"where": {"status": "done"}}, r"There are: 'completed' \(4\)\."),
        (
            {"since": "2027-01-01"},
            "No conversation started from 2027-01-01 00:00 UTC on. They started from 2026-03-01 12:00",
        ),
        ({"where": {"metadata.channel": "mail", "metadata.seats": 1}}, "matches all filters together"),
    ):
        with pytest.warns(NothingMatchesWarning, match=said) as caught:
            foreign.conversations(content=True, **wanted)
        assert len(caught) == 1


def test_what_cannot_be_filtered_by_is_refused_with_near_names(ours):
    for wanted, error, said in (
        ({"prompt_id": "Suport"}, NotFound, "Did you mean 'Support'"),
        ({"where": {"channel": "web"}}, FrameError, "Did you mean 'metadata.channel'"),
        (
            {"where": {"metadata.zzz": 1}},
            FrameError,
            "metadata that these conversations have: 'metadata.channel'",
        ),
        ({"where": {"sentiment": "negative"}}, FrameError, "pass insights=True"),
        ({"where": {"content": "x"}}, FrameError, "content=True"),
        ({"where": ["metadata.channel"]}, ConfigError, "give a dict"),
        ({"where": {"metadata.channel": []}}, ConfigError, "empty list"),
        ({"since": "yesterday-ish"}, ConfigError, "give a time such as"),
        ({"since": "2026-03-02", "until": "2026-03-01"}, ConfigError, "must be before until"),
        ({"prompt_id": []}, ConfigError, "empty list"),
    ):
        with pytest.raises(error, match=said):
            ours.conversations(**{"prompt_id": "Support", **wanted})


def test_an_empty_table_has_the_same_columns_and_no_filter_warns(ours):
    ours.create_prompt("Empty", "c", llm_model=MODEL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = ours.conversations("Empty", since="2026-01-01", where={"metadata.any": 1}, insights=True)
    whole = ours.conversations("Support", insights=True)
    assert list(frame.columns) == [name for name in whole.columns if not name.startswith("metadata.")]
    assert all(frame.dtypes == whole.dtypes[frame.columns])


def test_issues_and_topics_are_long_tables_of_conversations(ours):
    read = ours.conversations("Sales", insights=True)
    found = frames.issues_table(read)
    assert list(found.columns) == [
        *("conversation_id", "prompt_id", "prompt", "started_at", "kind", "title", "severity", "quote"),
    ]
    assert found["title"].tolist() == [issue["title"] for issue in read["issues"][0]]
    assert found["quote"].tolist() == [issue["evidence"] for issue in read["issues"][0]]
    every = ours.conversations(["Sales", "Support"], insights=True)
    about = frames.topics_table(every)
    assert list(about.columns) == ["conversation_id", "prompt_id", "prompt", "started_at", "topic"]
    assert sorted(about["topic"]) == sorted(topic for topics in every["topics"] for topic in topics)
    none = frames.issues_table(ours.conversations("Support", until="2026-03-02", insights=True))
    assert [str(dtype) for dtype in none.dtypes] == [str(dtype) for dtype in found.dtypes]


def test_prompts_are_created_and_changed_by_name(ours):
    made = ours.create_prompt("Billing", "v1", llm_model=MODEL, tags=["money"], temperature=0.5)
    ours.update_prompt("Billing", content="v2", name="Invoices")
    kept = ours.client.prompts.get(made.id)
    assert (kept.name, kept.content, kept.tags, kept.temperature) == ("Invoices", "v2", ["money"], 0.5)
    assert id_of(ours, "Invoices") == made.id
    with pytest.raises(NotFound, match="Did you mean 'Invoices'"):
        ours.update_prompt("Invoice", content="v3")
    with pytest.raises(ConfigError, match="Nothing to change"):
        ours.update_prompt("Invoices")
    with pytest.raises(promptlift.errors.ValidationError, match="gpt-4o"):
        ours.create_prompt("Other", "c", llm_model="gpt-4oo")
