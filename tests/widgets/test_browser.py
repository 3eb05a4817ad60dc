"""The conversation browser on Python's side: questions in, pages out; wishes carried out once, and nothing by itself."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from promptlift import analysis, widgets
from promptlift.widgets.browser import ConversationBrowser
from support.conversation_tables import browsable

SYNCED = ("_about", "_view", "_opened", "_marks", "_answered", "_query", "_wishes")


class Front:
    """The other end of the wire: asks and wishes as the front end does."""

    def __init__(self, browser):
        self.browser = browser
        self.number = 0
        self.wished = 0

    def ask(self, move="first", place=0, page=0, **filters):
        self.number += 1
        self.browser._query = {
            "number": self.number,
            "client": "t",
            "move": move,
            "place": place,
            "page": page,
            **filters,
        }
        assert self.browser._opened["number"] == self.number
        return self.browser._opened["place"]

    def wish(self, place, field, value, *, number=None):
        self.wished = self.wished + 1 if number is None else number
        answered = self.browser._answered.get("t", 0)
        kept = [one for one in self.browser._wishes if one["number"] > answered]
        self.browser._wishes = [
            *kept, {"client": "t", "number": self.wished, "place": place, "field": field, "value": value}
        ]  # fmt: skip


def front(n=200, **options):
    return Front(ConversationBrowser(browsable(n), **options))


def places(browser):
    return [row["place"] for row in browser._view["rows"]]


def test_only_a_page_and_a_transcript_are_sent():
    few, many = front(100).browser, front(10_000).browser
    sizes = [sum(len(json.dumps(getattr(one, name))) for name in SYNCED) for one in (few, many)]
    assert sizes[1] < 12_000
    assert sizes[1] < sizes[0] * 1.05
    assert len(many._view["rows"]) == 50
    assert len(str(many._static())) < 30_000


def test_moves_go_where_they_say():
    there = front(120)
    assert there.ask() == 0
    assert there.ask("to", 7) == 7
    assert there.ask("by", 49, 1) == 50
    assert places(there.browser) == list(range(50, 100))
    assert there.ask("by", 50, -1) == 49
    assert there.ask("page", 0, 2) == 100
    assert (there.browser._view["first"], there.browser._view["pages"]) == (100, 3)
    assert there.ask("last") == 119
    assert there.ask("by", 119, 1) == 119
    assert there.ask("page", 0, 99) == 119
    assert there.ask("page", 0, -5) == 0
    assert there.ask("to", 7, text="parcel 3") == 3  # what is not found is not shown


def test_a_move_inside_a_page_does_not_send_the_page_again():
    there = front()
    sent = []
    there.browser.observe(lambda change: sent.append(change["name"]), ["_view", "_opened"])
    there.ask("to", 1)
    assert sent == ["_opened"]


def test_nothing_found_is_an_answer():
    there = front()
    assert there.ask(text="nowhere") is None
    assert (there.browser._view["found"], there.browser._view["rows"]) == (0, [])
    assert there.ask("unlabelled", 3, text="nowhere") is None
    assert there.ask("by", 3, 1, text="nowhere") is None


def test_labels_come_back_as_a_table():
    there = front()
    there.wish(3, "task_completed", False)
    there.wish(3, "sentiment", "negative")
    there.wish(5, "task_completed", True)
    table = there.browser.labels
    assert table[["conversation_id", "task_completed"]].to_numpy().tolist() == [["c3", False], ["c5", True]]
    assert there.browser._marks["said"] == {"3": [False, "negative"], "5": [True, None]}
    agreed = analysis.judge_agreement(table, browsable(200)).iloc[0]
    assert agreed["n"] == 2


def test_every_wish_is_carried_out_once_however_they_are_bundled():
    there = front()
    browser = there.browser
    wishes = [
        {"client": "t", "number": n, "place": n, "field": "task_completed", "value": True} for n in (1, 2, 3)
    ]
    browser._wishes = wishes
    browser._wishes = wishes[1:]
    browser._wishes = [{**wishes[0], "value": False}]  # an old number: a copy that came late
    assert browser.labels["task_completed"].tolist() == [True, True, True]
    assert browser._answered == {"t": 3}
    browser._wishes = [
        {"client": "other view", "number": 1, "place": 9, "field": "sentiment", "value": "neutral"}
    ]
    assert browser._answered == {"t": 3, "other view": 1}


@pytest.mark.parametrize(
    "wish",
    [
        None, 7, {}, {"client": "t", "number": 1}, {"client": "t", "number": 1, "place": 1, "field": "note", "value": "x"},
        {"client": "t", "number": 1, "place": 10**6, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": 1, "place": -1, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": 1, "place": 1, "field": "sentiment", "value": "glad"},
        {"client": "t", "number": 1, "place": 1, "field": "task_completed", "value": "yes"},
        {"client": "t", "number": 1, "place": 1, "field": "task_completed", "value": 1},
        {"client": "t", "number": 0, "place": 1, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": "1", "place": 1, "field": "sentiment", "value": "neutral"},
        {"client": "t", "number": 1, "place": 1, "field": ["sentiment"], "value": "neutral"},
    ],
)  # fmt: skip
def test_a_wish_that_is_none_does_nothing(wish):
    browser = front().browser
    browser._wishes = [wish]
    assert browser.labels.empty
    assert browser._answered == {}


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
def test_a_question_that_makes_no_sense_breaks_nothing(query):
    browser = front().browser
    browser._query = query
    assert browser._opened["place"] is not None or browser._view["found"] == 0


def test_labelled_conversations_can_be_found_and_the_next_without_a_label():
    there = front(10)
    for place in (0, 1, 4):
        there.wish(place, "task_completed", True)
    assert there.ask("unlabelled", 0) == 2
    assert there.ask("unlabelled", 9) == 2
    there.ask(labelled="yes")
    assert places(there.browser) == [0, 1, 4]
    there.ask(labelled="no")
    assert places(there.browser) == [2, 3, 5, 6, 7, 8, 9]
    there.ask(labelled="differs")  # the judge says that odd ones are not completed
    assert places(there.browser) == [1]
    for place in range(10):
        there.wish(place, "sentiment", "neutral")
    assert there.ask("unlabelled", 6) == 6


def test_what_was_labelled_stays_in_the_list_until_the_next_search():
    there = front(10)
    there.ask(labelled="no")
    there.wish(0, "task_completed", True)
    there.ask("to", 1, labelled="no")
    assert places(there.browser)[0] == 0
    there.ask("first", labelled="no")
    assert places(there.browser)[0] == 1


def test_labels_go_through_a_run_of_the_cell_again(tmp_path):
    first = front(labels=tmp_path / "labels.csv")
    first.wish(3, "task_completed", True)
    again = front(labels=tmp_path / "labels.csv")
    assert again.browser.labels.equals(first.browser.labels)
    assert front(labels=first.browser.labels).browser.labels.equals(first.browser.labels)
    other = ConversationBrowser(browsable(2), labels=first.browser.labels)
    assert other.labels["conversation_id"].tolist() == [
        "c3"
    ]  # of conversations that are not in this table: kept


def test_a_label_that_cannot_be_written_is_said_and_kept(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    there = front(labels=folder / "labels.csv")
    folder.rmdir()
    there.wish(3, "task_completed", True)
    assert "no folder" in there.browser._marks["notice"]
    assert "kept in browser.labels" in there.browser._marks["notice"]
    assert len(there.browser.labels) == 1
    folder.mkdir()
    there.wish(4, "task_completed", True)
    assert there.browser._marks["notice"] == ""
    assert len(pd.read_csv(folder / "labels.csv")) == 2


def test_export_writes_what_labels_gives(tmp_path):
    there = front()
    there.wish(3, "sentiment", "neutral")
    path = there.browser.export(tmp_path / "mine.parquet")
    assert pd.read_parquet(path)["conversation_id"].tolist() == ["c3"]
    with pytest.raises(Exception, match=r"\.csv or \.parquet"):
        there.browser.export(tmp_path / "mine.xlsx")


def test_making_and_showing_a_browser_writes_nothing(tmp_path):
    browser = ConversationBrowser(browsable(5), labels=tmp_path / "labels.csv")
    browser._repr_mimebundle_()
    assert browser._repr_html_()
    assert list(tmp_path.iterdir()) == []


def test_blind_sends_nothing_of_the_judge():
    browser = front(30, blind=True).browser
    browser._query = {
        "number": 1,
        "sentiment": ["positive"],
        "completion": ["no"],
        "issue": 0,
        "labelled": "differs",
    }
    assert browser._view["found"] == 30
    sent = (
        "".join(json.dumps(getattr(browser, name)) for name in SYNCED if name != "_query")
        + browser._repr_html_()
    )
    for word in ("positive", "neutral", "negative", "Asked twice", "not completed", "delivery", "word-list"):
        assert word not in sent


def test_the_lexicon_is_named():
    assert "word-list analyser" in front().browser._about["note"]
    assert "word-list analyser" in front().browser._repr_html_()


def test_the_room_loads_its_widgets_when_asked():
    assert widgets.ConversationBrowser is ConversationBrowser
    assert "ConversationBrowser" in dir(widgets)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = widgets.Nothing
