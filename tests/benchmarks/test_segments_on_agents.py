"""Whether the segments that one half of an agent's conversations names are found in the other half: the figures of measured.md."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.frames import conversations_table
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.stats.differences import score_test_p
from support.shared_data import load, needs_shared

pytestmark = [needs_shared, pytest.mark.benchmark, pytest.mark.timeout(7200)]

AGENTS = ("tau2-airline", "tau2-retail", "taubench-airline", "sgd-service")
DRAWS = 100
TASK = "metadata.taskId"


@cache
def conversations(name: str) -> pd.DataFrame:
    """Conversations as the workspace gives them, judged by the word list, with the benchmark's outcome in ``truth``."""
    judge, rows, records = LexiconJudge(), [], load(name)
    for record in records:
        metadata = {
            key: value for key, value in record["metadata"].items() if not isinstance(value, (list, dict))
        }
        content = json.dumps({"messages": record["messages"], "metadata": metadata})
        found = judge.judge(parse_content(content))
        insights = {
            "taskCompleted": found.task_completed, "sentiment": found.sentiment, "topics": found.topics,
            "issues": found.issues, "analyser": "lexicon", "basis": "words",
        }  # fmt: skip
        about = {"id": record["sourceId"], "status": record["status"], "llmModel": record["llmModel"]}
        rows.append({**about, "startedAt": record["createdAt"], "content": content, "insights": insights})
    table, _ = conversations_table(rows, insights=True, content=True)
    truth = [record["truth"]["taskCompleted"] for record in records]
    return table.drop(columns="content").assign(truth=pd.array(truth, dtype="boolean"))


def with_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the conversations whose outcome is known, with it as the verdict."""
    known = table[table["truth"].notna()]
    return known.assign(task_completed=known["truth"], basis="outcome").drop(columns="truth")


def halves(table: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the tasks in two, or the conversations where the logs have no tasks."""
    unit = table[TASK].astype("str") if TASK in table else table["conversation_id"]
    different = rng.permutation(unit.unique().to_numpy(object))
    first = unit.isin(different[: len(different) // 2]).to_numpy()
    return table[first], table[~first]


def members(table: pd.DataFrame, row: dict, merged: dict[str, list[str]]) -> np.ndarray:
    """Find the conversations of a segment in other conversations, by what its row says."""
    column, segment = row["column"], row["segment"]
    if column == "hour":
        hour = table["started_at"].dt.hour
        return hour.between(int(segment[:2]), int(segment[9:11])).to_numpy()
    if segment == "not given":
        return table[column].isna().to_numpy()
    wanted = set(merged[column]) if row["n_merged"] else {segment}
    if column == "topics":
        return np.array([bool(wanted & set(topics)) for topics in table[column]])
    if pd.api.types.is_numeric_dtype(table[column]) and not row["n_merged"]:
        ends = [
            float(end.replace(",", "")) for end in re.split(" to ", re.sub(r"^.*\((.*)\)$", r"\1", segment))
        ]
        value = table[column].astype("Float64")
        return value.between(ends[0] * (1 - 1e-5), ends[-1] * (1 + 1e-5)).fillna(False).to_numpy(bool)
    return table[column].astype("str").isin(wanted).to_numpy()


def rest_of(table: pd.DataFrame, row: dict, inside: np.ndarray, n: int) -> np.ndarray:
    """Find the rest of a segment: all others, or where the column says nothing of some of the ``n`` that were split, those it does."""
    column = "started_at" if row["column"] == "hour" else row["column"]
    everyone = row["n"] + row["n_rest"] == n
    return ~inside if everyone else ~inside & table[column].notna().to_numpy(bool)


def confirmed_by_the_other_half(name: str) -> np.ndarray:
    """Count the segments that halves name, those whose sign the other half has, and those significantly the other way."""
    table = with_outcomes(conversations(name))
    rng, counts = np.random.default_rng(24), np.zeros(3, int)
    for _ in range(DRAWS):
        one, other = halves(table, rng)
        for first, second in ((one, other), (other, one)):
            found = analysis.segments(first)
            done = second["task_completed"].to_numpy(bool)
            for row in found[found["verdict"] != "unclear"].to_dict("records"):
                inside = members(second, row, found.attrs["promptlift"]["merged"])
                rest = rest_of(second, row, inside, len(first))
                x1, n1, x0, n0 = done[inside].sum(), inside.sum(), done[rest].sum(), rest.sum()
                if min(n1, n0) >= 10:
                    same_sign = (x1 / n1 - x0 / n0) * row["difference_points"] > 0
                    opposite = not same_sign and score_test_p(x1, n1, x0, n0) < 0.05
                    counts += [1, same_sign, opposite]
    named, confirmed, opposite = counts
    print(f"| {name} | {len(table)} | {named / (2 * DRAWS):.2f} | {confirmed} of {named} | {opposite} |")
    return counts


def test_what_one_half_names_the_other_confirms():
    named, confirmed, opposite = sum(map(confirmed_by_the_other_half, AGENTS))
    assert opposite == 0
    assert confirmed >= 0.9 * named


@pytest.mark.parametrize("name", AGENTS)
def test_a_word_list_names_none(name):
    found = analysis.segments(conversations(name).drop(columns="truth"))
    assert found.empty
    assert "cannot be told" in found.attrs["promptlift"]["summary"]
