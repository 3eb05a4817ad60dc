"""Labels that a workspace keeps: read from it, and written to it after every change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.analysis.labeller_agreement import answered
from promptlift.errors import ConfigError, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.widgets.browser.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from promptlift.widgets.browser.plan import Plan

__all__ = ["KeptLabels", "answers_by_conversation", "keeps_labels"]

_YES_OR_NO: Final = {"yes": True, "no": False}


def keeps_labels(given: Any) -> bool:
    """Return whether labels are to be kept by a workspace: it has a room ``labels``."""
    return hasattr(getattr(given, "labels", None), "labeller")


def answers_by_conversation(labels: Any) -> dict[str, dict[str, str]]:
    """Return what several people answered, in words, by conversation and question."""
    found: dict[str, dict[str, str]] = {}
    table = answered(labels).drop_duplicates(["conversation_id", "question", "labeller"])
    for (one, question), rows in table.groupby(["conversation_id", "question"], sort=False):
        words = " · ".join(
            f"{who}: {value}" for who, value in zip(rows["labeller"], rows["value"], strict=True)
        )
        disputed = len(set(rows["value"])) > 1
        found.setdefault(str(one), {})[str(question)] = f"{words} (disputed)" if disputed else words
    return found


class KeptLabels(Labels):
    """Labels of one person, kept by a workspace.

    Parameters
    ----------
    lift
        The workspace.
    labeller
        Who labels; None is the user of this computer.
    ids
        The conversations that are shown.
    sets
        Names of the label sets that people brought themselves.
    plan
        The draw that they belong to, if there is one.
    """

    def __init__(
        self, lift: Any, labeller: str | None, ids: Collection[str], *, sets: Sequence[str], plan: Plan | None
    ) -> None:
        self._lift = lift
        self._labeller = labeller or lift.labels.labeller
        self._plan = plan
        self._ids = set(ids)
        # What could not be kept yet, by conversation and question.
        self._unsaved: dict[tuple[str, str], tuple[str | None, datetime | None]] = {}
        super().__init__(self._read(self._ids, sets), sets=sets)

    def _read(self, ids: set[str], sets: Sequence[str]) -> pd.DataFrame:
        """Return the labels that are there, a column for each question."""
        draw = None if self._plan is None else self._plan.draw_id
        long = self._lift.labels(labeller=self._labeller, draw_id=draw)
        long = long[long["conversation_id"].isin(ids)]
        columns: dict[str, dict[str, Any]] = {"task_completed": {}, "sentiment": {}, "labelled_at": {}}
        columns |= {name: {} for name in (*sets, "note")}
        for row in long.itertuples():
            if row.question in columns:
                known = _YES_OR_NO.get(row.value) if row.question == "task_completed" else row.value
                columns[row.question][row.conversation_id] = known
                columns["labelled_at"].setdefault(row.conversation_id, row.labelled_at)
        order = list(reversed(columns["labelled_at"]))
        values = {name: [found.get(one) for one in order] for name, found in columns.items()}
        return pd.DataFrame({"conversation_id": order, **values}, dtype="object")

    def record(self, conversation_id: str, field: str, value: Any) -> None:
        """Record one value of a conversation's label, and have it kept; None removes it.

        Raises
        ------
        ConfigError
            When it could not be kept; it is tried again with the next label.
        """
        before = self.get(conversation_id)
        super().record(conversation_id, field, value)
        now = self.get(conversation_id).labelled_at
        changed: dict[str, str | None]
        if field == "both":
            said = {"task_completed": before.task_completed, "sentiment": before.sentiment, **before.own}
            changed = {name: None for name, one in said.items() if one is not None}
        else:
            changed = {field: ("yes" if value else "no") if isinstance(value, bool) else value or None}
        for question, answer in changed.items():
            self._unsaved[conversation_id, question] = (answer, now)
        try:
            self._save()
        except PromptliftError as error:
            raise ConfigError(f"Not kept yet: {one_line(error, 300)}") from error

    def save(self) -> None:
        """Try again to keep what the workspace could not keep.

        Raises
        ------
        PromptliftError
            When it still cannot keep it.
        """
        if self._unsaved:
            self._save()

    @property
    def learns(self) -> bool:
        """Whether a judge can learn from them: the workspace has judges, and the draw asks whether the task was completed."""
        asks = self._plan is None or self._plan.question == "task_completed"
        return asks and callable(getattr(getattr(self._lift, "judges", None), "learn", None))

    def learn(self) -> str:
        """Learn a judge of completion for each prompt of the conversations, from all labels that are kept, and say what was learned."""
        self.save()
        kept = self._lift.labels(question="task_completed")
        of_prompts = kept.loc[kept["conversation_id"].isin(self._ids), "prompt_id"].dropna()
        said = []
        for prompt in dict.fromkeys(of_prompts.astype("str")):
            try:
                said.append(str(self._lift.judges.learn(prompt=prompt)))
            except (PromptliftError, ValueError) as error:
                said.append(str(error))
            if len(set(of_prompts)) > 1:
                said[-1] = f"{prompt}: {said[-1]}"
        return " ".join(said)

    def _save(self) -> None:
        removed = [key for key, (answer, _) in self._unsaved.items() if answer is None]
        kept = {key: said for key, said in self._unsaved.items() if said[0] is not None}
        if kept:
            table = pd.DataFrame(
                [
                    {"conversation_id": one, "question": question, "value": answer, "labelled_at": when}
                    for (one, question), (answer, when) in kept.items()
                ]
            )
            if self._plan is not None:
                table["chance"] = table["conversation_id"].map(self._plan.chances)
                table["draw_id"] = table["conversation_id"].map(self._plan.draws)
            self._lift.labels.add(table, labeller=self._labeller)
        for key in removed:
            self._lift.labels.remove(*key, labeller=self._labeller)
        self._unsaved.clear()
