"""What people say of conversations: kept after every change, by a workspace or in a file."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.atomic_write import atomic_write
from promptlift.errors import ConfigError, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from promptlift.widgets.browser.plan import Plan

__all__ = [
    "COMPLETED",
    "KeptLabels",
    "Labels",
    "answers_by_conversation",
    "checked_sets",
    "keeps_labels",
    "read_labels",
    "write_labels",
]

COMPLETED: Final = "task_completed"
_KEY: Final = "conversation_id"
_FIRST: Final = (COMPLETED, "sentiment", "labelled_at")
_RESERVED: Final = frozenset((_KEY, *_FIRST, "note", "learn"))
_SUFFIXES: Final = (".csv", ".parquet")
# A spreadsheet reads a cell that starts like this as a formula; an apostrophe before it makes it text.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


class Labels:
    """Answers by conversation and question, all in words; in a file, when there is one, after every change.

    Parameters
    ----------
    given
        Answers to start with: a table of labels, long or wide, or the path of a CSV or Parquet file, which need not exist
        yet.
    sets
        Names of the label sets that people brought themselves. Others that a file has are kept.
    clock
        Returns the time of a label.
    """

    def __init__(
        self,
        given: Any = None,
        *,
        sets: Sequence[str] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock, self._sets = clock, tuple(sets)
        self.path: Path | None = None
        self._seen: tuple[int, int] | None = None
        self._said: dict[str, dict[str, str]] = {}
        self._at: dict[str, Any] = {}
        # What a file says of each conversation beside the answers, such as the chance of a draw.
        self._rest = pd.DataFrame({_KEY: pd.Series([], dtype="str")})
        if isinstance(given, str | os.PathLike):
            self.path = _checked(Path(given))
            self._load()
        elif given is not None:
            self._take(given, only=(COMPLETED, "sentiment", "note", *self._sets))

    def __len__(self) -> int:
        return sum(map(self.is_labelled, self._said))

    def of(self, conversation_id: str) -> Mapping[str, str]:
        """Return the answers about a conversation by question; ``note`` is one of them."""
        return self._said.get(conversation_id, {})

    def is_labelled(self, conversation_id: str) -> bool:
        """Return whether a conversation has a label; a note is none."""
        return bool(self.of(conversation_id).keys() - {"note"})

    def record(self, conversation_id: str, question: str, answer: str | None) -> None:
        """Record an answer and save it; None removes it.

        Raises
        ------
        ConfigError
            When it cannot be saved, or the file was overwritten with something else; it is still kept in memory.
        """
        self._change(conversation_id, {question: answer or None})

    def clear(self, conversation_id: str) -> None:
        """Remove all answers about a conversation but the note."""
        self._change(conversation_id, dict.fromkeys(self.of(conversation_id).keys() - {"note"}))

    def _change(self, conversation_id: str, changes: Mapping[str, str | None]) -> None:
        problem = None
        if self.path is not None and _state_of(self.path) not in (self._seen, None):
            try:  # another notebook, or an earlier run of this cell
                self._load()
            except PromptliftError as error:
                problem = error
        # The latest label is the last in the table.
        said = {**self._said.pop(conversation_id, {}), **changes}
        if left := {question: answer for question, answer in said.items() if answer}:
            self._said[conversation_id] = left
        self._at[conversation_id] = self._clock()
        if problem is not None:
            raise problem
        self._keep(conversation_id, changes)

    def _keep(self, conversation_id: str, changes: Mapping[str, str | None]) -> None:
        del conversation_id, changes
        self.save()

    def save(self) -> None:
        """Retry saving the labels that could not be saved.

        Raises
        ------
        PromptliftError
            When it still cannot be saved.
        """
        if self.path is not None:
            table = self.table().merge(self._rest, how="left", on=_KEY)
            self._seen = _state_of(write_labels(table, self.path))

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

    def _load(self) -> None:
        if self.path is None or (state := _state_of(self.path)) is None:
            return
        table = read_labels(self.path)
        if "question" in table:
            raise ConfigError(
                f"{self.path.name} has one row per answer. Read it, and pass the table as labels."
            )
        try:
            self._take(table)
        except ConfigError as error:
            raise ConfigError(f"{self.path.name}: {error}") from error
        rest = table[table.columns.intersection([_KEY, "labeller", "chance", "draw_id"])]
        self._rest, self._seen = rest.drop_duplicates(_KEY), state

    def _take(self, table: Any, only: Collection[str] = ()) -> None:
        """Take the answers of a table, long or wide; of a file all, so that nothing that somebody saved is lost."""
        from promptlift.analysis.label_tables import label_records  # noqa: PLC0415  only when labels are given
        from promptlift.analysis.reading import collect, names_of  # noqa: PLC0415

        present = names_of(table)
        if only and _KEY in present and "question" not in present:
            table = collect(table, [one for one in present if one in (_KEY, "labelled_at", *only)])
        records = label_records(table, labeller="")
        found: dict[str, dict[str, str]] = {str(one): {} for one in collect(table, [_KEY])[_KEY]}
        times: dict[str, Any] = {}
        for row in records:
            one, question, answer = str(row[_KEY]), row["question"], row["value"]
            if question == "sentiment" and answer not in SENTIMENTS:
                raise ConfigError(
                    f"sentiment contains {answer!r:.60}, which is not one of {', '.join(SENTIMENTS)}."
                )
            if not only or question in only:
                found[one][question] = answer
                times[one] = row.get("labelled_at") or times.get(one)
        self._said, self._at = {one: said for one, said in found.items() if said}, times


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

    def _keep(self, conversation_id: str, changes: Mapping[str, str | None]) -> None:
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


def _checked(path: Path) -> Path:
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"Labels are saved as .csv or .parquet, not as {path.name!r}.")
    path = path.resolve()
    if not path.parent.is_dir():
        raise ConfigError(f"There is no folder {str(path.parent)!r} for the labels. Create it first.")
    return path


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def read_labels(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read labels written by `write_labels`, or by hand.

    Parameters
    ----------
    path
        A ``.csv`` or ``.parquet`` file.

    Raises
    ------
    ConfigError
        When the file cannot be read.
    """
    file = _checked(Path(path))
    try:
        if file.suffix.lower() == ".parquet":
            return pd.read_parquet(file)
        frame = pd.read_csv(file, dtype="str", keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigError(f"The labels in {file.name} cannot be read: {error}") from error
    for name in frame.columns.difference([*_FIRST]):
        frame[name] = frame[name].str.removeprefix("'")
    answers = frame.columns.difference([_KEY])
    frame[answers] = frame[answers].where(frame[answers] != "")
    return frame


def write_labels(table: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write labels to a file, which is replaced in one step.

    In CSV a text that a spreadsheet would read as a formula gets an apostrophe before it; `read_labels` removes it.

    Parameters
    ----------
    table
        Labels as returned by `Labels.table`.
    path
        A ``.csv`` or ``.parquet`` file.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ConfigError
        When the file cannot be written.
    """
    file = _checked(Path(path))
    try:
        if file.suffix.lower() == ".parquet":
            atomic_write(file, table.to_parquet(index=False))
        else:
            atomic_write(file, _csv(table).encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError(f"The labels cannot be written to {file}: {error.strerror or error}.") from error
    return file


def _csv(table: pd.DataFrame) -> str:
    texts = table.columns.difference([*_FIRST])
    inert = {
        name: table[name].map(
            lambda one: f"'{one}" if isinstance(one, str) and one.startswith(_FORMULA) else one
        )
        for name in texts
    }
    when = table["labelled_at"].map(lambda one: one.isoformat(), na_action="ignore")
    return table.assign(**inert, labelled_at=when).to_csv(index=False, lineterminator="\n")
