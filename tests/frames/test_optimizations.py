"""Tables of optimizations, simulations, personas and versions: fixed columns, the specification's fields are enough."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import frames
from promptlift.frames.columns import dtype_of
from promptlift.frames.layouts import TABLES

BARE = {
    "id": "o1",
    "promptId": "p1",
    "status": "completed",
    "mode": "validation",
    "createdAt": "2026-01-31T09:30:00Z",
    "completedAt": "2026-01-31T10:30:00Z",
}
OURS = {
    **BARE,
    "variantCount": 3,
    "rehearsal": True,
    "startedAt": "2026-01-31T09:31:00Z",
    "results": {
        "winnerSelected": True,
        "winningVariantId": "v1",
        "lift": 17.3,
        "confidence": 0.92,
        "liftLow": 5.8,
        "liftHigh": None,
        "liftExpected": 14.6,
        "pairs": {"n": 150},
        "reason": "threshold",
        "rehearsal": True,
    },
    "deployment": {"id": "d", "state": "staged"},
}


@pytest.mark.parametrize(
    "name", ["optimizations", "simulations", "personas", "versions", "production_metrics"]
)
def test_dtypes_are_fixed_also_when_empty_or_hostile(name):
    make = getattr(frames, f"{name}_table")
    columns = [column for column in TABLES[name] if (name, column.name) != ("simulations", "content")]
    odd = {
        "id": 5,
        "status": ["x"],
        "createdAt": "soon",
        "results": [],
        "persona": "Ada",
        "pass": "1",
        "turns": 2.5,
        "before": "lots",
    }
    for rows in ([], [{"id": "a"}], [odd]):
        frame, doubts = make(rows)
        assert list(frame.columns) == [column.name for column in columns]
        assert {column.name: frame[column.name].dtype for column in columns} == {
            column.name: pd.Series([], dtype=dtype_of(column)).dtype for column in columns
        }
        assert bool(doubts) == (rows == [odd])


def test_an_optimization_of_ours_fills_every_column():
    frame, doubts = frames.optimizations_table([OURS])
    row = frame.iloc[0]
    assert row[["lift_pct", "confidence", "lift_low", "lift_expected"]].tolist() == [17.3, 0.92, 5.8, 14.6]
    assert pd.isna(row["lift_high"])
    names = ["n_pairs", "reason", "rehearsal", "winner_selected", "winning_variant_id", "variant_count", "deployment_state"]  # fmt: skip
    assert row[names].tolist() == [150, "threshold", True, True, "v1", 3, "staged"]
    assert doubts == {}


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ({}, None),
        ({"rehearsal": False}, False),
        ({"results": {"rehearsal": True}}, True),
        ({"rehearsal": False, "results": {"rehearsal": True}}, True),
        ({"rehearsal": "yes"}, None),
    ],
)
def test_a_rehearsal_is_known_wherever_it_is_said(row, known):
    value = frames.optimizations_table([BARE | row])[0]["rehearsal"].iloc[0]
    assert pd.isna(value) if known is None else value == known


def test_a_simulation_has_its_persona_and_scenario():
    wire = {
        "id": "s1", "pass": 4, "cell": 61, "endedBy": "turns", "taskCompleted": None, "content": "{}",
        "persona": {"id": "per_1", "name": "Ada"},
        "scenario": {"title": "refund", "opening": "hi", "goal": "money back", "source": "conversation"},
    }  # fmt: skip
    row = frames.simulations_table([wire], content=True)[0].iloc[0]
    names = ["persona", "scenario", "goal", "scenario_source", "pass_number", "cell", "ended_by", "content"]
    assert row[names].tolist() == ["Ada", "refund", "money back", "conversation", 4, 61, "turns", "{}"]
    assert pd.isna(row["task_completed"])
    assert "content" not in frames.simulations_table([wire])[0]
