"""The labels that people give conversations, as a table and in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pandas as pd

from promptlift.atomic_write import atomic_write
from promptlift.errors import ConfigError, FrameError
from promptlift.schema.insights import SENTIMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["COLUMNS", "Label", "Labels", "checked_sets", "read_labels", "write_labels"]

COLUMNS: Final[dict[str, Any]] = {
    "conversation_id": "str",
    "task_completed": "boolean",
    "sentiment": pd.CategoricalDtype(list(SENTIMENTS)),
    "labelled_at": pd.DatetimeTZDtype("us", "UTC"),
}
_SUFFIXES: Final = (".csv", ".parquet")
# A spreadsheet reads a cell that starts like this as a formula; an apostrophe before it makes it text.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Label:
    """A person's label of one conversation; None where it has no value."""

    task_completed: bool | None = None
    sentiment: str | None = None
    labelled_at: datetime | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    """Values of the label sets that people brought themselves, by the name of the set."""
    note: str = ""

    @property
    def completion(self) -> Literal["yes", "no"] | None:
        """The label of the task completion as `Catalogue.completions` writes it."""
        return None if self.task_completed is None else "yes" if self.task_completed else "no"

    @property
    def unlabelled(self) -> bool:
        """Whether it has no label; a note is none."""
        return self.task_completed is None and self.sentiment is None and not self.own

    @property
    def empty(self) -> bool:
        """Whether it has no value at all."""
        return self.unlabelled and not self.note


class Labels:
    """Labels by conversation, saved to a file (when there is one) after every change.

    Parameters
    ----------
    given
        Labels to start with: a table with conversation_id and task_completed or sentiment, or the path of a CSV or
        Parquet file, which need not exist yet.
    sets
        Names of the label sets that people brought themselves; each is a column. Others that the file has are kept.
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
        self._clock = clock
        self._sets = tuple(sets)
        self.path: Path | None = None
        self._seen: tuple[int, int] | None = None
        self._by_id: dict[str, Label] = {}
        if isinstance(given, str | os.PathLike):
            self.path = _checked(Path(given))
            self._load()
        elif given is not None:
            self._by_id = _from_table(given, "labels", self._sets)

    def __len__(self) -> int:
        return sum(not label.unlabelled for label in self._by_id.values())

    def get(self, conversation_id: str) -> Label:
        """Return the label of a conversation; an empty one when it has none."""
        return self._by_id.get(conversation_id, Label())

    def record(
        self,
        conversation_id: str,
        field: str,
        value: Any,
    ) -> None:
        """Record one value of a conversation's label; None removes it.

        Parameters
        ----------
        conversation_id
            The conversation.
        field
            ``task_completed``, ``sentiment``, ``note``, the name of a label set, or ``both``: all labels, not the note.
        value
            The value.

        Raises
        ------
        ConfigError
            When the file cannot be written or was overwritten with something else; the label is still kept in memory.
        """
        changed_by_others = None
        if self.path is not None and _state_of(self.path) not in (self._seen, None):
            try:  # another notebook, or an earlier run of this cell
                self._load()
            except ConfigError as error:
                changed_by_others = error
        now = self._clock()
        before = self.get(conversation_id)
        if field in {"task_completed", "sentiment"}:
            label = replace(before, **{field: value}, labelled_at=now)
        elif field == "note":
            label = replace(before, note=value or "", labelled_at=now)
        elif field == "both":
            label = replace(Label(), note=before.note, labelled_at=before.labelled_at)
        else:
            others = {name: one for name, one in before.own.items() if name != field}
            label = replace(
                before, own=others if value is None else {**others, field: value}, labelled_at=now
            )
        # The latest label is the last in the table.
        self._by_id.pop(conversation_id, None)
        if not label.empty:
            self._by_id[conversation_id] = label
        if changed_by_others is not None:
            raise changed_by_others
        self._write()

    @property
    def learns(self) -> bool:
        """Whether a judge can learn from them."""
        return False

    def learn(self) -> str:
        """Learn a judge of completion from the labels and say what was learned: only labels that a service keeps can do that."""
        return ""

    def save(self) -> None:
        """Try again to write what could not be written.

        Raises
        ------
        PromptliftError
            When it still cannot be written.
        """
        self._write()

    def _write(self) -> None:
        if self.path is not None:
            self._seen = _state_of(write_labels(self.table(), self.path))

    def table(self) -> pd.DataFrame:
        """Return all labels, one row per conversation, in the order they were given.

        Label sets that people brought have a column each; ``note`` is there once a note is.
        """
        labels = list(self._by_id.values())
        columns: dict[str, Any] = {
            "conversation_id": list(self._by_id),
            **{
                name: [getattr(label, name) for label in labels]
                for name in COLUMNS
                if name != "conversation_id"
            },
        }
        table = pd.DataFrame({name: pd.Series(columns[name], dtype=kind) for name, kind in COLUMNS.items()})
        for name in dict.fromkeys([*self._sets, *(name for label in labels for name in label.own)]):
            table[name] = pd.Series([label.own.get(name) for label in labels], dtype="str")
        if any(label.note for label in labels):
            table["note"] = pd.Series([label.note or None for label in labels], dtype="str")
        table.attrs["promptlift"] = {"table": "labels", "rows": len(table)}
        return table

    def _load(self) -> None:
        if self.path is None or (state := _state_of(self.path)) is None:
            return
        self._by_id = _from_table(read_labels(self.path), self.path.name, self._sets)
        self._seen = state


def checked_sets(given: Mapping[Any, Any]) -> dict[str, tuple[str, ...]]:
    """Return label sets that people brought: names with the values to choose from.

    Raises
    ------
    ConfigError
        When a name is taken, or a set has no texts to choose from; says which.
    """
    sets = {}
    for name, values in given.items():
        if not isinstance(name, str) or not name or name in {*COLUMNS, "both", "learn", "note"}:
            raise ConfigError(f"A label set cannot be named {name!r}; choose another name.")
        if isinstance(values, str) or not values or not all(isinstance(one, str) and one for one in values):
            raise ConfigError(
                f"The label set {name!r} needs a list of texts to choose from, such as ['yes', 'no']."
            )
        sets[name] = tuple(dict.fromkeys(values))
    return sets


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


def _from_table(given: Any, name: str, sets: Sequence[str]) -> dict[str, Label]:
    from promptlift.analysis.reading import collect, names_of  # noqa: PLC0415  narwhals, only when labels are given

    present = names_of(given)
    values = [column for column in ("task_completed", "sentiment", "note") if column in present]
    # Every other column of a file is a label set, so that nothing that somebody saved is lost.
    own = [
        column
        for column in present
        if column not in COLUMNS and column != "note" and (column in sets or name != "labels")
    ]
    if "conversation_id" not in present or not (values or own):
        missing = [
            column for column in ("conversation_id", "task_completed", "sentiment") if column not in present
        ]
        raise FrameError(
            missing, present, hint="Labels need conversation_id, and task_completed, sentiment or both."
        )
    frame = collect(
        given, ["conversation_id", *values, *own, *(["labelled_at"] if "labelled_at" in present else [])]
    )
    found: dict[str, Label] = {}
    for row in frame.to_dict("records"):
        label = Label(
            _boolean(row.get("task_completed"), name),
            _sentiment(row.get("sentiment"), name),
            _time(row.get("labelled_at")),
            {column: str(row[column]) for column in own if not _is_blank(row[column])},
            "" if _is_blank(row.get("note")) else str(row["note"]),
        )
        if not label.empty and not pd.isna(row["conversation_id"]):
            found.pop(str(row["conversation_id"]), None)
            found[str(row["conversation_id"])] = label
    return found


def _is_blank(value: Any) -> bool:
    return value is None or pd.isna(value) or value == ""


def _boolean(value: Any, name: str) -> bool | None:
    if _is_blank(value):
        return None
    known = _BOOLEANS.get(str(value).strip().lower().removesuffix(".0"))
    if known is None:
        raise ConfigError(f"{name}: task_completed contains {value!r:.60}, which is neither true nor false.")
    return known


def _sentiment(value: Any, name: str) -> str | None:
    if _is_blank(value):
        return None
    if value not in SENTIMENTS:
        raise ConfigError(
            f"{name}: sentiment contains {value!r:.60}, which is not one of {', '.join(SENTIMENTS)}."
        )
    return str(value)


def _time(value: Any) -> datetime | None:
    if _is_blank(value):
        return None
    time = pd.Timestamp(value)
    aware = time.tz_localize("UTC") if time.tzinfo is None else time.tz_convert("UTC")
    return aware.as_unit("us").to_pydatetime()


def read_labels(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read labels written by `write_labels`.

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
    for name in frame.columns.difference(["task_completed", "sentiment", "labelled_at"]):
        frame[name] = frame[name].str.removeprefix("'")
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
    texts = table.columns.difference(["task_completed", "sentiment", "labelled_at"])
    inert = table.assign(
        **{
            name: [
                f"'{one}" if known and one.startswith(_FORMULA) else one
                for one, known in zip(table[name], table[name].notna(), strict=True)
            ]
            for name in texts
        },
        labelled_at=[
            one.isoformat() if known else ""
            for one, known in zip(table["labelled_at"], table["labelled_at"].notna(), strict=True)
        ],
    )
    return inert.to_csv(index=False, lineterminator="\n")
