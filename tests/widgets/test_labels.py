"""Labels: in order, as a table, and in a file that is always whole."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta

import pandas as pd
import polars as pl
import pytest

from promptlift.errors import ConfigError, FrameError
from promptlift.widgets.browser.labels import Labels, read_labels
from promptlift.widgets.browser.widget import ConversationBrowser
from support.conversation_tables import browsable
from support.front_end import BrowserFrontEnd
from support.hostile import ENCODABLE

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def labelled(given=None):
    """Labels whose clock ticks a second at every look."""
    moments = iter(START + timedelta(seconds=one) for one in range(10))
    labels = Labels(given, clock=lambda: next(moments))
    labels.record("c1", "task_completed", "yes")
    labels.record("c2", "sentiment", "negative")
    labels.record("c1", "sentiment", "neutral")
    labels.record("c3", "task_completed", "no")
    labels.clear("c3")
    return labels


def front(n=10, **options):
    return BrowserFrontEnd(ConversationBrowser(browsable(n), **options))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_gives_the_same_labels_again_and_no_id_is_a_formula(tmp_path, suffix):
    path = tmp_path / f"labels{suffix}"
    pd.testing.assert_frame_equal(Labels(path).table(), Labels().table())
    assert list(tmp_path.iterdir()) == []
    table = labelled(path).table()
    pd.testing.assert_frame_equal(Labels(path).table(), table)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    known = {one for one in ENCODABLE[::5] if len(one) < 2000 and "\r" not in one and "\x00" not in one}
    ids = sorted(known | {"'=1", "''", "-1", "=SUM(1)"})
    labels = Labels(path)
    for one in ids:
        labels.record(one, "task_completed", "yes")
    assert {*Labels(path).table()["conversation_id"]} == {*ids, "c1", "c2"}
    if suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as lines:
            assert not [row[0] for row in csv.reader(lines) if row[0].startswith(("=", "+", "-", "@", "\t"))]


def test_a_file_that_somebody_else_writes_loses_nothing(tmp_path):
    path = tmp_path / "labels.csv"
    here, there = Labels(path), Labels(path)
    here.record("c1", "task_completed", "yes")
    there.record("c2", "task_completed", "no")
    here.record("c3", "sentiment", "positive")
    assert {*Labels(path).table()["conversation_id"]} == {"c1", "c2", "c3"}
    # A file that cannot be read any more is left alone, and the label is kept.
    path.write_text("conversation_id,task_completed\nc9,perhaps\n")
    with pytest.raises(ConfigError, match=r"labels\.csv: A label of task_completed is 'perhaps'"):
        here.record("c4", "task_completed", "yes")
    assert "perhaps" in path.read_text()
    assert {*here.table()["conversation_id"]} == {"c1", "c2", "c3", "c4"}


def test_a_label_that_cannot_be_written_is_reported_and_kept(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    there = front(labels=folder / "labels.csv")
    folder.rmdir()
    there.label(3, "task_completed", "yes")
    assert "no folder" in there.notice
    assert "kept in browser.labels" in there.notice
    assert len(there.widget.labels) == 1
    folder.mkdir()
    there.label(4, "task_completed", "yes")
    assert there.notice == ""
    assert len(pd.read_csv(folder / "labels.csv")) == 2


def test_labels_can_be_given_as_any_table(tmp_path):
    table = labelled().table()
    assert Labels(table).table().equals(table)
    plain = pd.DataFrame({"conversation_id": ["a", "b"], "task_completed": [True, False], "summary": "x"})
    assert Labels(plain).table()["task_completed"].tolist() == [True, False]
    assert Labels(plain).table()["labelled_at"].isna().all()
    assert [*Labels(plain).table()] == [*table]
    assert Labels(pl.from_pandas(plain)).table()["conversation_id"].tolist() == ["a", "b"]
    # By hand, in a spreadsheet.
    path = tmp_path / "by-hand.csv"
    path.write_bytes("\ufeffconversation_id,task_completed,sentiment\na,TRUE,positive\nb,no,\nc,,\n".encode())
    assert Labels(path).table()[["conversation_id", "task_completed"]].to_numpy().tolist() == [
        ["a", True],
        ["b", False],
    ]
    # What a file says beside the answers is not lost, nor are labels of conversations that are not in the table.
    path.write_text("conversation_id,task_completed,chance,draw_id\na,yes,0.25,d1\n")
    Labels(path).record("b", "task_completed", "no")
    assert read_labels(path)[["chance", "draw_id"]].fillna("").to_numpy().tolist() == [
        ["0.25", "d1"],
        ["", ""],
    ]
    assert ConversationBrowser(browsable(2), labels=table.tail(1)).labels["conversation_id"].tolist() == [
        "c1"
    ]


def test_bad_labels_say_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match=r"\.csv or \.parquet"):
        Labels(tmp_path / "labels.xlsx")
    with pytest.raises(ConfigError, match="Create it first"):
        Labels(tmp_path / "nowhere" / "labels.csv")
    with pytest.raises(FrameError, match="A table of labels has the columns"):
        Labels(pd.DataFrame({"conversation_id": ["a"]}))
    with pytest.raises(ConfigError, match="not one of negative, neutral, positive"):
        Labels(pd.DataFrame({"conversation_id": ["a"], "sentiment": ["glad"]}))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_labels(broken)
    long = tmp_path / "long.csv"
    long.write_text("conversation_id,question,value\na,task_completed,yes\n")
    with pytest.raises(ConfigError, match="one row per answer"):
        Labels(long)
    for sets in ({"note": ["a"]}, {"sentiment": ["a"]}, {"": ["a"]}, {"tone": "kind"}, {"tone": []}):
        with pytest.raises(ConfigError, match="label set"):
            front(label_sets=sets)


def test_export_writes_what_labels_gives(tmp_path):
    there = front()
    there.label(3, "sentiment", "neutral")
    path = tmp_path / "mine.csv"
    path.write_text("old " * 1000)
    assert there.widget.export(path) == path
    assert path.read_text().splitlines()[0] == "conversation_id,task_completed,sentiment,labelled_at"
    assert read_labels(path)["conversation_id"].tolist() == ["c3"]
