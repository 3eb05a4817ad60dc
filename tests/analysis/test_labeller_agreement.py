"""Agreement between several labellers, and what they disagree about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from promptlift.stats.agreement import krippendorff_alpha


def said(question="task_completed", **people):
    return pd.DataFrame(
        {"conversation_id": f"c{place}", "question": question, "value": value, "labeller": who}
        for who, values in people.items()
        for place, value in enumerate(values)
        if value is not None
    )


def test_two_people_have_kappa_and_everybody_has_alpha():
    labels = pd.concat(
        [
            said(ann=[True] * 25 + [False] * 25, ben=["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15, eve=["yes", None, "no"]),
            said("sentiment", ann=["negative", "neutral"], ben=["negative", "positive"]),
            said("note", ann=["odd"], ben=["even"]),
        ]
    )  # fmt: skip
    table = analysis.labeller_agreement(labels)
    assert set(table["question"]) == {"sentiment", "task_completed"}
    rows = table.set_index(["question", "labeller", "other"])
    two = rows.loc["task_completed", "ann", "ben"]
    assert (two["n"], two["agreed"], two["kappa"]) == (50, 35, pytest.approx(0.4))
    assert np.isnan(two["alpha"])
    everybody = rows.loc["task_completed", "all", ""]
    counts = [[0, 3]] + [[0, 2]] + [[1, 2]] + [[0, 2]] * 17 + [[1, 1]] * 15 + [[2, 0]] * 15
    assert everybody["alpha"] == pytest.approx(krippendorff_alpha(counts).alpha)
    assert (everybody["n_labellers"], everybody["n"], everybody["agreed"]) == (3, 50, 34)
    assert rows.loc["sentiment", "ann", "ben"]["agreed"] == 1
    assert ("sentiment", "ann", "eve") not in rows.index


def test_what_people_disagree_about_stands_side_by_side():
    labels = said(ann=[True, True, None], ben=["yes", "no", "no"], eve=["yes", None, "no"])
    assert analysis.labeller_agreement(labels).attrs["promptlift"]["disputed"] == [
        {"conversation_id": "c1", "question": "task_completed", "answers": {"ann": "yes", "ben": "no"}}
    ]


def test_one_person_alone_agrees_with_nobody():
    table = analysis.labeller_agreement(said(ann=[True, False]))
    assert list(table["labeller"]) == ["all"]
    assert table["n"].item() == 0
    assert table[["agreement", "alpha", "kappa"]].isna().all(axis=None)
    assert table.attrs["promptlift"]["disputed"] == []


def test_without_names_nothing_can_be_compared():
    with pytest.raises(FrameError, match="labeller"):
        analysis.labeller_agreement(said(ann=[True]).drop(columns="labeller"))
