"""Labels of people as every corrected number reads them: one answer a conversation, and the chance of its draw.

A table of labels has one row per answer: ``conversation_id``, ``question`` (the column that it answers, such as
task_completed), ``value`` (yes or no), ``labeller``, ``labelled_at`` and ``chance``, with which the conversation was drawn
(missing where nobody knows). A wide table, such as ``browser.labels``, has a column for each question instead.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, names_of
from promptlift.errors import FrameError
from promptlift.schema.basis import Agreement
from promptlift.stats.intervals import wilson
from promptlift.stats.labels import LabelledGroup, too_few_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

KEY: Final = "conversation_id"
LABEL_COLUMNS: Final = (KEY, "question", "value", "labeller", "labelled_at", "chance")
# Another name of a question.
QUESTIONS: Final = {"completed": "task_completed"}
WORDS: Final = {"true": 1.0, "yes": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "no": 0.0, "0": 0.0, "0.0": 0.0}


@dataclass(frozen=True)
class Answers:
    """The labels of one question.

    Attributes
    ----------
    table
        ``value`` (1 and 0), ``chance`` (NaN where it is not known) and ``draw`` (its id, or empty) by conversation_id.
    question
        The column that is answered.
    n_disputed
        Conversations that as many labellers call one thing as the other, which are left out.
    others
        Questions that the labels answer instead, where none answers this one.
    """

    table: pd.DataFrame
    question: str
    n_disputed: int
    others: tuple[str, ...]


@dataclass(frozen=True)
class LabelledRows:
    """Judged conversations with the labels of some, row by row.

    Attributes
    ----------
    judged
        What the judge says, 1 and 0; NaN where it says nothing.
    said
        What a person says; NaN without a label.
    chance
        The chance of the draw; NaN where it is not known.
    draw
        Id of the draw of each label; empty where it is not known.
    answers
        Where the labels come from.
    likely
        How likely the judge takes yes to be, where it says so: this corrects better than its yes and no.
    """

    judged: NDArray[np.float64]
    said: NDArray[np.float64]
    chance: NDArray[np.float64]
    draw: NDArray[np.object_]
    answers: Answers
    likely: NDArray[np.float64] | None = None

    @property
    def label(self) -> NDArray[np.float64]:
        """The labels that a draw of known chance gave, which alone correct a part of the conversations."""
        return np.where(np.isnan(self.chance), np.nan, self.said)

    @property
    def is_census(self) -> bool:
        """Whether every judged conversation has a label: then labels are no sample, and need no draw."""
        known = ~np.isnan(self.judged)
        return bool(known.any()) and not np.isnan(self.said[known]).any()

    def group(self, rows: NDArray[np.bool_]) -> LabelledGroup:
        """Return the judged conversations among some rows, as rates are corrected by them."""
        return self._group(rows, self.judged if self.likely is None else self.likely)

    def verdicts(self, rows: NDArray[np.bool_]) -> LabelledGroup:
        """Return the same with nothing but yes and no, as errors are counted."""
        return self._group(rows, self.judged)

    def _group(self, rows: NDArray[np.bool_], judged: NDArray[np.float64]) -> LabelledGroup:
        mine = rows & ~np.isnan(self.judged)
        labelled = mine & ~np.isnan(self.label)
        return LabelledGroup(
            self.label[labelled],
            judged[labelled],
            judged[mine & np.isnan(self.label)],
            chances=self.chance[labelled],
        )

    def refusal(self, rows: NDArray[np.bool_], name: str = "") -> str:
        """Return in words why some rows cannot be corrected; empty where they can."""
        if self.answers.others:
            asked, there = self.answers.question, " and ".join(self.answers.others)
            return f"The labels answer {there}, not {asked}: a rate is corrected only by labels of its own question."
        if mixed := self._mixed_draws(rows, name):
            return mixed
        short = too_few_labels(self.group(rows), name)
        if short and (disputed := self.answers.n_disputed):
            short += f" Conversations with as many yes as no do not count: {disputed:,}."
        picked = int((rows & ~np.isnan(self.said) & np.isnan(self.chance)).sum())
        if not short or not picked:
            return short
        missing = int((~np.isnan(self.judged) & np.isnan(self.said)).sum())
        said = f"{picked:,} label{' has' if picked == 1 else 's have'} no chance with which the conversation was drawn"
        return (
            f"{said}: labels that were picked by hand, by low confidence or by search show where the judge errs, not how "
            f"often. Draw at random, with analysis.label_plan, or label the {missing:,} other{'' if missing == 1 else 's'} as well: labels of all "
            f"conversations need no draw. {short}"
        )

    def _mixed_draws(self, rows: NDArray[np.bool_], name: str) -> str:
        """Return in words why labels of several draws do not correct some rows; empty where they are of one.

        A chance says how likely its own draw was to choose the conversation. That of being in either of two draws takes the
        chances of both, and what one draw did not choose has none of it.
        """
        labelled = rows & ~np.isnan(self.judged) & ~np.isnan(self.label)
        draws = sorted(set(self.draw[labelled]))
        # What was chosen for certain has no other chance in any draw.
        if len(draws) < 2 or bool((self.chance[labelled] == 1.0).all()):
            return ""
        of = f" of {name}" if name else ""
        said = ", ".join(
            f"{int((self.draw[labelled] == one).sum()):,} of {one or 'no named draw'}" for one in draws
        )
        named = next(one for one in draws if one)
        return (
            f"The labels{of} come from {len(draws)} draws ({said}), and the chances of one draw say nothing of another. Correct by "
            f"one of them, such as lift.labels(draw_id={named!r}), or draw once from all and label that."
        )

    def agreement(self) -> Agreement | None:
        """Return how far the judge says what the labels of a draw say, each weighed by one over its chance; None without any."""
        both = ~np.isnan(self.label) & ~np.isnan(self.judged)
        if not both.any():
            return None
        label, weight = self.label[both], 1.0 / self.chance[both]
        weight /= weight.sum()
        # Kish's effective number: unequal weights say less than equal ones.
        n = 1.0 / float((weight**2).sum())
        agreed, yes = float(weight @ (label == self.judged[both])), float(weight @ label)
        low = wilson(min(agreed, 1.0) * n, n)[0]
        return Agreement(int(both.sum()), float(low), max(yes, 1.0 - yes))

    def facts(self) -> dict[str, Any]:
        """Return what the attributes of a result say of the labels."""
        return {
            "question": self.answers.question,
            "n_labels": int((~np.isnan(self.label) & ~np.isnan(self.judged)).sum()),
            "agreement": self.agreement(),
            "n_disputed": self.answers.n_disputed,
            "n_without_chance": int(self.answers.table["chance"].isna().sum()),
            "n_unmatched": int(self.answers.table["chance"].notna().sum() - (~np.isnan(self.label)).sum()),
        }


def answers_to(labels: Any, question: str) -> Answers:
    """Read the labels of one question.

    Where several people answered, the majority counts.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an answer is not yes or no, or a chance is not above 0 and at most 1.
    """
    present = names_of(labels)
    wide = "question" not in present
    value = question if wide else "value"
    needed = [KEY, value] if wide else [KEY, "question", "value"]
    if missing := [name for name in needed if name not in present]:
        hint = f"A table of labels has the columns {', '.join(LABEL_COLUMNS)}, one row per answer."
        raise FrameError(missing, present, hint=hint)
    frame = collect(labels, [*needed, *(name for name in ("chance", "draw_id") if name in present)])
    frame.attrs = {}  # pandas copies them with each column
    others: tuple[str, ...] = ()
    if not wide:
        asked = frame["question"].astype("str").replace(QUESTIONS)
        others = () if asked.eq(question).any() or frame.empty else tuple(sorted(asked.dropna().unique()))
        frame = frame[asked == question]
    frame = frame[frame[value].notna() & frame[KEY].notna()]
    answer = _yes_or_no(frame[value])
    chance = _chances(frame["chance"]) if "chance" in frame else np.full(len(frame), np.nan)
    draw = np.full(len(frame), "", np.object_)
    if "draw_id" in frame:
        draw = frame["draw_id"].astype("object").where(frame["draw_id"].notna(), "").to_numpy()
    place, ids = pd.factorize(frame[KEY].astype("str"))
    said = np.bincount(place, answer, len(ids)) / np.bincount(place, minlength=len(ids))
    # A chance goes with its draw: both are those of the first label that has one.
    drawn = np.flatnonzero(~np.isnan(chance))
    known, first = np.unique(place[drawn], return_index=True)
    chances, draws = np.full(len(ids), np.nan), np.full(len(ids), "", np.object_)
    chances[known], draws[known] = chance[drawn[first]], draw[drawn[first]]
    table = pd.DataFrame(
        {"value": (said > 0.5).astype(np.float64), "chance": chances, "draw": draws}, index=ids
    )
    settled = table[said != 0.5]
    return Answers(settled, question, len(table) - len(settled), others)


def label_rows(
    labels: Any,
    ids: pd.Series[Any],
    judged: NDArray[np.float64],
    question: str,
    likely: NDArray[np.float64] | None = None,
) -> LabelledRows:
    """Put the labels of a question to the conversations that have been judged.

    Parameters
    ----------
    labels
        Table of labels.
    ids
        The conversation of each row.
    judged
        The judge's answer of each row, NaN where it has none.
    question
        The column that was judged.
    likely
        How likely the judge takes yes to be, where it says so.

    Raises
    ------
    FrameError
        When the labels lack a column.
    ValueError
        When a label cannot be read, or a labelled conversation is there twice.
    """
    answers = answers_to(labels, question)
    names = ids.astype("str")
    place = answers.table.index.get_indexer(pd.Index(names))
    said, chance = (
        np.where(place < 0, np.nan, np.append(answers.table[name].to_numpy(np.float64), np.nan)[place])
        for name in ("value", "chance")
    )
    twice = names[place >= 0]
    twice = twice[twice.duplicated()]
    if len(twice):
        raise ValueError(
            f"The labelled conversation {twice.iloc[0]!r:.80} is in the table more than once. Pass one row for each conversation."
        )
    draw = np.append(answers.table["draw"].to_numpy(np.object_), "")[place]
    rows = LabelledRows(judged, said, chance, draw, answers, likely)
    if rows.is_census:
        return replace(
            rows, chance=np.where(np.isnan(said), np.nan, 1.0), draw=np.full(len(said), "", np.object_)
        )
    return rows


def all_columns(conversations: Any) -> pd.DataFrame:
    """Return a table of any engine in pandas, with the ids that labels are matched by.

    Raises
    ------
    FrameError
        When the table has no conversation_id.
    """
    present = names_of(conversations)
    if KEY not in present:
        raise FrameError([KEY], present, hint="Labels are matched with conversations by their id.")
    return collect(conversations, present)


def _yes_or_no(column: pd.Series[Any]) -> NDArray[np.float64]:
    given = column.astype("object")
    # True is "true", 1 is "1", and a file without types holds the words themselves.
    answers = given.map(lambda one: WORDS.get(str(one).strip().lower(), np.nan)).astype(np.float64)
    if answers.isna().any():
        strange = given[answers.isna()].iloc[0]
        raise ValueError(
            f"A label of a yes/no question is {strange!r:.60}. Labels are true and false, or yes and no."
        )
    return np.asarray(answers.to_numpy(), np.float64)


def _chances(column: pd.Series[Any]) -> NDArray[np.float64]:
    chance = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    if ((chance <= 0.0) | (chance > 1.0)).any():
        raise ValueError(
            "chance must be above 0 and at most 1: the chance with which the conversation was drawn."
        )
    return np.asarray(chance)


def draw_id(ids: Iterable[str]) -> str:
    """Return the name of a draw: the same conversations in the same order have the same."""
    return f"draw_{hashlib.sha256(chr(10).join(ids).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
