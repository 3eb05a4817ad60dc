"""Labels: in order, and as a table that gives them again."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from promptlift.errors import ConfigError, FrameError
from promptlift.widgets.browser.labels import Labels
from promptlift.widgets.browser.widget import ConversationBrowser
from support.conversation_tables import browsable
from support.front_end import BrowserFrontEnd


def labelled():
    labels = Labels()
    labels.record("c1", "task_completed", "yes")
    labels.record("c2", "sentiment", "negative")
    labels.record("c1", "sentiment", "neutral")
    labels.record("c3", "task_completed", "no")
    labels.clear("c3")
    return labels


def front(n=10, **options):
    return BrowserFrontEnd(ConversationBrowser(browsable(n), **options))


def test_labels_can_be_given_as_any_table(tmp_path):
    table = labelled().table()
    assert table["conversation_id"].tolist() == ["c2", "c1"]
    assert Labels(table).table().equals(table)
    plain = pd.DataFrame({"conversation_id": ["a", "b"], "task_completed": [True, False], "summary": "x"})
    assert Labels(plain).table()["task_completed"].tolist() == [True, False]
    assert Labels(plain).table()["labelled_at"].isna().all()
    assert [*Labels(plain).table()] == [*table]
    assert Labels(pl.from_pandas(plain)).table()["conversation_id"].tolist() == ["a", "b"]
    # Saved with pandas, and read again.
    path = tmp_path / "labels.csv"
    table.to_csv(path, index=False)
    pd.testing.assert_frame_equal(Labels(pd.read_csv(path)).table(), table)
    # Labels of conversations that are not in the table are not lost.
    assert ConversationBrowser(browsable(2), labels=table.tail(1)).labels["conversation_id"].tolist() == [
        "c1"
    ]


def test_bad_labels_say_what_to_do():
    with pytest.raises(ConfigError, match="Read the file with pandas"):
        front(labels="labels.csv")
    with pytest.raises(FrameError, match="A table of labels has the columns"):
        Labels(pd.DataFrame({"conversation_id": ["a"]}))
    with pytest.raises(ConfigError, match="not one of negative, neutral, positive"):
        Labels(pd.DataFrame({"conversation_id": ["a"], "sentiment": ["glad"]}))
    for sets in ({"note": ["a"]}, {"sentiment": ["a"]}, {"": ["a"]}, {"tone": "kind"}, {"tone": []}):
        with pytest.raises(ConfigError, match="label set"):
            front(label_sets=sets)
