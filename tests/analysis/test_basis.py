"""What may be said on what: nothing on a word list, nothing clearly on a judge whose errors are not known."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis, plots
from promptlift.analysis import two_groups
from promptlift.analysis.findings import finding
from promptlift.analysis.what_else import what_else
from promptlift.schema.basis import (
    UNTOLD,
)
from support.side_by_side import experiment

DIRECTION = re.compile(
    r"\b(higher|lower|more often|less often|rises|falls|rose|fell|better|worse|winner|could rise|points (more|less))\b"
)


def judged(basis, n=400):
    """Two prompts that differ widely, and fall over time, by whatever judged them."""
    half = n // 2
    number = np.arange(n)
    done = np.where(number < half, number % 5 != 0, number % 5 == 0)
    done &= (number % half) * 2 < half * 1.6
    return pd.DataFrame(
        {
            "conversation_id": [f"c{one}" for one in number],
            "prompt_id": np.where(number < half, "a", "b"),
            "status": "completed",
            "started_at": pd.date_range("2026-03-01", periods=half, freq="4h", tz="UTC").append(
                pd.date_range("2026-03-01", periods=half, freq="4h", tz="UTC")
            ),
            "llm_model": np.where(number % 2, "x", "y"),
            "task_completed": pd.array(done, dtype="boolean"),
            "sentiment": np.where(done, "positive", "negative"),
            "sentiment_score": np.where(done, 0.6, -0.6),
            "quality": np.where(done, 90.0, 20.0),
            "n_turns": number % 7,
            "issues": pd.Series(
                [[] if one else [{"title": "Late", "severity": "high"}] for one in done], dtype=object
            ),
            "topics": pd.Series([["delivery"]] * n, dtype=object),
            "analyser": {"words": "lexicon", "model": "llm:gpt-4o", "outcome": "lexicon"}[basis],
            "basis": basis,
        }
    )


def everything_said(table):
    """Every sentence and title that an analysis or a plot makes of conversations."""
    compared = analysis.compare(table, by="prompt_id", control="a")
    scored = analysis.compare(table, by="prompt_id", control="a", outcome="quality")
    labelled = analysis.compare(table, by="prompt_id", control="a", outcome="sentiment")
    cut = analysis.segments(table, by=["prompt_id", "llm_model"])
    trend = analysis.completion_trend(table, freq="D")
    said = [finding(one) for one in (compared, scored, cut, trend)]
    said += [
        line for one in (compared, scored, labelled, cut) for line in one.attrs["promptlift"]["sentences"]
    ]
    said.append(cut.attrs["promptlift"]["summary"])
    said += what_else(table, by="prompt_id", variant="b", control="a").attrs["promptlift"]["sentences"]
    for draw in (
        lambda: plots.compare(compared, title="auto"),
        lambda: plots.compare(experiment(basis=str(table["basis"].iloc[0])), title="auto"),
        lambda: plots.segments(cut, title="auto"),
        lambda: plots.completion_trend(trend, title="auto"),
        lambda: plots.sentiment_trend(table, title="auto"),
        lambda: plots.sentiment_distribution(table, by="prompt_id", title="auto"),
        lambda: plots.prompt_overview(table).axes[0],
    ):
        figure = draw().get_figure()
        said += [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    return [line.replace("\n", " ") for line in said if line]


def without_counts(said):
    """Leave out what is counted, not judged: issues, topics and measures of the transcript."""
    return [line for line in said if not re.search(r"\b(issue|topic|n_turns|number of turns)\b", line)]


def test_a_word_list_names_no_direction_and_none_of_its_labels_anywhere():
    said = everything_said(judged("words"))
    assert not [line for line in said if re.search("negative|positive", line)]
    for line in without_counts(said):
        assert not DIRECTION.search(line.replace(f"whether anything is higher or lower {UNTOLD}", "")), line


@pytest.mark.slow
def test_a_model_names_directions_as_its_own_and_nothing_clearly():
    said = everything_said(judged("model"))
    assert any("as the model sees it" in line and DIRECTION.search(line) for line in said)
    assert not [
        line for line in without_counts(said) if re.search(r"(?<!No )\bclearly (higher|lower|differ)", line)
    ]


@pytest.mark.parametrize(("wrong", "clearly"), [(0, True), (5, False)])
def test_a_model_says_clearly_what_labels_prove_it_can_judge(wrong, clearly):
    """Labels of a few conversations of one prompt, too few to correct the difference, show how often the model is right."""
    table = judged("model")
    mine = table[table["prompt_id"] == "b"].head(60)
    said = mine["task_completed"].to_numpy(bool)
    value = np.where(np.arange(60) % 10 < wrong, ~said, said)
    labels = mine[["conversation_id"]].assign(task_completed=value, chance=0.3)
    found = analysis.compare(table, by="prompt_id", control="a", labels=labels)
    (sentence,) = found.attrs["promptlift"]["sentences"]
    assert found["not_corrected"].iloc[0].startswith("No labels of the control")
    assert ("; clearly lower, as the model sees it." in sentence) == clearly
    assert "; lower, as the model sees it." in sentence or clearly


@pytest.mark.parametrize(
    ("agreements", "clearly"), [([[60, 0.8, 0.6]] * 2, True), ([[60, 0.8, 0.6], [60, 0.5, 0.6]], False)]
)
def test_labels_that_are_kept_prove_the_judge_of_every_prompt(agreements, clearly):
    table = judged("model")
    tables = [table[table["prompt_id"] == name].copy() for name in "ab"]
    for one, agreement in zip(tables, agreements, strict=True):
        one.attrs["promptlift"] = {"agreement": agreement}
    both = two_groups.of_prompts(tables, "ab")
    (sentence,) = analysis.compare(both, by="prompt_id", control="a").attrs["promptlift"]["sentences"]
    assert ("clearly lower" in sentence) == clearly
    # It is known to be right on task completion, and on nothing else.
    (scored,) = analysis.compare(both, by="prompt_id", control="a", outcome="quality").attrs["promptlift"][
        "sentences"
    ]
    assert "clearly" not in scored


def test_outcomes_of_the_logs_may_say_all_of_it():
    said = everything_said(judged("outcome"))
    assert any("clearly lower" in line for line in said)
    assert not any("as the model sees it" in line or UNTOLD in line for line in said if "completes" in line)


@pytest.mark.parametrize("basis", ["words", "model"])
def test_what_one_judgement_gave_is_not_counted_against_itself(basis):
    assert analysis.headroom(judged(basis))[["points", "points_low", "points_high"]].isna().all(axis=None)
    assert analysis.issues(judged(basis))[["rate", "rate_without"]].isna().all(axis=None)


def test_fields_of_a_comparison_on_words_name_no_direction():
    row = analysis.compare(judged("words"), by="prompt_id", control="a").iloc[0]
    assert row[["difference_points", "difference_points_low", "lift_percent", "p"]].isna().all()
    assert row["verdict"] == ""
    labels = analysis.compare(judged("words"), by="prompt_id", control="a", outcome="sentiment").iloc[0]
    assert labels[["rate", "rate_control", "p"]].isna().all()
    assert (row["rate"], row["n"]) == (pytest.approx(0.16, abs=0.05), 200)


def test_the_weakest_basis_counts():
    table = judged("outcome")
    one_by_words = table.assign(basis=["words", *table["basis"][1:]])
    (sentence,) = analysis.compare(one_by_words, by="prompt_id", control="a").attrs["promptlift"]["sentences"]
    assert UNTOLD in sentence
