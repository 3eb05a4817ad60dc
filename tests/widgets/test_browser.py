"""The conversation browser on Python's side: queries in, pages out; each command runs once, and nothing by itself."""

from __future__ import annotations

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
    assert sizes[1] < 12_000
    assert sizes[1] < sizes[0] * 1.05
    assert len(many.view["rows"]) == 50
    assert len(many.html) < 30_000


def test_moves_go_where_they_say():
    there = front(120)
    assert there.query() == 0
    assert there.query("to", 7) == 7
    assert there.query("by", 49, 1) == 50
    assert there.places == list(range(50, 100))
    assert there.query("by", 50, -1) == 49
    assert there.query("page", 0, 2) == 100
    assert (there.view["first"], there.view["pages"]) == (100, 3)
    assert there.query("last") == 119
    assert there.query("by", 119, 1) == 119
    assert there.query("page", 0, 99) == 119
    assert there.query("page", 0, -5) == 0
    assert there.query("to", 7, text="parcel 3") == 3  # what is not found is not shown


def test_a_move_inside_a_page_does_not_send_the_page_again():
    there = front()
    sent = []
    there.widget.observe(lambda change: sent.append(change["name"]), ["_view", "_opened"])
    there.query("to", 1)
    assert sent == ["_opened"]


def test_nothing_found_is_an_answer():
    there = front()
    assert there.query(text="nowhere") is None
    assert (there.view["found"], there.view["rows"]) == (0, [])
    assert there.query("unlabelled", 3, text="nowhere") is None
    assert there.query("by", 3, 1, text="nowhere") is None


def test_labels_come_back_as_a_table():
    there = front()
    there.label(3, "task_completed", False)
    there.label(3, "sentiment", "negative")
    there.label(5, "task_completed", True)
    table = there.widget.labels
    assert table[["conversation_id", "task_completed"]].to_numpy().tolist() == [["c3", False], ["c5", True]]
    assert there.labels["shown"] == {"3": [False, "negative"], "5": [True, None]}
    agreed = analysis.judge_agreement(table, browsable(200)).iloc[0]
    assert agreed["n"] == 2


def test_every_command_runs_once_however_they_are_bundled():
    there = front()
    commands = [there.command(place=n, field="task_completed", value=True) for n in (1, 2, 3)]
    there.receive(commands)
    there.receive(commands[1:])
    there.receive([{**commands[0], "value": False}])  # an old number: a copy that came late
    assert there.widget.labels["task_completed"].tolist() == [True, True, True]
    assert there.acknowledged == {there.client: 3}
    there.receive([there.command(client="other view", number=1, place=9, field="sentiment", value="neutral")])
    assert there.acknowledged == {there.client: 3, "other view": 1}


def test_what_is_no_command_does_nothing():
    there = front()
    for message in (
        None, 7, {}, {"client": "t", "number": 1}, {"client": "t", "number": 1, "place": 1, "field": "note", "value": 7},
        {"client": "t", "number": 1, "place": 10**6, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": 1, "place": -1, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": 1, "place": 1, "field": "sentiment", "value": "glad"},
        {"client": "t", "number": 1, "place": 1, "field": "task_completed", "value": "yes"},
        {"client": "t", "number": 1, "place": 1, "field": "task_completed", "value": 1},
        {"client": "t", "number": 0, "place": 1, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": "1", "place": 1, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": 1, "place": 1, "field": ["sentiment"], "value": "neutral"},
    ):  # fmt: skip
        there.receive([message])
        assert there.widget.labels.empty
        assert there.acknowledged == {}


@pytest.mark.parametrize(
    "query",
    [
        {
            "number": 1,
            "issue": 10**9,
            "sentiment": "positive",
            "completion": {"no": 1},
            "move": 7,
            "place": "x",
        },
        {"number": 1, "issue": -1, "text": None, "labelled": [], "page": 1.5},
        {"number": 1, "sentiment": ["glad", 7], "text": ["x"], "move": "to", "place": -4},
        {"number": True},
    ],
)
def test_a_query_that_makes_no_sense_breaks_nothing(query):
    there = front()
    there.receive_query(query)
    assert there.opened["place"] is not None or there.view["found"] == 0


def test_labelled_conversations_can_be_found_and_the_next_without_a_label():
    there = front(10)
    for place in (0, 1, 4):
        there.label(place, "task_completed", True)
    assert there.query("unlabelled", 0) == 2
    assert there.query("unlabelled", 9) == 2
    there.query(labelled="yes")
    assert there.places == [0, 1, 4]
    there.query(labelled="no")
    assert there.places == [2, 3, 5, 6, 7, 8, 9]
    there.query(labelled="differs")  # the judge says that odd ones are not completed
    assert there.places == [1]
    for place in range(10):
        there.label(place, "sentiment", "neutral")
    assert there.query("unlabelled", 6) == 6


def test_a_labelled_conversation_stays_in_the_list_until_the_next_search():
    there = front(10)
    there.query(labelled="no")
    there.label(0, "task_completed", True)
    there.query("to", 1, labelled="no")
    assert there.places[0] == 0
    there.query("first", labelled="no")
    assert there.places[0] == 1


def test_labels_go_through_a_run_of_the_cell_again(tmp_path):
    first = front(labels=tmp_path / "labels.csv")
    first.label(3, "task_completed", True)
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
    there.label(3, "task_completed", True)
    assert "no folder" in there.labels["notice"]
    assert "kept in browser.labels" in there.labels["notice"]
    assert len(there.widget.labels) == 1
    folder.mkdir()
    there.label(4, "task_completed", True)
    assert there.labels["notice"] == ""
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
    there.query(sentiment=["positive"], completion=["no"], issue=0, labelled="differs")
    assert there.view["found"] == 30
    there.receive_query({})  # what was asked comes back too
    sent = there.everything() + there.html
    for word in ("positive", "neutral", "negative", "Asked twice", "not completed", "delivery", "word list"):
        assert word not in sent


def test_the_lexicon_is_named():
    table = browsable(20)
    table.attrs["promptlift"]["analyser"] = "lexicon"
    there = BrowserFrontEnd(ConversationBrowser(table))
    assert "Judged by a word list" in there.about["note"]
    assert "Judged by a word list" in there.html
    # Its scores sort; its labels say nothing.
    assert [name for name, _ in there.about["choices"]["sentiment"]] == ["none"]
    assert "positive" not in there.html


def test_the_room_loads_its_widgets_when_asked():
    assert widgets.ConversationBrowser is ConversationBrowser
    assert "ConversationBrowser" in dir(widgets)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = widgets.Nothing
