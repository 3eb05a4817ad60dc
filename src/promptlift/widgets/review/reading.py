"""Read what a review shows: the optimization, its variants, the prompt's current version, notes and actions."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import NotFound, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from promptlift.schema.experiments import LiveExperiment
    from promptlift.schema.optimizations import Variant
    from promptlift.workspace import OptimizationRun, Workspace

    Row = dict[str, Any]

__all__ = [
    "CurrentVersion",
    "Review",
    "read_after_change",
    "read_current_version",
    "read_review",
    "records",
]

# More than a review shows, so that a change can still be undone after many stops.
_ACTIONS: Final = 30


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """The current version of a prompt's text; ``version_id`` is None where the service keeps no versions.

    Two are equal when text and version are: a new name changes nothing.
    """

    name: str = field(compare=False)
    text: str
    version_id: str | None = None


@dataclass(slots=True)
class Review:
    """Everything a review shows, and which parts could not be read."""

    optimization: OptimizationRun
    variants: list[Row]
    about: Row
    current: CurrentVersion | None = None
    simulations: pd.DataFrame | None = None
    candidates: list[Variant] = field(default_factory=list)
    labels: pd.DataFrame | None = None
    verdicts: dict[str, Row] = field(default_factory=dict)
    actions: list[Row] = field(default_factory=list)
    live: LiveExperiment | None = None
    keeps_notes: bool = True
    problems: list[str] = field(default_factory=list)

    def candidate(self, variant_id: str) -> Variant | None:
        """Return a candidate of the search by its id."""
        return next((one for one in self.candidates if one.id == variant_id), None)

    @property
    def original_text(self) -> str:
        """The original text."""
        return next((one["content"] or "" for one in self.variants if one["is_original"]), "")

    @property
    def rehearsal(self) -> bool:
        """Whether the numbers come from the rehearsal model and say nothing about a real prompt."""
        return self.about.get("rehearsal") is True


def read_current_version(lift: Workspace, prompt_id: str, *, name: str | None = None) -> CurrentVersion:
    """Read the current version of a prompt; where the service keeps versions and the name is known, in one request."""
    newest = lift.versions(prompt_id).iloc[0] if lift.reviews.offered() else None
    prompt = lift.client.prompts.get(prompt_id) if newest is None or name is None else None
    if prompt is not None:
        name = one_line(prompt.name, 200) if prompt.name else prompt_id
    if newest is not None:
        text = newest["content"]
        return CurrentVersion(name or "", "" if is_missing(text) else text, newest["version_id"])
    return CurrentVersion(name or "", (prompt and prompt.content) or "")


def read_review(lift: Workspace, optimization_id: str) -> Review:
    """Read everything a review shows.

    Raises
    ------
    PromptliftError
        When the optimization or its variants cannot be read. Any other failure is added to ``problems``.
    """
    review = _read_measurements(lift, optimization_id)
    # The actions first: their list shows whether the service keeps reviews and versions at all.
    _try_part(review, "Notes and actions", lambda: _read_notes(lift, review))
    _try_part(review, "The prompt", lambda: _read_version(lift, review))
    _try_part(review, "The experiment", lambda: _read_live(lift, review))
    return review


def read_after_change(lift: Workspace, review: Review, *, measured: bool = False) -> Review:
    """Read what an apply or an undo changes: the deployment, the current version and the actions; or, ``measured``, a stop.

    A stop changes the measurements and not the prompt. Neither touches the notes.

    Raises
    ------
    PromptliftError
        When one of them cannot be read.
    """
    if measured:
        read = _read_measurements(lift, review.optimization.id)
        changed = replace(read, current=review.current, verdicts=review.verdicts)
    else:
        changed = replace(review, optimization=lift.optimizations[review.optimization.id])
        _read_version(lift, changed)
    _read_actions(lift, changed)
    if review.live is not None:  # an apply ends it
        changed.live = None
        _read_live(lift, changed)
    return changed


def _read_measurements(lift: Workspace, optimization_id: str) -> Review:
    optimization = lift.optimizations[optimization_id]
    rows: list[Row] = []
    about: Row = {"rehearsal": optimization.rehearsal}
    if optimization.status != "queued":
        table = optimization.variants()
        rows, about = records(table), dict(table.attrs["promptlift"])
    review = Review(optimization, rows, about)
    # Only of a search: the table of variants has what it measured, and not its edits.
    if any(row["generation"] is not None for row in rows):
        _try_part(review, "The edits of the search", lambda: _read_candidates(lift, review))
    _try_part(review, "The simulated conversations", lambda: _read_simulations(review))
    if optimization.status == "completed" and review.simulations is not None:
        _try_part(review, "The labels", lambda: _read_labels(lift, review))
    return review


def _read_simulations(review: Review) -> None:
    with contextlib.suppress(NotFound):  # another service has none
        review.simulations = review.optimization.simulations()


def _read_labels(lift: Workspace, review: Review) -> None:
    with contextlib.suppress(NotFound):
        review.labels = lift.labels(optimization_id=review.optimization.id)


def _read_candidates(lift: Workspace, review: Review) -> None:
    candidates = lift.client.optimizations.variants(review.optimization.id).data
    review.candidates = (
        [*candidates] if any(one.search is not None or one.edits for one in candidates) else []
    )


def _read_version(lift: Workspace, review: Review) -> None:
    name = None if review.current is None else review.current.name
    review.current = read_current_version(lift, review.optimization.prompt_id or "", name=name)


def _read_live(lift: Workspace, review: Review) -> None:
    """Read the running experiment of the prompt."""
    prompt_id = review.optimization.prompt_id
    if review.keeps_notes and prompt_id:
        with contextlib.suppress(NotFound):  # a deleted prompt
            newest = lift.client.prompts.experiments(prompt_id, limit=1).data
            if newest and newest[0].status == "running":
                review.live = lift.client.experiments.get(newest[0].id)


def _read_notes(lift: Workspace, review: Review) -> None:
    _read_actions(lift, review)
    if review.keeps_notes:
        review.verdicts = {row["variant_id"]: row for row in records(review.optimization.review())}


def _read_actions(lift: Workspace, review: Review) -> None:
    review.keeps_notes = lift.reviews.offered()
    if not review.keeps_notes:
        return
    # All actions on the prompt, because other optimizations may have changed it since.
    with contextlib.suppress(NotFound):  # a deleted prompt on which nothing was done
        review.actions = records(lift.actions(review.optimization.prompt_id).head(_ACTIONS))


def _try_part(review: Review, what: str, read: Callable[[], None]) -> None:
    try:
        read()
    except PromptliftError as error:
        review.problems.append(f"{what} could not be read: {error}")


def records(table: pd.DataFrame) -> list[Row]:
    """Return the rows as plain values; missing ones are None."""
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
