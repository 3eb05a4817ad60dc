"""Gather the data of a report from its source: one table, the names of the prompts, and its completeness."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.analysis.corrected import as_labelled
from promptlift.analysis.reading import (
    basis_of,
    check_prompts,
    collect,
    facts_of,
    names_of,
    weakest_agreement,
)
from promptlift.errors import FrameError, NotFound
from promptlift.report.document import Column
from promptlift.report.redaction import repeats
from promptlift.schema.basis import weakest
from promptlift.schema.inert import one_line
from promptlift.words.names import distinct_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from promptlift.report.document import Field
    from promptlift.report.period import Window
    from promptlift.schema.experiments import LiveExperiment

GROUP: Final = "prompt"
PROMPT: Final[Field] = (Column("prompt", "Prompt"), itemgetter(GROUP))
"""The field that names the prompt of a row."""
_NEEDED: Final = ("status", "task_completed", "sentiment", "sentiment_score", "issues")
_HINT: Final = "Read the table with lift.conversations(prompt_id=…, insights=True)."
_NAME_CHARS: Final = 400
# As long as a sentence can hold.
_NAME_WIDTH: Final = 48
MAX_OPTIMIZATIONS: Final = 20
"""Most optimizations whose variants are read."""


@dataclass(frozen=True)
class Provenance:
    """The completeness of the data as the source reports it; ``changed`` when the table was modified after it was read."""

    rows: int
    total: int | None
    complete: bool | None
    deleted: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    changed: bool = False


@dataclass(frozen=True)
class Material:
    """The data of a report.

    Attributes
    ----------
    conversations
        One row per conversation; the column ``prompt`` has the name shown.
    earlier
        The conversations of the period before, with the same columns; ``None`` when the report has no such period.
    names
        The names shown of the prompts, in the requested order.
    prompts
        What is known about each prompt, by the name shown.
    content_of
        Returns the transcript of a conversation, or ``None`` when there is none.
    optimizations, variants
        The optimizations of the prompts in the period; ``None`` when the source has none to offer.
    edits
        The edits of their searches.
    labels
        Labels of people that correct the judge; ``None`` without any, and where they are the outcome of every conversation.
    labels_of_simulations
        All of them, which correct the lifts of simulations.
    simulations
        The simulated conversations of the optimizations with labels, by the optimization.
    experiments
        Versions side by side on real users, the newest of each prompt, if it ran in the period.
    """

    conversations: pd.DataFrame
    names: tuple[str, ...]
    prompts: dict[str, dict[str, Any]]
    provenance: Provenance
    content_of: Callable[[str], str | None]
    optimizations: pd.DataFrame | None = None
    variants: pd.DataFrame = field(default_factory=pd.DataFrame)
    edits: pd.DataFrame = field(default_factory=pd.DataFrame)
    earlier: pd.DataFrame | None = None
    labels: Any = None
    labels_of_simulations: Any = None
    simulations: dict[str, pd.DataFrame] = field(default_factory=dict)
    experiments: tuple[LiveExperiment, ...] = ()

    def name_of(self, prompt_id: Any) -> str:
        """Return the name shown of a prompt."""
        return next(
            (name for name, prompt in self.prompts.items() if prompt.get("prompt_id") == prompt_id), "–"
        )

    def naming(self, field: Field) -> tuple[Field, ...]:
        """Return the field that names the prompt of a row when there are several prompts, else nothing."""
        return (field,) if self.compared else ()

    def groups(self, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
        """Return the rows of each prompt of a result by its name."""
        if not self.compared:
            return [(self.names[0], table)]
        return [(name, table[table[GROUP] == name]) for name in dict.fromkeys(table[GROUP])]

    @property
    def compared(self) -> bool:
        """Whether the report is about several prompts."""
        return len(self.names) > 1

    @property
    def comparable(self) -> bool:
        """Whether the prompts have words of their texts in common, as far as these are known."""
        first, *others = (text_of(prompt.get("content")) for prompt in self.prompts.values())
        return not (first and all(others)) or all(repeats(one, first) for one in others)

    @property
    def by(self) -> str | None:
        """The group column when there are several prompts, else None."""
        return GROUP if self.compared else None


def gather(
    source: Any, prompt_id: str | Sequence[str] | None, window: Window, labels: Any = None
) -> Material:
    """Gather the data of a report from a source.

    Parameters
    ----------
    source
        A workspace, or a conversations table with insights.
    prompt_id
        A prompt's name or id, several to compare, or ``None`` for all conversations of a table. A table has ids only.
    window
        The period of the report.
    labels
        Labels of people, or None.

    Raises
    ------
    FrameError
        When a table lacks a column.
    NotFound
        When the service has no such prompt; the message suggests similar names.
    TypeError
        When the source is neither a workspace nor a pandas table.
    ValueError
        When ``prompt_id`` names nothing, or a table has no row of it.
    """
    ids = _ids(prompt_id)
    if not isinstance(source, pd.DataFrame) and not hasattr(source, "conversations"):
        raise TypeError(
            f"A report is made from a workspace (promptlift.connect) or a pandas table of lift.conversations("
            f"insights=True), not from {type(source).__name__}."
        )
    if isinstance(source, pd.DataFrame):
        frames, known = _split(source, ids), {}
        if ids != [None] and not any(map(len, frames)):
            check_prompts(source, [one for one in ids if one is not None])
        content_of = _table_contents(source)
        read = [source]
    else:
        from promptlift.workspace.prompt_names import id_of  # noqa: PLC0415  a report of a table needs no client

        ids = list(dict.fromkeys(None if one is None else id_of(source, one) for one in ids))
        known = _known_prompts(source, ids)
        frames = [source.conversations(prompt_id=one, insights=True, content=False) for one in ids]
        content_of = _service_contents(source)
        read = frames
    names = _names(ids, known)
    analysers = {facts_of(frame).get("analyser") for frame in frames if len(frame)}
    analysers.discard(None)
    analyser = analysers.pop() if len(analysers) == 1 else "mixed" if analysers else None
    basis = weakest(basis_of(frame) for frame in frames if len(frame))
    attrs: dict[Hashable | None, Any] = {}
    if analyser:
        judged = {"table": "conversations", "analyser": analyser, "basis": basis}
        attrs["promptlift"] = judged | weakest_agreement(frames)
    prompts = {name: known.get(one or "", {}) for one, name in zip(ids, names, strict=True)}
    tried, variants = _optimizations(source, ids, window)
    material = Material(
        _inside(frames, names, window, attrs),
        tuple(names),
        prompts,
        _provenance(read),
        content_of,
        tried,
        variants,
        _edits(source, variants),
        None if window.previous is None else _inside(frames, names, window.previous, attrs),
        experiments=_experiments(source, ids, window),
    )
    return material if labels is None else _with_labels(source, material, labels)


def _with_labels(source: Any, material: Material, labels: Any) -> Material:
    """Add labels of people, and read the simulated conversations that some of them are of.

    Parameters
    ----------
    source
        A workspace, or a conversations table with insights.
    material
        The data of the report.
    labels
        Table of labels.
    """
    tried, found = material.optimizations, {}
    if tried is not None and not isinstance(source, pd.DataFrame):
        completed = tried.loc[tried["status"].astype("str") == "completed", "optimization_id"]
        # Labels that do not say what they are of may be of any.
        named = "optimization_id" in names_of(labels)
        mine = set(collect(labels, ["optimization_id"])["optimization_id"]) if named else set(completed)
        for one in completed.head(MAX_OPTIMIZATIONS):
            if one in mine:
                with suppress(NotFound):  # a service without simulated conversations
                    found[str(one)] = source.optimizations[one].simulations()
    material = replace(material, labels=labels, labels_of_simulations=labels, simulations=found)
    periods = {
        name: as_labelled(table, labels)
        for name in ("conversations", "earlier")
        if (table := getattr(material, name)) is not None and len(table)
    }
    if not periods or any(correcting is not None for _, correcting in periods.values()):
        return material
    tables: dict[str, Any] = {name: table for name, (table, _) in periods.items()}
    return replace(material, labels=None, **tables)


def _inside(
    frames: list[pd.DataFrame], names: list[str], window: Window, attrs: dict[Hashable | None, Any]
) -> pd.DataFrame:
    """Return the conversations of a period in one table, with the name of their prompt."""
    parts = [
        _of_period(frame, window).assign(**{GROUP: name}) for frame, name in zip(frames, names, strict=True)
    ]
    # Empty tables would only change dtypes.
    filled = [part for part in parts if len(part)]
    table = (
        pd.concat(filled, ignore_index=True)
        if len(filled) > 1
        else (filled or parts)[0].reset_index(drop=True)
    )
    table.attrs = attrs
    return table


def _optimizations(
    source: Any, ids: list[str | None], window: Window
) -> tuple[pd.DataFrame | None, pd.DataFrame]:
    """Read the optimizations of the prompts and their variants, where the source has them."""
    if isinstance(source, pd.DataFrame) or not (
        hasattr(source, "optimizations") and hasattr(source, "variants")
    ):
        return None, pd.DataFrame()
    read = [source.optimizations(prompt_id=one) for one in ids]
    filled = [table for table in read if len(table)]
    tried = pd.concat(filled, ignore_index=True) if filled else read[0]
    tried = tried[window.contains(tried["created_at"])].sort_values(
        "created_at", ascending=False, kind="stable"
    )
    caveats = [facts_of(table).get("completeness") for table in read]
    tried.attrs = {"completeness": next(filter(None, caveats), None)}
    begun = tried[tried["status"].astype("str") != "queued"]["optimization_id"].head(MAX_OPTIMIZATIONS)
    return tried, source.variants(list(begun)) if len(begun) else pd.DataFrame()


def _experiments(source: Any, ids: list[str | None], window: Window) -> tuple[LiveExperiment, ...]:
    """Read the newest experiment of each prompt, if it ran in the period, where the source has them."""
    found: list[LiveExperiment] = []
    for one in ids if hasattr(source, "live") else ():
        with suppress(NotFound):  # a service without experiments
            for newest in [] if one is None else source.client.prompts.experiments(one, limit=1).data:
                begun = window.end is None or newest.created_at < window.end
                over = (
                    window.start is not None
                    and newest.ended_at is not None
                    and newest.ended_at < window.start
                )
                if begun and not over:
                    found.append(source.client.experiments.get(newest.id))
    return tuple(found)


def _edits(source: Any, variants: pd.DataFrame) -> pd.DataFrame:
    """Read the edits of the optimizations whose winner comes from a search."""
    if not hasattr(source, "edits") or "generation" not in variants:
        return pd.DataFrame()
    found = variants["is_winner"].fillna(value=False) & variants["generation"].notna()
    searched = list(dict.fromkeys(variants.loc[found, "optimization_id"]))
    return source.edits(searched) if searched else pd.DataFrame()


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def text_of(value: Any) -> str:
    """Return a text of a table, empty where it has none."""
    return value if isinstance(value, str) else ""


def whole_of(value: Any) -> int | None:
    """Return a whole number of a table."""
    return None if pd.isna(value) else int(value)


def _ids(prompt_id: str | Sequence[str] | None) -> list[str | None]:
    if prompt_id is None:
        return [None]
    given: list[Any] = [prompt_id] if isinstance(prompt_id, str) else list(dict.fromkeys(prompt_id))
    if not given or any(not isinstance(one, str) or not one for one in given):
        raise ValueError(
            f"prompt_id={prompt_id!r} names no prompt. Pass a name or an id from lift.prompts(), or a list to compare."
        )
    return [*given]


def _split(table: pd.DataFrame, ids: list[str | None]) -> list[pd.DataFrame]:
    needed = [*_NEEDED, "conversation_id", *(["prompt_id"] if ids != [None] else [])]
    present = [str(name) for name in table.columns]
    missing = [name for name in needed if name not in present]
    if missing:
        raise FrameError(missing, present, hint=_HINT)
    table = table.drop(columns="content", errors="ignore")
    return [table if one is None else table[table["prompt_id"] == one] for one in ids]


def _known_prompts(source: Any, ids: list[str | None]) -> dict[str, dict[str, Any]]:
    table = source.prompts()
    known = {str(row["prompt_id"]): row for row in table.to_dict("records")}
    for one in ids:
        if one is not None:  # the list of prompts has neither objectives nor texts
            prompt = source.client.prompts.get(one)
            known.setdefault(one, {"prompt_id": one, "name": prompt.name}).update(
                objective=prompt.objective, content=prompt.content
            )
    return known


def _names(ids: list[str | None], known: dict[str, dict[str, Any]]) -> list[str]:
    """Return the names to show: long ones are cut by what tells them apart, equal ones have their id."""
    given = [
        "All conversations"
        if one is None
        else one_line(known.get(one, {}).get("name") or one, _NAME_CHARS) or one
        for one in ids
    ]
    often = Counter(given)
    return distinct_lines(
        [
            name if often[name] == 1 else f"{name} ({one_line(one, 24)})"
            for name, one in zip(given, ids, strict=True)
        ],
        _NAME_WIDTH,
    )


def _of_period(table: pd.DataFrame, window: Window) -> pd.DataFrame:
    if window.start is None and window.end is None:
        return table
    times = [name for name in ("started_at", "created_at") if name in table.columns]
    if not times:
        raise FrameError(
            ["started_at"], [str(name) for name in table.columns], hint="A period needs a column of times."
        )
    started = pd.to_datetime(table[times[0]], utc=True)
    if len(times) > 1:
        started = started.fillna(pd.to_datetime(table[times[1]], utc=True))
    return table[window.contains(started)]


def _provenance(tables: list[pd.DataFrame]) -> Provenance:
    facts, rows = [facts_of(table) for table in tables], [len(table) for table in tables]
    if not all(facts):
        return Provenance(sum(rows), None, None)
    # A table keeps its attrs when rows are removed or added; then they describe another table.
    changed = any(one.get("rows", count) != count for one, count in zip(facts, rows, strict=True))
    totals = [one["total"] for one in facts if isinstance(one.get("total"), int)]
    warnings: Counter[str] = Counter()
    for one in facts:
        warnings.update(one.get("warnings") or {})
    states = [one.get("complete") for one in facts]
    return Provenance(
        rows=sum(rows),
        total=sum(totals) if len(totals) == len(facts) and not changed else None,
        complete=None if None in states or changed else all(map(bool, states)),
        deleted=sum(int(one.get("deleted_meanwhile") or 0) for one in facts),
        warnings=dict(warnings),
        changed=changed,
    )


def _table_contents(table: pd.DataFrame) -> Callable[[str], str | None]:
    if "content" not in table.columns:
        return lambda _: None

    def content_of(conversation_id: str) -> str | None:
        found = table.loc[table["conversation_id"] == conversation_id, "content"]
        return found.iloc[0] if len(found) and isinstance(found.iloc[0], str) else None

    return content_of


def _service_contents(source: Any) -> Callable[[str], str | None]:
    def content_of(conversation_id: str) -> str | None:
        try:
            content = source.client.conversations.get(conversation_id).content
        except NotFound:  # deleted since the list was read
            return None
        return content if isinstance(content, str) else None

    return content_of
