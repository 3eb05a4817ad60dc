"""Sorting, filters, marked words, own label sets and notes of the conversation browser, on Python's side."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift.errors import ConfigError
from promptlift.widgets.browser.marks import marked
from promptlift.widgets.browser.widget import ConversationBrowser
from support.conversation_tables import browsable
from support.front_end import BrowserFrontEnd

SETS = {"reason": ["refund", "bug"]}


def table(n=60):
    return browsable(n).assign(
        prompt=[["Support v1", "Support v2", "Billing"][i % 3] for i in range(n)],
        llm_model=[["gpt-4o", "gpt-4o-mini"][i % 2] for i in range(n)],
        topics=[["refund", "delivery"] if i % 4 == 0 else ["delivery"] for i in range(n)],
        tokens=[(7 * i) % n for i in range(n)],
        **{
            "metadata.channel": [["web", "app", None][i % 3] for i in range(n)],
            "metadata.paid": pd.array([i % 2 == 0 for i in range(n)], dtype="boolean"),
            # Tells conversations apart, so it is nothing to filter by.
            "metadata.ticket": [f"T{i}" for i in range(n)],
        },
    )


def front(n=60, **options):
    return BrowserFrontEnd(ConversationBrowser(table(n), **options))


def facet(there, key):
    """A filter by its column: its label, and the index of each value."""
    label, choices = next(
        (words, choices) for name, words, choices in there.about["choices"]["facets"] if name == key
    )
    return label, {value: (at, count) for at, (value, count) in enumerate(choices)}


def orders(there):
    return there.about["choices"]["orders"]


def test_the_filters_of_a_table_are_those_of_its_columns():
    there = front()
    names = [key for key, *_ in there.about["choices"]["facets"]]
    assert names == ["prompt", "llm_model", "topics", "metadata.channel", "metadata.paid"]
    assert facet(there, "prompt")[1]["Billing"][1] == 20
    assert facet(there, "metadata.paid") == ("paid", {"false": (0, 30), "true": (1, 30)})
    assert there.about["choices"]["dates"] == ["2026-03-01", "2026-03-01"]
    bare = BrowserFrontEnd(ConversationBrowser(pd.DataFrame({"conversation_id": ["a", "b"]})))
    assert bare.about["choices"]["facets"] == []
    assert orders(bare) == ["In the order of the table"]


def test_filters_of_prompt_model_topic_and_metadata_hold_together():
    there = front()
    chosen = {
        key: facet(there, key)[1][value][0]
        for key, value in (("prompt", "Support v1"), ("llm_model", "gpt-4o"), ("topics", "refund"))
    }
    there.query(facets=chosen)
    assert there.places == [place for place in range(60) if place % 12 == 0]
    there.query(facets={"metadata.channel": facet(there, "metadata.channel")[1]["app"][0]})
    assert there.places[:3] == [1, 4, 7]
    assert there.view["rows"][0]["prompt"] == "Support v2"
    assert ["Prompt", "Support v2"] in there.opened["facts"]
    assert ["channel", "app"] in there.opened["facts"]


def test_days_are_whole_and_in_utc():
    frame = table(4).assign(
        started_at=pd.to_datetime(
            ["2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z", "2026-03-02T23:59:59.999Z", None],
            format="ISO8601",
        )
    )
    there = BrowserFrontEnd(ConversationBrowser(frame))
    there.query(since="2026-03-02", until="2026-03-02")
    assert there.places == [1, 2]
    there.query(since="2026-03-02")
    assert there.places == [1, 2]
    there.query(until="2026-03-01")
    assert there.places == [0]


def test_a_sorted_list_is_walked_in_its_order():
    there = front(120)
    most = orders(there).index("Most tokens first")
    expected = table(120)["tokens"].sort_values(ascending=False, kind="stable").index.tolist()
    assert there.query(order=most) == expected[0]
    assert there.places == expected[:50]
    assert there.query("by", expected[49], 1, order=most) == expected[50]
    assert there.places == expected[50:100]
    assert there.query("last", order=most) == expected[-1]
    assert there.query("unlabelled", expected[3], order=most) == expected[4]
    least = orders(there).index("Fewest tokens first")
    assert there.query(order=least) == expected[-1]
    assert there.query(order=0) == 0


def test_what_is_not_known_comes_last_either_way():
    frame = table(6).assign(tokens=[None, 5, 1, None, 9, 3])
    there = BrowserFrontEnd(ConversationBrowser(frame))
    for words, first in (("Most tokens first", [4, 1, 5, 2]), ("Fewest tokens first", [2, 5, 1, 4])):
        there.query(order=orders(there).index(words))
        assert there.places == [*first, 0, 3]


def test_found_words_are_marked_in_titles_and_messages():
    there = front()
    there.query(text='PARCEL "its way"')
    assert [part for part in there.view["rows"][0]["parts"] if part[1]] == [["parcel", True]]
    found = [part for turn in there.opened["turns"] for part in turn.get("parts", ()) if part[1]]
    assert found == [["parcel", True], ["its way", True]]
    there.query(text="")
    assert not there.view["rows"][0]["parts"]
    assert not any("parts" in turn for turn in there.opened["turns"])


@pytest.mark.parametrize(
    ("text", "words", "hits"),
    [
        ("STRASSE und Straße", ["strasse"], ["STRASSE", "Straße"]),
        ("aaaa", ["aa"], ["aaaa"]),
        ("one 😀 two", ["😀"], ["😀"]),
        ("<b>bold</b>", ["<b>"], ["<b>"]),
        ("nothing", ["x"], []),
        ("", ["x"], []),
    ],
)
def test_marks_lose_no_character(text, words, hits):
    parts = marked(text, words)
    assert [part for part, hit in parts if hit] == hits
    assert not parts or "".join(part for part, _ in parts) == text


def test_blind_offers_nothing_that_the_judge_said():
    there = front(blind=True)
    assert "topics" not in [key for key, *_ in there.about["choices"]["facets"]]
    assert not [words for words in orders(there) if "sentiment" in words or "quality" in words]
    there.query(facets={"topics": 0})
    assert there.view["found"] == 60


def test_a_filter_that_makes_no_sense_is_none():
    there = front()
    for query in (
        {"facets": {"prompt": 99}}, {"facets": {"prompt": True}}, {"facets": {"nothing": 0}}, {"facets": ["prompt"]},
        {"order": 99}, {"order": "1"}, {"since": "yesterday"}, {"until": 7}, {"since": "9999-01-01"},
    ):  # fmt: skip
        assert there.query(**query) == 0
        assert there.view["found"] == 60


def test_own_labels_and_a_note_are_kept_in_the_file(tmp_path):
    path = tmp_path / "labels.csv"
    first = front(labels=path, label_sets=SETS)
    first.label(3, "reason", "bug")
    first.label(3, "note", "=SUM(1) looks\nodd")
    first.label(5, "note", "only a note")
    again = front(labels=path, label_sets=SETS)
    rows = again.widget.labels.set_index("conversation_id")
    assert rows.loc["c3", ["reason", "note"]].tolist() == ["bug", "=SUM(1) looks\nodd"]
    assert again.widget.labels.equals(first.widget.labels)
    # What a spreadsheet would run is text.
    assert "'=SUM" in path.read_text()
    assert first.labels["shown"]["3"] == [None, None, {"reason": "bug"}, "=SUM(1) looks\nodd"]
    # A note is no label.
    assert again.labels["labelled"] == 1
    again.query(labelled="no")
    assert 5 in again.places
    assert 3 not in again.places
    # A set that is not asked for this time is not lost.
    other = front(labels=path)
    other.label(7, "task_completed", True)
    assert (
        front(labels=path, label_sets=SETS).widget.labels.set_index("conversation_id").loc["c3", "reason"]
        == "bug"
    )
    again.query("to", 3)
    again.label(3, "both", None)
    assert again.labels["shown"]["3"] == [None, None, {}, "=SUM(1) looks\nodd"]


def test_a_value_outside_its_set_is_no_label():
    there = front(label_sets=SETS)
    for value in ("other", True, 1, ""):
        there.label(1, "reason", value)
    there.label(1, "channel", "web")
    assert there.widget.labels.empty


@pytest.mark.parametrize(
    "sets", [{"note": ["a"]}, {"sentiment": ["a"]}, {"": ["a"]}, {"tone": "kind"}, {"tone": []}]
)
def test_a_label_set_that_cannot_be_used_is_refused(sets):
    with pytest.raises(ConfigError, match="label set"):
        front(label_sets=sets)
