"""The conversation browser on Python's side: queries in, pages out; each command runs once, and nothing by itself."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from promptlift import analysis, widgets
from promptlift.widgets.browser.widget import ConversationBrowser
from support.conversation_tables import browsable
from support.front_end import BrowserFrontEnd


def front(n=200, **options):
    return BrowserFrontEnd(ConversationBrowser(browsable(n), **options))


def test_only_a_page_and_a_transcript_are_sent():
    few, many = front(100), front(3_000)
    sizes = [len(one.everything()) for one in (few, many)]
    assert sizes[1] < 40_000
    assert sizes[1] < sizes[0] * 1.05
    assert len(many.places) == 50
    assert len(many.html) < 30_000


def test_moves_go_where_they_say():
    there = front(120)
    assert there.search() == 0
    assert there.go("open", place=49) == 49
    assert there.go("move", by=1) == 50
    assert there.places == list(range(50, 100))
    assert there.go("move", by=-1) == 49
    assert there.go("page", by=1) == 50
    assert there.go("page", by=1) == 100
    assert "101 to 120 of 120" in there.root
    assert there.go("page", by=1) == there.go("last") == there.go("move", by=1) == 119
    assert "disabled" in there.root.one(action="page", by=1).attributes
    assert there.go("first") == there.go("page", by=-1) == there.go("move", by=-1) == 0
    assert there.search(text="parcel 3") == 3
    assert there.go("open", place=7) == 3  # what is not found is not shown


def test_a_move_inside_a_page_does_not_send_the_page_again():
    there = front()
    sent = []
    there.widget.observe(lambda change: sent.append(change["name"]))
    there.go("open", place=1)
    assert sorted(sent) == ["_labelling", "_shown"]


def test_nothing_found_is_an_answer():
    there = front()
    assert there.search(text="nowhere") is None
    assert (there.found, there.places) == ("0 of 200 conversations", [])
    for action in ("unlabelled", "move", "page", "first", "last"):
        assert there.go(action) is None
    assert all("disabled" in one.attributes for one in there.root.all(action="label"))
    assert there.search() == 0


def test_labels_come_back_as_a_table():
    there = front()
    there.label(3, "task_completed", "false")
    there.label(3, "sentiment", "negative")
    there.label(5, "task_completed", "true")
    table = there.widget.labels
    assert table[["conversation_id", "task_completed"]].to_numpy().tolist() == [["c3", False], ["c5", True]]
    own = {place: there.row(place).one(".plw-own").texts("b") for place in (3, 4, 5)}
    assert own == {3: ["✗ you: not completed", "you: negative"], 4: [], 5: ["✓ you: completed"]}
    there.go("open", place=3)
    assert there.root.texts(action="label", aria_pressed="true") == ["No n", "negative 1"]
    agreed = analysis.judge_agreement(table, browsable(200)).iloc[0]
    assert agreed["n"] == 2


def test_a_button_that_is_pressed_again_takes_its_label_back():
    there = front()
    for name, value in (("task_completed", "true"), ("sentiment", "neutral"), ("task_completed", "true")):
        there.label(1, name, value)
    assert there.widget.labels[["sentiment"]].to_numpy().tolist() == [["neutral"]]
    assert there.widget.labels["task_completed"].isna().all()
    there.note(1, "odd")
    there.press("remove")
    assert there.widget.labels[["note"]].to_numpy().tolist() == [["odd"]]
    assert there.progress == "0 labelled"


@pytest.mark.parametrize(
    "message",
    [
        None, 7, {}, {"place": "1"}, {"place": "1", "field": "note", "value": "x"},
        {"place": "1000000", "field": "sentiment", "value": "neutral"}, {"place": "-1", "field": "sentiment", "value": "neutral"},
        {"place": "²", "field": "sentiment", "value": "neutral"}, {"place": 1, "field": "sentiment", "value": "neutral"},
        {"place": "1", "field": "sentiment", "value": "glad"}, {"place": "1", "field": "task_completed", "value": "yes"},
        {"place": "1", "field": "task_completed", "value": True}, {"place": "1", "field": ["sentiment"], "value": "neutral"},
    ],
)  # fmt: skip
def test_what_is_no_label_does_nothing(message):
    there = front()
    there.receive({"action": "label", **message} if isinstance(message, dict) else message)
    assert there.widget.labels.empty
    assert there.notice == ""


@pytest.mark.parametrize(
    "query",
    [
        {"issue": "1000000000", "sentiment": "glad", "completion": "maybe"}, {"issue": "-1", "labelled": "some", "order": "99"},
        {"sentiment": 7, "text": None, "facet prompt": "0"}, {"since": "yesterday", "until": "9999-01-01", "order": "-1"},
    ],
)  # fmt: skip
def test_a_query_that_makes_no_sense_filters_nothing(query):
    there = front()
    there.receive({"action": "search", **query})
    assert there.found == "200 conversations"
    assert there.place == 0


def test_labelled_conversations_can_be_found_and_the_next_without_a_label():
    there = front(10)
    for place in (0, 1, 4):
        there.label(place, "task_completed", "true")
    there.go("open", place=0)
    assert there.go("unlabelled") == 2
    there.go("last")
    assert there.go("unlabelled") == 2
    there.search(labelled="yes")
    assert there.places == [0, 1, 4]
    there.search(labelled="no")
    assert there.places == [2, 3, 5, 6, 7, 8, 9]
    there.search(labelled="differs")  # the judge says that odd ones are not completed
    assert there.places == [1]
    there.search()
    for place in range(10):
        there.label(place, "sentiment", "neutral")
    there.search()
    there.go("open", place=6)
    assert there.go("unlabelled") == 6


def test_a_labelled_conversation_stays_in_the_list_until_the_next_search():
    there = front(10)
    there.search(labelled="no")
    there.label(0, "task_completed", "true")
    there.go("open", place=1)
    assert there.places[0] == 0
    there.search(labelled="no")
    assert there.places[0] == 1


def test_labels_go_through_a_run_of_the_cell_again(tmp_path):
    first = front(labels=tmp_path / "labels.csv")
    first.label(3, "task_completed", "true")
    again = front(labels=tmp_path / "labels.csv")
    assert again.widget.labels.equals(first.widget.labels)
    assert front(labels=first.widget.labels).widget.labels.equals(first.widget.labels)
    other = ConversationBrowser(browsable(2), labels=first.widget.labels)
    assert other.labels["conversation_id"].tolist() == [
        "c3"
    ]  # of conversations that are not in this table: kept


def test_a_label_that_cannot_be_written_is_reported_and_kept(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    there = front(labels=folder / "labels.csv")
    folder.rmdir()
    there.label(3, "task_completed", "true")
    assert "no folder" in there.notice
    assert "kept in browser.labels" in there.notice
    assert len(there.widget.labels) == 1
    folder.mkdir()
    there.label(4, "task_completed", "true")
    assert there.notice == ""
    assert len(pd.read_csv(folder / "labels.csv")) == 2


def test_export_writes_what_labels_gives(tmp_path):
    there = front()
    there.label(3, "sentiment", "neutral")
    path = there.widget.export(tmp_path / "mine.parquet")
    assert pd.read_parquet(path)["conversation_id"].tolist() == ["c3"]
    with pytest.raises(Exception, match=r"\.csv or \.parquet"):
        there.widget.export(tmp_path / "mine.xlsx")


def test_making_and_showing_a_browser_writes_nothing(tmp_path):
    browser = ConversationBrowser(browsable(5), labels=tmp_path / "labels.csv")
    browser._repr_mimebundle_()
    assert browser._repr_html_()
    assert list(tmp_path.iterdir()) == []


def test_blind_sends_no_verdict_of_the_judge():
    there = front(30, blind=True)
    there.search(sentiment="positive", completion="no", issue=0, labelled="differs")
    assert there.found == "30 conversations"
    # The buttons to label with have these words, whatever the judge says.
    sent = (
        json.dumps([one.text for one in there.root.all(".plw-panes") + there.root.all(".plw-bar")])
        + there.html
    )
    for word in ("positive", "neutral", "negative", "Asked twice", "not completed", "delivery", "word list"):
        assert word not in sent


def test_the_lexicon_is_named():
    table = browsable(20)
    table.attrs["promptlift"]["analyser"] = "lexicon"
    there = BrowserFrontEnd(ConversationBrowser(table))
    assert "Judged by a word list" in there.root.one(".plw-foot").text
    assert "Judged by a word list" in there.html
    # Its scores sort; its labels say nothing.
    assert not there.root.all("select", name="sentiment")
    assert "positive" not in there.html


def test_the_room_loads_its_widgets_when_asked():
    assert widgets.ConversationBrowser is ConversationBrowser
    assert "ConversationBrowser" in dir(widgets)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = widgets.Nothing
