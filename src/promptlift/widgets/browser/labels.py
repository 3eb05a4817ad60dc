"""What people say of conversations: kept by a workspace after every change, or in memory."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.errors import ConfigError, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from promptlift.widgets.browser.plan import Plan

__all__ = [
    "COMPLETED",
    "KeptLabels",
    "Labels",
    "answers_by_conversation",
    "checked_sets",
    "keeps_labels",
]

COMPLETED: Final = "task_completed"
_KEY: Final = "conversation_id"
_FIRST: Final = (COMPLETED, "sentiment", "labelled_at")
_RESERVED: Final = frozenset((_KEY, *_FIRST, "note", "learn"))


class Labels:
    """Answers by conversation and question, all in words, in memory.

    Parameters
    ----------
    given
        A table of labels to start with, long or wide.
    sets
        Names of the label sets that people brought themselves.
    """

    def __init__(self, given: Any = None, *, sets: Sequence[str] = ()) -> None:
        self._sets = tuple(sets)
        self._said: dict[str, dict[str, str]] = {}
        self._at: dict[str, Any] = {}
        if isinstance(given, str | os.PathLike):
            raise ConfigError(
                "labels is the workspace or a table of labels, not a file. Read the file with pandas, and write "
                "browser.labels to it afterwards."
            )
        if given is not None:
            self._take(given, (COMPLETED, "sentiment", "note", *self._sets))

    def __len__(self) -> int:
        return sum(map(self.is_labelled, self._said))

    def of(self, conversation_id: str) -> Mapping[str, str]:
        """Return the answers about a conversation by question; ``note`` is one of them."""
        return self._said.get(conversation_id, {})

    def is_labelled(self, conversation_id: str) -> bool:
        """Return whether a conversation has a label; a note is none."""
        return bool(self.of(conversation_id).keys() - {"note"})

    def record(self, conversation_id: str, question: str, answer: str | None) -> None:
        """Record an answer; None removes it."""
        self._change(conversation_id, {question: answer or None})

    def clear(self, conversation_id: str) -> None:
        """Remove all answers about a conversation but the note."""
        self._change(conversation_id, dict.fromkeys(self.of(conversation_id).keys() - {"note"}))

    def _change(self, conversation_id: str, changes: Mapping[str, str | None]) -> None:
        # The latest label is the last in the table.
        said = {**self._said.pop(conversation_id, {}), **changes}
        if left := {question: answer for question, answer in said.items() if answer}:
            self._said[conversation_id] = left
        self._at[conversation_id] = datetime.now(UTC)

    def table(self) -> pd.DataFrame:
        """Return all labels, one row per conversation, in the order they were given.

        Label sets that people brought have a column each; ``note`` is there once a note is.
        """
        said = list(self._said.values())

        def column(question: str, kind: Any = "str") -> pd.Series[Any]:
            return pd.Series([one.get(question) for one in said], dtype=kind)

        times = pd.Series([self._at.get(one) for one in self._said], dtype="object")
        table = pd.DataFrame(
            {
                _KEY: pd.Series(list(self._said), dtype="str"),
                COMPLETED: column(COMPLETED, "object").map({"yes": True, "no": False}).astype("boolean"),
                "sentiment": column("sentiment", pd.CategoricalDtype(list(SENTIMENTS))),
                "labelled_at": pd.to_datetime(times, utc=True).astype(pd.DatetimeTZDtype("us", "UTC")),
            }
        )
        for name in dict.fromkeys([*self._sets, *(name for one in said for name in sorted(one))]):
            if name not in (*_FIRST, "note"):
                table[name] = column(name)
        if any("note" in one for one in said):
            table["note"] = column("note")
        table.attrs["promptlift"] = {"table": "labels", "rows": len(table)}
        return table

    def _take(self, table: Any, only: Collection[str]) -> None:
        """Take the answers of a table to some questions."""
        from promptlift.analysis.label_tables import label_records  # noqa: PLC0415  only when labels are given
        from promptlift.analysis.reading import collect, names_of  # noqa: PLC0415

        present = names_of(table)
        if _KEY in present and "question" not in present:
            table = collect(table, [one for one in present if one in (_KEY, "labelled_at", *only)])
        records = label_records(table, labeller="")
        found: dict[str, dict[str, str]] = {str(one): {} for one in collect(table, [_KEY])[_KEY]}
        for row in records:
            one, question, answer = str(row[_KEY]), row["question"], row["value"]
            if question == "sentiment" and answer not in SENTIMENTS:
                raise ConfigError(
                    f"sentiment contains {answer!r:.60}, which is not one of {', '.join(SENTIMENTS)}."
                )
            if question in only:
                found[one][question] = answer
                self._at[one] = row.get("labelled_at") or self._at.get(one)
        self._said = {one: said for one, said in found.items() if said}


class KeptLabels(Labels):
    """Answers of one person, kept by a workspace.

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
        self._lift, self._plan, self._ids = lift, plan, set(ids)
        self._labeller = labeller or lift.labels.labeller
        # What could not be saved yet, by conversation and question.
        self._unsaved: dict[tuple[str, str], str | None] = {}
        kept = lift.labels(labeller=self._labeller, draw_id=None if plan is None else plan.draw_id)
        # The newest are first.
        super().__init__(kept[kept[_KEY].isin(self._ids)][::-1], sets=sets)

    def _change(self, conversation_id: str, changes: Mapping[str, str | None]) -> None:
        super()._change(conversation_id, changes)
        self._unsaved |= {(conversation_id, question): answer for question, answer in changes.items()}
        try:
            self.save()
        except PromptliftError as error:
            raise ConfigError(f"Not saved yet: {one_line(error, 300)}") from error

    def save(self) -> None:
        """Retry saving the labels that could not be saved.

        Raises
        ------
        PromptliftError
            When it still cannot be saved.
        """
        rows = [
            {
                _KEY: one,
                "question": question,
                "value": answer,
                "labelled_at": self._at[one],
                **({} if self._plan is None else self._plan.drawn(one)),
            }
            for (one, question), answer in self._unsaved.items()
            if answer is not None
        ]
        if rows:
            self._lift.labels.add(pd.DataFrame(rows), labeller=self._labeller)
        for (one, question), answer in self._unsaved.items():
            if answer is None:
                self._lift.labels.remove(one, question, labeller=self._labeller)
        self._unsaved.clear()

    @property
    def learns(self) -> bool:
        """Whether a judge can learn from them: where the draw asks whether the task was completed."""
        return self._plan is None or self._plan.question == COMPLETED

    def learn(self) -> str:
        """Learn a judge of completion for each prompt, from all labels that are kept, and return what was learned."""
        self.save()
        kept = self._lift.labels(question=COMPLETED)
        prompts = list(
            dict.fromkeys(kept.loc[kept[_KEY].isin(self._ids), "prompt_id"].dropna().astype("str"))
        )
        said = []
        for prompt in prompts:
            try:
                found = str(self._lift.judges.learn(prompt=prompt))
            except (PromptliftError, ValueError) as error:
                found = str(error)
            said.append(f"{prompt}: {found}" if len(prompts) > 1 else found)
        return " ".join(said)


def keeps_labels(given: Any) -> bool:
    """Return whether labels are to be kept by a workspace: it has a room ``labels``."""
    return hasattr(getattr(given, "labels", None), "labeller")


def answers_by_conversation(labels: Any) -> dict[str, dict[str, str]]:
    """Return what several people answered, in words, by conversation and question."""
    from promptlift.analysis.labeller_agreement import answered  # noqa: PLC0415  only when labels are given

    found: dict[str, dict[str, str]] = {}
    table = answered(labels).drop_duplicates([_KEY, "question", "labeller"])
    for (one, question), rows in table.groupby([_KEY, "question"], sort=False):
        words = " · ".join(
            f"{who}: {said}" for who, said in zip(rows["labeller"], rows["value"], strict=True)
        )
        disputed = " (disputed)" * (len(set(rows["value"])) > 1)
        found.setdefault(str(one), {})[str(question)] = f"{words}{disputed}"
    return found


def checked_sets(given: Mapping[Any, Any]) -> dict[str, tuple[str, ...]]:
    """Return label sets that people brought: names with the values to choose from.

    Raises
    ------
    ConfigError
        When a name is taken, or a set has no texts to choose from; says which.
    """
    for name, values in given.items():
        if not isinstance(name, str) or not name or name in _RESERVED:
            raise ConfigError(f"A label set cannot be named {name!r}; choose another name.")
        if isinstance(values, str) or not values or not all(isinstance(one, str) and one for one in values):
            raise ConfigError(
                f"The label set {name!r} needs a list of texts to choose from, such as ['yes', 'no']."
            )
    return {name: tuple(dict.fromkeys(values)) for name, values in given.items()}
