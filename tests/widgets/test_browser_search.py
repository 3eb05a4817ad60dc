"""What is found, sorted and shown of a table of conversations, whatever it holds."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from promptlift.errors import FrameError
from promptlift.widgets.browser.search import marked
from promptlift.widgets.browser.widget import ConversationBrowser
from support.conversation_tables import browsable
from support.front_end import BrowserFrontEnd
from support.hostile import CHARACTERS, LONG, ONE_OF_EACH, PAYLOADS


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


def front(frame=None):
    return BrowserFrontEnd(ConversationBrowser(table() if frame is None else frame))


def found(there, text="", **chosen):
    """Places that are found with these values of facets, each given by the beginning of its words."""
    fields = {
        f"facet {key}": next(
            value for words, value in there.options(f"facet {key}").items() if words.startswith(f"{one} (")
        )
        for key, one in chosen.items()
    }
    there.search(text=text, **fields)
    return there.places


def facets(there):
    names = [one["name"] for one in there.root.all("select")]
    return [one.removeprefix("facet ") for one in names if one.startswith("facet ")]


def with_messages(*messages):
    frame = browsable(1)
    frame["content"] = pd.Series([json.dumps({"messages": list(messages)})], dtype="object")
    return frame


def test_the_filters_of_a_table_are_those_of_its_columns_and_hold_together():
    there = front()
    assert facets(there) == [
        "task_completed", "sentiment", "issues", "prompt", "llm_model", "topics", "metadata.channel", "metadata.paid",
    ]  # fmt: skip
    assert [*there.options("facet prompt")] == ["any", "Billing (20)", "Support v1 (20)", "Support v2 (20)"]
    assert there.options("facet metadata.paid") == {"any": "", "false (30)": "0", "true (30)": "1"}
    assert [*there.options("facet sentiment")] == ["any", "positive (20)", "neutral (20)", "negative (20)"]
    assert {"paid", "completion", "issue"} <= {*there.root.texts("label")}
    assert there.root.all("input", type="date") == []  # they are all of one day
    assert found(there, prompt="Support v1", llm_model="gpt-4o", topics="refund") == [*range(0, 60, 12)]
    assert found(there, sentiment="positive", task_completed="not completed") == [*range(3, 60, 6)]
    assert found(there, issues="Asked twice", text='"parcel 3?"') == [3]
    assert found(there, **{"metadata.channel": "app"})[:3] == [1, 4, 7]
    assert "Support v2" in there.row(1)
    assert (there.facts["Prompt"], there.facts["channel"], there.facts["Score"]) == (
        "Support v2",
        "app",
        "+0.00",
    )
    bare = front(pd.DataFrame({"conversation_id": ["a", "b"]}))
    assert facets(bare) == bare.root.all("select", name="order") == []
    assert [bare.row(place).one(".plw-title").text for place in (0, 1)] == ["a", "b"]
    with pytest.raises(FrameError, match="conversation_id"):
        front(pd.DataFrame({"content": ["User: x"]}))


def test_verdicts_that_are_missing_are_a_choice_and_only_frequent_issues_are():
    frame = browsable(300)
    frame.loc[:2, "sentiment"] = None
    frame.loc[:1, "task_completed"] = None
    frame["issues"] = [[{"title": "Common"}] * (i > 0) + [{"title": f"Rare {i}"}] for i in range(300)]
    there = front(frame)
    assert found(there, sentiment="not judged") == [0, 1, 2]
    assert there.row(0).texts(".plw-badge") == ["not judged"]
    assert len(there.options("facet issues")) == 101
    assert [*there.options("facet issues")][1] == "Common (299)"


def test_text_is_searched_in_what_was_said_and_not_in_its_json():
    frame = browsable(40, extra={7: ['She said "très bien"\nand left, Straße 5'], 9: ["role timestamp"]})
    there = front(frame)
    for text, places in {
        '"très bien" STRASSE': [7],
        "said left": [7],
        '"left said"': [],
        "timestamp": [9],  # the key of the JSON is in every content
        "c39": [39],
        "asked twice parcel 12": [12],
        "delivery": [*range(40)],
        '"': [7],
    }.items():
        assert found(there, text) == places, text


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
    for text, words, hits in (
        ("STRASSE und Straße", ["strasse"], ["STRASSE", "Straße"]),
        ("aaaa", ["aa"], ["aaaa"]),
        ("one 😀 two", ["😀"], ["😀"]),
        ("<b>bold</b>", ["<b>"], ["<b>"]),
    ):
        parts = marked(text, words)
        assert [part for part, hit in parts if hit] == hits
        assert "".join(part for part, _ in parts) == text
    assert marked("nothing", ["x"]) == marked("", ["x"]) == []


def test_days_are_whole_and_in_utc():
    times = ["2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z", "2026-03-02T23:59:59.999Z", None]
    there = front(table(4).assign(started_at=pd.to_datetime(times, format="ISO8601")))
    for given, places in (
        ({"since": "2026-03-02", "until": "2026-03-02"}, [1, 2]),
        ({"since": "2026-03-02"}, [1, 2]),
        ({"until": "2026-03-01"}, [0]),
    ):
        there.search(**given)
        assert there.places == places


def test_any_transcript_is_shown_or_why_it_is_not():
    frame = browsable(4)
    frame["content"] = ["User: hello there\nAssistant: hi", None, "{broken", ""]
    there = front(frame)
    assert there.row(0).one(".plw-title").text == "hello there"
    assert there.root.texts(".plw-who") == ["user", "assistant"]
    there.go("open", place=1)
    assert "This conversation has no transcript." in there.root
    there.go("open", place=2)
    assert "The transcript cannot be read:" in there.root
    assert (found(there, "hello"), found(there, "broken")) == ([0], [2])
    there = front(browsable(3).drop(columns="content"))
    assert there.row(0).one(".plw-title").text == "Asks for a parcel."
    assert "read the table with lift.conversations(insights=True, content=True)" in there.root
    # A title that was given is one more thing known of a conversation.
    there = front(browsable(2).assign(title="Parcels"))
    assert there.row(1).one(".plw-title").text == "Where is parcel 1?"
    assert there.facts["Title"] == "Parcels"


def test_messages_carry_roles_times_tokens_and_calls():
    details = [one.text for one in front(browsable(2)).root.all(".plw-who")]
    assert details == [
        "system",
        "user · 2026-03-01 10:00:00",
        "assistant · 2026-03-01 10:00:07 · 1,234 tokens · gpt-4o",
    ]
    call = {"role": "assistant", "content": '[tool call] find({"id": 7})', "tokens": 9}
    result = {"role": "system", "content": "[tool result] Lyon", "toolResult": "likeness"}
    assert front(with_messages(call, result)).root.texts(".plw-turn") == [
        "tool call · 9 tokensfind\n  id: 7",
        "tool result · imitated from logged callsLyon",
    ]
    for tokens in (float("inf"), -1e300, True, "12", None, {}, 2**70):
        odd = front(with_messages({"role": "user", "content": "x", "tokens": tokens}))
        assert odd.root.texts(".plw-who") in (["user"], [])


@pytest.mark.slow
def test_any_text_can_be_shown_found_and_sent():
    frame = browsable(len(PAYLOADS))
    for name in ("conversation_id", "summary", "llm_model"):
        frame[name] = pd.Series(PAYLOADS, dtype=object)
    frame["issues"] = pd.Series([[{"title": one, "severity": "low"}] for one in PAYLOADS], dtype=object)
    frame["topics"] = pd.Series([[one] for one in PAYLOADS], dtype=object)
    texts = [json.dumps({"messages": [{"role": "user", "content": one}]}) for one in PAYLOADS]
    frame["content"] = pd.Series(texts, dtype=object)
    there = front(frame)
    # Others of a kind differ in what would run, which no browser runs: that is looked at in a real one.
    for place in map(PAYLOADS.index, (*ONE_OF_EACH, *CHARACTERS, *LONG)):
        there.go("open", place=place)
        title = there.row(place).one(".plw-title").text
        assert len(title) <= 90
        assert "\n" not in title
        assert all(len(turn.text) <= 21_000 for turn in there.root.all(".plw-turn"))
        json.dumps(there.widget.get_state()["_shown"], ensure_ascii=False).encode()
    json.dumps(there.widget.get_state()["_filters"], ensure_ascii=False).encode()
    assert len(found(there, "owned")) > 10
    assert found(there, "\ud83d \x00") is not None
