"""Tables of labels, long or wide, as the rows that are kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.analysis.labels import KEY, LABEL_COLUMNS, QUESTIONS, WORDS
from promptlift.analysis.reading import collect, names_of
from promptlift.errors import ConfigError, FrameError
from promptlift.schema import limits
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    Row = dict[str, Any]

# What is said of an answer; every other column of a wide table is a question.
_ABOUT: Final = ("labeller", "labelled_at", "chance", "draw_id", "prompt_id", "optimization_id", "label_id")


def long_labels(labels: Any) -> pd.DataFrame:
    """Return a table of labels with one row per answer: conversation_id, question, value, and what is known of each.

    Parameters
    ----------
    labels
        Table of labels, long or wide.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    present = names_of(labels)
    hint = f"A table of labels has the columns {', '.join(LABEL_COLUMNS)}, one row per answer."
    if KEY not in present:
        raise FrameError([KEY], present, hint=hint)
    about = [name for name in _ABOUT if name in present]
    if "question" in present:
        if "value" not in present:
            raise FrameError(["value"], present, hint=hint)
        frame = collect(labels, [KEY, "question", "value", *about])
        return frame[frame["value"].notna() & frame[KEY].notna() & frame["question"].notna()]
    questions = [name for name in present if name not in (KEY, *about)]
    if not questions:
        raise FrameError(["question", "value"], present, hint=hint)
    frame = collect(labels, [KEY, *questions, *about])
    # Answers of several kinds in one column.
    wide = frame.astype(dict.fromkeys(questions, "object"))
    long = wide.melt([KEY, *about], questions, var_name="question", value_name="value")
    return long[long["value"].notna() & long[KEY].notna()].reset_index(drop=True)


def label_records(labels: Any, *, labeller: str, chance: float | None = None) -> list[Row]:
    """Return labels as the rows that are kept: the fields of ``POST /labels`` by their Python names.

    Parameters
    ----------
    labels
        Table of labels, long or wide.
    labeller, chance
        Who answered, and the chance of the draw, where the table does not say.

    Raises
    ------
    FrameError
        When a column is missing.
    ConfigError
        When a value cannot be used.
    """
    rows = []
    for given in long_labels(labels).to_dict("records"):
        question = QUESTIONS.get(str(given["question"]), str(given["question"]))
        row: Row = {
            KEY: str(given[KEY]),
            "question": _text(question, "A question", limits.NAME_CHARS),
            "value": _answer(question, given["value"]),
            "labeller": _text(given.get("labeller"), "A labeller", limits.NAME_CHARS)
            if not is_missing(given.get("labeller"))
            else labeller,
        }
        if not is_missing(given.get("labelled_at")):
            row["labelled_at"] = pd.Timestamp(given["labelled_at"]).to_pydatetime()
        known = given.get("chance") if not is_missing(given.get("chance")) else chance
        if known is not None:
            row["chance"] = _chance(known)
        if not is_missing(given.get("draw_id")):
            row["draw_id"] = str(given["draw_id"])
        if row["value"]:
            rows.append(row)
    return rows


def _answer(question: str, value: Any) -> str:
    """Return an answer as it is kept: yes and no are words."""
    words = str(value).strip()
    if question == "task_completed" or not isinstance(value, str):
        known = WORDS.get(words.lower())
        if known is not None:
            return "yes" if known else "no"
    if question == "task_completed":
        raise ConfigError(
            f"A label of task_completed is {value!r:.60}. Labels are true and false, or yes and no."
        )
    return _text(words, "An answer", limits.DESCRIPTION_CHARS) if words else ""


def _text(value: Any, what: str, most: int) -> str:
    text = str(value).strip()
    if not text or len(text) > most or "\x00" in text:
        raise ConfigError(f"{what} must be a text of 1 to {most:,} characters, not {value!r:.60}.")
    return text


def _chance(value: Any) -> float:
    try:
        chance = float(value)
    except (TypeError, ValueError):
        chance = math.nan
    if not 0.0 < chance <= 1.0:
        raise ConfigError(
            f"chance must be above 0 and at most 1, the chance with which the conversation was drawn, not {value!r:.60}."
        )
    return chance
