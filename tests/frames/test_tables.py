from __future__ import annotations

import json

import pandas as pd
import pytest

from promptlift import frames

ROW = {
    "id": "c1",
    "promptId": "p1",
    "status": "completed",
    "hasInsights": True,
    "createdAt": "2026-01-02T03:04:05.678Z",
    "llmModel": "m",
    "newField": {"nobody": "knows"},
    "content": json.dumps(
        {
            "messages": [
                {"role": "user", "content": "hi", "timestamp": "2026-01-01T10:00:05+02:00"},
                {
                    "role": "assistant",
                    "content": "yo",
                    "timestamp": "2026-01-01T08:00:00Z",
                    "tokens": 3,
                    "model": "m",
                },
            ]
        }
    ),
    "insights": {
        "sentiment": "negative",
        "sentimentScore": -1,
        "taskCompleted": False,
        "topics": ["a", "b"],
        "summary": "s",
        "issues": [{"title": "t", "severity": "low", "evidence": None}],
        "createdAt": "2026-01-03T00:00:00Z",
        "analyser": "lexicon",
    },
}


def conversations(rows, **options):
    return frames.conversations_table(rows, insights=True, content=True, **options)


def dtypes(frame):
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}


# Those of an empty table are proven elsewhere.
DTYPES = dtypes(conversations([])[0])


def test_started_at_is_the_services_else_the_transcripts_else_created_at():
    stated = {**ROW, "startedAt": "2025-12-24T00:00:00Z"}
    plain = {**ROW, "content": "User: hi"}
    starts = conversations([stated, ROW, plain])[0]["started_at"]
    assert list(starts) == [
        pd.Timestamp("2025-12-24T00:00:00Z"),
        pd.Timestamp("2026-01-01T08:00:00Z"),
        pd.Timestamp("2026-01-02T03:04:05.678Z"),
    ]
    without = frames.conversations_table([ROW])[0]["started_at"]
    assert list(without) == [pd.Timestamp("2026-01-02T03:04:05.678Z")]


@pytest.mark.parametrize(
    ("wire", "column", "bad"),
    [
        ("status", "status", "finished"),
        ("status", "status", 5),
        ("hasInsights", "has_insights", 1),
        ("createdAt", "created_at", 1_700_000_000),
        ("createdAt", "created_at", "99999-01-01T00:00:00Z"),
        ("createdAt", "created_at", "now"),  # to pandas a time
        ("llmModel", "llm_model", ["m"]),
        ("content", "content", {"messages": []}),
    ],
)
def test_a_bad_value_is_missing_and_counted(wire, column, bad):
    frame, warnings = conversations([ROW, {**ROW, wire: bad}, {"id": "c1", "agentId": "a1"}])
    assert frame[column].isna().tolist()[:2] == [False, True]
    assert warnings[column] == 1
    assert dtypes(frame) == DTYPES
    assert frame["prompt_id"].tolist()[2] == "a1"


@pytest.mark.parametrize(
    ("wire", "column", "bad"),
    [
        ("sentiment", "sentiment", "meh"),
        ("sentimentScore", "sentiment_score", "0.5"),
        ("taskCompleted", "task_completed", 0),
        ("issues", "issues", {"title": "x"}),
        ("createdAt", "insights_at", "2026-13-45"),
    ],
)
def test_a_bad_insight_is_missing_and_counted(wire, column, bad):
    rows = [{**ROW, "insights": {**ROW["insights"], wire: bad}}, {**ROW, "insights": "good"}]
    frame, warnings = conversations(rows)
    assert frame[column].isna().tolist() == [True, True]
    assert warnings == {column: 1, "insights": 1}


def test_messages_are_in_order_with_their_turn():
    plain = {"id": "c2", "content": "Customer: hi\nthere\nAgent: hello"}
    frame, warnings = frames.messages_table([ROW, plain])
    assert list(frame["conversation_id"]) == ["c1", "c1", "c2", "c2"]
    assert list(frame["turn"]) == [0, 1, 0, 1]
    assert list(frame["role"]) == ["user", "assistant"] * 2
    assert list(frame["content"]) == ["hi", "yo", "hi\nthere", "hello"]
    assert frame["tokens"].tolist()[1] == 3
    assert frame["sent_at"].iloc[0] == pd.Timestamp("2026-01-01T08:00:05Z")
    assert warnings == {}


@pytest.mark.parametrize("content", [None, "no label", "{", '{"messages": [5]}'])
def test_content_that_cannot_be_read_gives_no_rows_and_is_counted(content):
    frame, warnings = frames.messages_table([{"id": "c1", "content": content}, ROW])
    assert list(frame["conversation_id"]) == ["c1", "c1"]
    assert warnings == {"unreadable_content": 1}


@pytest.mark.slow
def test_a_table_made_in_parts_is_the_same(monkeypatch):
    rows = [
        {**ROW, "id": f"c{number}", "status": "?" if number % 7 == 0 else "completed"}
        for number in range(2500)
    ]
    whole, counts = conversations(rows)
    monkeypatch.setattr("promptlift.frames.columns.PART_ROWS", 1000)
    made = frames.Parts(conversations)
    made.add(rows[:1700])
    made.add([])
    made.add(rows[1700:])
    parts, parts_counts = made.whole()
    pd.testing.assert_frame_equal(parts, whole)
    assert dtypes(parts) == DTYPES
    assert parts_counts == counts == {"status": 358}


def test_the_source_id_is_the_services_else_that_of_the_metadata_where_the_content_is_there():
    def row(number, content, **fields):
        return {"id": f"c{number}", "status": "completed", "content": content, **fields}

    kept = json.dumps({"messages": [{"role": "user", "content": "a"}], "metadata": {"sourceId": "inside"}})
    rows = [
        row(1, kept, sourceId="outside"),
        row(2, kept),
        row(3, 'User: {"sourceId": "x"}'),
        row(4, '{"sourceId": broken'),
        row(5, '{"messages": [], "metadata": {"sourceId": 5}}'),
    ]
    table, _ = frames.conversations_table(rows, content=True)
    assert list(table["source_id"].fillna("")) == ["outside", "inside", "", "", ""]
    table, _ = frames.conversations_table(rows)
    assert list(table["source_id"].fillna("")) == ["outside", "", "", "", ""]


def test_a_text_that_is_not_known_is_missing_and_not_what_stands_in_for_it():
    rows = [
        {"id": "p1", "content": "(not known)", "contentKnown": False},
        {"id": "p2", "content": "You help.", "contentKnown": True},
        {"id": "p3", "content": "Of a service that knows no mark."},
    ]
    content = frames.prompts_table(rows)[0]["content"]
    assert content.isna().tolist() == [True, False, False]
    assert content.tolist()[1:] == ["You help.", "Of a service that knows no mark."]
