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


def facet(there, key, words):
    """The value of a filter whose words begin like this."""
    return next(value for one, value in there.options(f"facet {key}").items() if one.startswith(f"{words} ("))


def order(there, words):
    return there.options("order")[words]


def names(there):
    return [
        one["name"].removeprefix("facet ")
        for one in there.root.all("select")
        if one["name"].startswith("facet ")
    ]


def test_the_filters_of_a_table_are_those_of_its_columns():
    there = front()
    assert names(there) == ["prompt", "llm_model", "topics", "metadata.channel", "metadata.paid"]
    assert [*there.options("facet prompt")] == ["any", "Billing (20)", "Support v1 (20)", "Support v2 (20)"]
    assert there.options("facet metadata.paid") == {"any": "", "false (30)": "0", "true (30)": "1"}
    assert "paid" in there.root.texts("label")
    assert there.root.all("input", type="date") == []  # they are all of one day
    bare = BrowserFrontEnd(ConversationBrowser(pd.DataFrame({"conversation_id": ["a", "b"]})))
    assert names(bare) == []
    assert bare.root.all("select", name="order") == []


def test_filters_of_prompt_model_topic_and_metadata_hold_together():
    there = front()
    chosen = {
        f"facet {key}": facet(there, key, value)
        for key, value in (("prompt", "Support v1"), ("llm_model", "gpt-4o"), ("topics", "refund"))
    }
    there.search(**chosen)
    assert there.places == [place for place in range(60) if place % 12 == 0]
    there.search(**{"facet metadata.channel": facet(there, "metadata.channel", "app")})
    assert there.places[:3] == [1, 4, 7]
    assert "Support v2" in there.row(1)
    assert there.facts["Prompt"] == "Support v2"
    assert there.facts["channel"] == "app"


def test_days_are_whole_and_in_utc():
    frame = table(4).assign(
        started_at=pd.to_datetime(
            ["2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z", "2026-03-02T23:59:59.999Z", None],
            format="ISO8601",
        )
    )
    there = BrowserFrontEnd(ConversationBrowser(frame))
    there.search(since="2026-03-02", until="2026-03-02")
    assert there.places == [1, 2]
    there.search(since="2026-03-02")
    assert there.places == [1, 2]
    there.search(until="2026-03-01")
    assert there.places == [0]


def test_a_sorted_list_is_walked_in_its_order():
    there = front(120)
    expected = table(120)["tokens"].sort_values(ascending=False, kind="stable").index.tolist()
    assert there.search(order=order(there, "Most tokens first")) == expected[0]
    assert there.places == expected[:50]
    there.go("open", place=expected[49])
    assert there.go("move", by=1) == expected[50]
    assert there.places == expected[50:100]
    assert there.go("last") == expected[-1]
    there.go("open", place=expected[3])
    assert there.go("unlabelled") == expected[4]
    assert there.search(order=order(there, "Fewest tokens first")) == expected[-1]
    there.go("clear")
    assert there.place == expected[-1]  # clears the filters, not the order
    assert there.search(order=0) == 0


def test_what_is_not_known_comes_last_either_way():
    frame = table(6).assign(tokens=[None, 5, 1, None, 9, 3])
    there = BrowserFrontEnd(ConversationBrowser(frame))
    for words, first in (("Most tokens first", [4, 1, 5, 2]), ("Fewest tokens first", [2, 5, 1, 4])):
        there.search(order=order(there, words))
        assert there.places == [*first, 0, 3]


def test_found_words_are_marked_in_titles_and_messages():
    there = front()
    there.search(text='PARCEL "its way"')
    assert there.row(0).texts("mark") == ["parcel"]
    assert [one for turn in there.root.all(".plw-turn") for one in turn.texts("mark")] == [
        "parcel",
        "its way",
    ]
    there.search(text="")
    assert there.root.all("mark") == []


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
    assert "topics" not in names(there)
    assert not [words for words in there.options("order") if "sentiment" in words or "quality" in words]
    there.search(**{"facet topics": 0})
    assert there.found == "60 conversations"


def test_own_labels_and_a_note_are_kept_in_the_file(tmp_path):
    path = tmp_path / "labels.csv"
    first = front(labels=path, label_sets=SETS)
    first.label(3, "reason", "bug")
    first.note(3, "=SUM(1) looks\nodd")
    first.note(5, "only a note")
    again = front(labels=path, label_sets=SETS)
    rows = again.widget.labels.set_index("conversation_id")
    assert rows.loc["c3", ["reason", "note"]].tolist() == ["bug", "=SUM(1) looks\nodd"]
    assert again.widget.labels.equals(first.widget.labels)
    # What a spreadsheet would run is text.
    assert "'=SUM" in path.read_text()
    assert first.row(3).one(".plw-own").texts("b") == ["reason: bug", "note"]
    # A note is no label.
    assert again.progress.startswith("1 labelled")
    again.search(labelled="no")
    assert 5 in again.places
    assert 3 not in again.places
    # A set that is not asked for this time is not lost.
    other = front(labels=path)
    other.label(7, "task_completed", "true")
    assert (
        front(labels=path, label_sets=SETS).widget.labels.set_index("conversation_id").loc["c3", "reason"]
        == "bug"
    )
    again.search()
    again.go("open", place=3)
    again.press("remove")
    assert again.row(3).one(".plw-own").texts("b") == ["note"]
    assert again.root.one("textarea")["value"] == "=SUM(1) looks\nodd"


def test_a_value_outside_its_set_is_no_label():
    there = front(label_sets=SETS)
    for name, value in (("reason", "other"), ("reason", ""), ("channel", "web"), ("note", "x")):
        there.send("label", place="1", field=name, value=value)
    assert there.widget.labels.empty


@pytest.mark.parametrize(
    "sets", [{"note": ["a"]}, {"sentiment": ["a"]}, {"": ["a"]}, {"tone": "kind"}, {"tone": []}]
)
def test_a_label_set_that_cannot_be_used_is_refused(sets):
    with pytest.raises(ConfigError, match="label set"):
        front(label_sets=sets)
