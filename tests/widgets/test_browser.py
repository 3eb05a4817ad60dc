"""The conversation browser on Python's side: messages in, pages out; a label for each click, and nothing by itself."""

from __future__ import annotations

import json

import pandas as pd

from promptlift import analysis
from promptlift.widgets.browser.widget import ConversationBrowser
from support.conversation_tables import browsable
from support.front_end import BrowserFrontEnd


def front(n=200, **options):
    return BrowserFrontEnd(ConversationBrowser(browsable(n), **options))


def test_only_a_page_and_a_transcript_are_sent_and_once():
    few, many = front(100), front(3_000)
    sizes = [len(one.everything()) for one in (few, many)]
    assert sizes[1] < 40_000
    assert sizes[1] < sizes[0] * 1.05
    assert len(many.places) == 50
    assert len(many.html) < 30_000
    sent = []
    many.widget.observe(lambda change: sent.append(change["name"]))
    many.go("open", place=1)
    assert sorted(sent) == ["_labelling", "_shown"]


def test_nothing_found_is_an_answer():
    there = front()
    assert there.search(text="nowhere") is None
    assert (there.found, there.places) == ("0 of 200 conversations", [])
    for action in ("unlabelled", "move", "page", "first", "last"):
        assert there.go(action) is None
    assert all("disabled" in one.attributes for one in there.root.all(action="label"))
    assert there.search() == 0
    assert BrowserFrontEnd(ConversationBrowser(browsable(0))).search(text="x") is None


def test_labels_come_back_as_a_table_and_can_be_taken_back():
    there = front()
    there.label(3, "task_completed", "no")
    there.label(3, "sentiment", "negative")
    there.label(5, "task_completed", "yes")
    table = there.widget.labels
    assert table[["conversation_id", "task_completed"]].to_numpy().tolist() == [["c3", False], ["c5", True]]
    own = {place: there.row(place).one(".plw-own").texts("b") for place in (3, 4, 5)}
    assert own == {3: ["✗ you: not completed", "you: negative"], 4: [], 5: ["✓ you: completed"]}
    there.go("open", place=3)
    assert there.root.texts(action="label", aria_pressed="true") == ["No n", "negative 1"]
    assert analysis.judge_agreement(table, browsable(200)).iloc[0]["n"] == 2
    # A button that is pressed again takes its label back.
    there.label(5, "task_completed", "yes")
    there.label(3, "task_completed", "no")
    assert there.widget.labels["sentiment"].tolist() == ["negative"]
    assert there.widget.labels["task_completed"].isna().all()
    there.note(3, "odd")
    there.press("remove")
    assert there.widget.labels[["note"]].to_numpy().tolist() == [["odd"]]
    assert there.progress == "0 labelled"


def test_a_message_that_makes_no_sense_does_nothing():
    there = front(label_sets={"reason": ["refund", "bug"]})
    labels = [
        {}, {"place": "1"}, {"place": "1", "field": "note", "value": "x"}, {"place": "1000000", "field": "sentiment", "value": "neutral"},
        {"place": "-1", "field": "sentiment", "value": "neutral"}, {"place": "²", "field": "sentiment", "value": "neutral"},
        {"place": 1, "field": "sentiment", "value": "neutral"}, {"place": "1", "field": "sentiment", "value": "glad"},
        {"place": "1", "field": "task_completed", "value": "true"}, {"place": "1", "field": "task_completed", "value": True},
        {"place": "1", "field": ["sentiment"], "value": "neutral"}, {"place": "1", "field": "reason", "value": "other"},
        {"place": "1", "field": "reason", "value": ""}, {"place": "1", "field": "channel", "value": "web"},
    ]  # fmt: skip
    queries = [
        {"facet issues": "1000000000", "facet sentiment": "glad"}, {"facet issues": "-1", "labelled": "some", "order": "99"},
        {"facet sentiment": 7, "text": None, "facet prompt": "0"}, {"since": "yesterday", "until": "9999-01-01", "order": "-1"},
    ]  # fmt: skip
    messages = [None, 7, *({"action": "label", **one} for one in labels)]
    for message in (*messages, *({"action": "search", **one} for one in queries)):
        there.receive(message)
        assert there.widget.labels.empty
        assert there.notice == ""
        assert (there.found, there.place) == ("200 conversations", 0)


def test_labelled_conversations_can_be_found_and_the_next_without_a_label():
    there = front(10)
    for place in (0, 1, 4):
        there.label(place, "task_completed", "yes")
    there.go("open", place=0)
    assert there.go("unlabelled") == 2
    there.go("last")
    assert there.go("unlabelled") == 2
    found = {}
    for which in ("yes", "differs", "no"):  # the judge says that odd ones are not completed
        there.search(labelled=which)
        found[which] = there.places
    assert found == {"yes": [0, 1, 4], "differs": [1], "no": [2, 3, 5, 6, 7, 8, 9]}
    # A conversation that was labelled stays in the list until the next search.
    there.label(2, "sentiment", "neutral")
    there.go("open", place=3)
    assert there.places[0] == 2
    there.search(labelled="no")
    assert there.places[0] == 3
    there.search()
    for place in range(10):
        there.label(place, "sentiment", "positive")
    there.search()
    there.go("open", place=6)
    assert there.go("unlabelled") == 6


def test_blind_sends_nothing_that_the_judge_said():
    there = front(30, blind=True)
    there.search(labelled="differs", **{"facet sentiment": 0, "facet task_completed": 1, "facet issues": 0})
    assert there.found == "30 conversations"
    there.search(text="asked twice")
    assert there.places == []
    there.search(text="parcel 3")
    assert not [words for words in there.options("order") if "sentiment" in words or "quality" in words]
    # The buttons to label with have these words, whatever the judge says.
    shown = [one.text for one in there.root.all(".plw-panes") + there.root.all(".plw-filters")]
    sent = json.dumps(shown) + there.html
    for word in (
        "positive",
        "neutral",
        "negative",
        "Asked twice",
        "not completed",
        "delivery",
        "word list",
        "Asks for",
    ):
        assert word not in sent


def test_the_lexicon_is_named():
    there = BrowserFrontEnd(ConversationBrowser(browsable(20, analyser="lexicon")))
    assert "Judged by a word list" in there.root.one(".plw-foot").text
    assert "Judged by a word list" in there.html
    # Its scores sort; its labels say nothing.
    assert not there.root.all("select", name="facet sentiment")
    assert "positive" not in there.html
    # It found issues and a sentiment, while the logs said how conversations ended.
    ended = browsable(20, analyser="lexicon").assign(basis="outcome")
    assert "Judged by a word list" not in BrowserFrontEnd(ConversationBrowser(ended)).html


def test_what_several_people_said_is_shown_side_by_side():
    labels = pd.DataFrame(
        {"conversation_id": one, "question": "task_completed", "value": value, "labeller": who}
        for one, who, value in (
            ("c0", "ann", True),
            ("c0", "ben", "no"),
            ("c1", "ann", "yes"),
            ("c1", "ben", "yes"),
        )
    )
    there = front(2, others=labels)
    assert there.facts["task_completed"] == "ann: yes · ben: no (disputed)"
    there.go("open", place=1)
    assert there.facts["task_completed"] == "ann: yes · ben: yes"
