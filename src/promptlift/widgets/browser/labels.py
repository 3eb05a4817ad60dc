"""The labels that people give conversations, as a table and in a file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pandas as pd

from promptlift.atomic_write import atomic_write
from promptlift.errors import ConfigError, FrameError
from promptlift.schema.insights import SENTIMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COLUMNS", "Label", "Labels", "read_labels", "write_labels"]

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

    @property
    def completion(self) -> Literal["yes", "no"] | None:
        """The label of the task completion as `Catalogue.completions` writes it."""
        return None if self.task_completed is None else "yes" if self.task_completed else "no"

    @property
    def empty(self) -> bool:
        """Whether it has no value at all."""
        return self.task_completed is None and self.sentiment is None


class Labels:
    """Labels by conversation, saved to a file (when there is one) after every change.

    Parameters
    ----------
    given
        Labels to start with: a table with conversation_id and task_completed or sentiment, or the path of a CSV or
        Parquet file, which need not exist yet.
    clock
        Returns the time of a label.
    """

    def __init__(
        self, given: Any = None, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self.path: Path | None = None
        self._seen: tuple[int, int] | None = None
        self._by_id: dict[str, Label] = {}
        if isinstance(given, str | os.PathLike):
            self.path = _checked(Path(given))
            self._load()
        elif given is not None:
            self._by_id = _from_table(given, "labels")

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, conversation_id: str) -> Label:
        """Return the label of a conversation; an empty one when it has none."""
        return self._by_id.get(conversation_id, Label())

    def record(
        self,
        conversation_id: str,
        field: Literal["task_completed", "sentiment", "both"],
        value: Any,
    ) -> None:
        """Record one value of a conversation's label; None removes it.

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
        if field == "task_completed":
            label = replace(before, task_completed=value, labelled_at=now)
        elif field == "sentiment":
            label = replace(before, sentiment=value, labelled_at=now)
        else:
            label = Label()
        # The latest label is the last in the table.
        self._by_id.pop(conversation_id, None)
        if not label.empty:
            self._by_id[conversation_id] = label
        if changed_by_others is not None:
            raise changed_by_others
        if self.path is not None:
            self._seen = _state_of(write_labels(self.table(), self.path))

    def table(self) -> pd.DataFrame:
        """Return all labels, one row per conversation, in the order they were given."""
        rows = [{"conversation_id": name, **asdict(label)} for name, label in self._by_id.items()]
        table = pd.DataFrame(
            {name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in COLUMNS.items()}
        )
        table.attrs["promptlift"] = {"table": "labels", "rows": len(table)}
        return table

    def _load(self) -> None:
        if self.path is None or (state := _state_of(self.path)) is None:
            return
        self._by_id = _from_table(read_labels(self.path), self.path.name)
        self._seen = state


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


def _from_table(given: Any, name: str) -> dict[str, Label]:
    from promptlift.analysis.reading import collect, names_of  # noqa: PLC0415  narwhals, only when labels are given

    present = names_of(given)
    values = [column for column in ("task_completed", "sentiment") if column in present]
    if "conversation_id" not in present or not values:
        missing = [
            column for column in ("conversation_id", "task_completed", "sentiment") if column not in present
        ]
        raise FrameError(
            missing, present, hint="Labels need conversation_id, and task_completed, sentiment or both."
        )
    frame = collect(
        given, ["conversation_id", *values, *(["labelled_at"] if "labelled_at" in present else [])]
    )
    found: dict[str, Label] = {}
    for row in frame.to_dict("records"):
        label = Label(
            _boolean(row.get("task_completed"), name),
            _sentiment(row.get("sentiment"), name),
            _time(row.get("labelled_at")),
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
    if "conversation_id" in frame:
        frame["conversation_id"] = frame["conversation_id"].str.removeprefix("'")
    return frame


def write_labels(table: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write labels to a file, which is replaced in one step.

    In CSV an id that a spreadsheet would read as a formula gets an apostrophe before it; `read_labels` removes it.

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
    inert = table.assign(
        conversation_id=[f"'{one}" if one.startswith(_FORMULA) else one for one in table["conversation_id"]],
        labelled_at=[
            one.isoformat() if known else ""
            for one, known in zip(table["labelled_at"], table["labelled_at"].notna(), strict=True)
        ],
    )
    return inert.to_csv(index=False, lineterminator="\n")
