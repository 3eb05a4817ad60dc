"""Labels: in order, as a table, and in a file that is always whole."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pandas as pd
import polars as pl
import pytest

from promptlift.errors import ConfigError, FrameError
from promptlift.widgets.browser.labels import COLUMNS, Labels, read_labels, write_labels
from support.hostile import ENCODABLE

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def ticking():
    """A clock that goes on by a second at every look."""
    moments = iter(START + timedelta(seconds=one) for one in range(10_000))
    return lambda: next(moments)


def labelled(given=None):
    labels = Labels(given, clock=ticking())
    labels.record("c1", "task_completed", True)
    labels.record("c2", "sentiment", "negative")
    labels.record("c1", "sentiment", "neutral")
    labels.record("c3", "task_completed", False)
    labels.record("c3", "both", None)
    return labels


def test_labels_come_back_as_a_table_with_fixed_types():
    table = labelled().table()
    assert table.dtypes.to_dict() == {name: pd.Series([], dtype=kind).dtype for name, kind in COLUMNS.items()}
    assert table.dtypes.to_dict() == Labels().table().dtypes.to_dict()
    assert table["conversation_id"].tolist() == ["c2", "c1"]  # the latest label is the last
    assert table["task_completed"].tolist() == [pd.NA, True]
    assert table["sentiment"].tolist() == ["negative", "neutral"]
    assert table["labelled_at"].tolist() == [START + timedelta(seconds=1), START + timedelta(seconds=2)]


def test_taking_one_answer_back_keeps_the_other():
    labels = labelled()
    labels.record("c1", "task_completed", None)
    assert labels.get("c1").sentiment == "neutral"
    labels.record("c1", "sentiment", None)
    assert labels.get("c1").empty
    assert len(labels) == 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_gives_the_same_labels_again(tmp_path, suffix):
    path = tmp_path / f"labels{suffix}"
    table = labelled(path).table()
    pd.testing.assert_frame_equal(Labels(path).table(), table)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.slow
def test_any_id_survives_a_file_and_is_no_formula(tmp_path, suffix):
    path = tmp_path / f"labels{suffix}"
    labels = Labels(path, clock=ticking())
    ids = sorted(
        {one for one in ENCODABLE if len(one) < 2000 and "\r" not in one and "\x00" not in one}
        | {"'=1", "''", "-1"}
    )
    for one in ids:
        labels.record(one, "task_completed", True)
    assert sorted(Labels(path).table()["conversation_id"]) == ids
    if suffix == ".csv":
        import csv

        with path.open(newline="", encoding="utf-8") as lines:
            assert not [row[0] for row in csv.reader(lines) if row[0].startswith(("=", "+", "-", "@", "\t"))]


def test_what_somebody_else_wrote_meanwhile_is_not_lost(tmp_path):
    path = tmp_path / "labels.csv"
    here, there = Labels(path, clock=ticking()), Labels(path, clock=ticking())
    here.record("c1", "task_completed", True)
    there.record("c2", "task_completed", False)
    here.record("c3", "sentiment", "positive")
    assert set(Labels(path).table()["conversation_id"]) == {"c1", "c2", "c3"}


def test_a_file_that_was_broken_meanwhile_is_left_alone_and_the_label_is_kept(tmp_path):
    path = tmp_path / "labels.csv"
    labels = Labels(path, clock=ticking())
    labels.record("c1", "task_completed", True)
    path.write_text("conversation_id,task_completed\nc9,perhaps\n")
    with pytest.raises(ConfigError, match="neither true nor false"):
        labels.record("c2", "task_completed", True)
    assert "perhaps" in path.read_text()
    assert set(labels.table()["conversation_id"]) == {"c1", "c2"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said_and_the_label_is_kept(tmp_path):
    labels = Labels(tmp_path / "labels.csv", clock=ticking())
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        labels.record("c1", "task_completed", True)
    tmp_path.chmod(0o700)
    assert len(labels) == 1


def test_a_folder_that_went_away_is_said_and_the_label_is_kept(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    labels = Labels(folder / "labels.csv", clock=ticking())
    folder.rmdir()
    with pytest.raises(ConfigError, match="no folder"):
        labels.record("c1", "task_completed", True)
    assert len(labels) == 1


def test_labels_can_be_given_as_any_table():
    table = labelled().table()
    assert Labels(table).table().equals(table)
    plain = pd.DataFrame({"conversation_id": ["a", "b"], "task_completed": [True, False]})
    assert Labels(plain).table()["task_completed"].tolist() == [True, False]
    assert Labels(pl.from_pandas(plain)).table()["conversation_id"].tolist() == ["a", "b"]
    assert Labels(plain).table()["labelled_at"].isna().all()


def test_labels_by_hand_in_a_spreadsheet_can_be_read(tmp_path):
    path = tmp_path / "by-hand.csv"
    path.write_bytes("\ufeffconversation_id,task_completed,sentiment\na,TRUE,positive\nb,no,\nc,,\n".encode())
    table = Labels(path).table()
    assert table["conversation_id"].tolist() == ["a", "b"]
    assert table["task_completed"].tolist() == [True, False]


def test_bad_labels_say_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match=r"\.csv or \.parquet"):
        Labels(tmp_path / "labels.xlsx")
    with pytest.raises(ConfigError, match="Create it first"):
        Labels(tmp_path / "nowhere" / "labels.csv")
    with pytest.raises(FrameError, match="Labels need conversation_id"):
        Labels(pd.DataFrame({"conversation_id": ["a"]}))
    with pytest.raises(ConfigError, match="not one of negative, neutral, positive"):
        Labels(pd.DataFrame({"conversation_id": ["a"], "sentiment": ["glad"]}))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_labels(broken)


def test_export_replaces_the_file_whole(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old " * 1000)
    assert write_labels(labelled().table(), path) == path
    assert path.read_text().splitlines()[0] == "conversation_id,task_completed,sentiment,labelled_at"
