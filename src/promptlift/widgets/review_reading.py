"""What a review needs, read from a workspace: the optimization, its variants, the live text, notes and actions."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptlift.errors import ApiError, NotFound, PromptliftError
from promptlift.schema.inert import one_line

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.schema.optimizations import Optimization
    from promptlift.workspace import Workspace

    Row = dict[str, Any]

__all__ = ["Live", "Review", "read_live", "read_notes", "read_review"]


@dataclass(frozen=True, slots=True)
class Live:
    """The live text of a prompt. Two are the same when nobody changed the prompt between them."""

    name: str
    text: str
    version_id: str | None = None

    def same_as(self, other: Live) -> bool:
        """Tell whether the same text is live, and, where the service has versions, the same version."""
        return (self.text, self.version_id) == (other.text, other.version_id)


@dataclass(slots=True)
class Review:
    """Everything that is shown of an optimization, and what could not be read."""

    optimization: Optimization
    variants: list[Row]
    about: Row
    live: Live | None
    simulations: pd.DataFrame | None
    said: dict[str, Row] = field(default_factory=dict)
    actions: list[Row] = field(default_factory=list)
    kept_in_file: bool = False
    problems: list[str] = field(default_factory=list)

    def variant(self, variant_id: str) -> Row | None:
        """Give a variant by its id."""
        return next((one for one in self.variants if one["variant_id"] == variant_id), None)

    @property
    def original(self) -> Row | None:
        """The variant that is the original text."""
        return next((one for one in self.variants if one["is_original"]), None)

    @property
    def rehearsal(self) -> bool:
        """Whether the numbers come from the rehearsal model and say nothing about a real prompt."""
        return self.about.get("rehearsal") is True


def read_live(lift: Workspace, prompt_id: str) -> Live:
    """Read the live text of a prompt, and its version where the service has versions."""
    prompt = lift.client.prompts.get(prompt_id)
    name = one_line(prompt.name, 200) if prompt.name else prompt_id
    if lift.keeps_reviews():
        newest = lift.client.prompts.versions(prompt_id, limit=1).data
        if newest:
            return Live(name, newest[0].content or "", newest[0].id)
    return Live(name, prompt.content or "")


def read_review(lift: Workspace, optimization_id: str) -> Review:
    """Read all that a review shows.

    Raises
    ------
    PromptliftError
        When the optimization or its variants cannot be read. Whatever else fails is said in ``problems``.
    """
    optimization = lift.optimization(optimization_id)
    rows: list[Row] = []
    about: Row = {"rehearsal": optimization.rehearsal}
    if optimization.status != "queued":
        table = lift.variants(optimization_id)
        rows, about = _records(table), dict(table.attrs["promptlift"])
    review = Review(optimization, rows, about, None, None)
    _part(
        review, "the prompt", lambda: setattr(review, "live", read_live(lift, optimization.prompt_id or ""))
    )
    _part(review, "notes and actions", lambda: read_notes(lift, review))
    try:
        review.simulations = lift.simulations(optimization_id)
    except NotFound:
        review.simulations = None
    except PromptliftError as error:
        review.problems.append(f"The simulated conversations could not be read: {error}")
    return review


def read_notes(lift: Workspace, review: Review) -> None:
    """Read notes, verdicts and actions again."""
    optimization_id = review.optimization.id
    review.said = {row["variant_id"]: row for row in _records(lift.review(optimization_id))}
    # All of the prompt: what became live since is of interest too.
    with contextlib.suppress(NotFound):  # a prompt that was deleted, with which nothing was done
        review.actions = _records(lift.actions(review.optimization.prompt_id).head(30))
    review.kept_in_file = not lift.keeps_reviews()


def _part(review: Review, what: str, read: Any) -> None:
    try:
        read()
    except (ApiError, PromptliftError) as error:
        review.problems.append(f"{what[0].upper()}{what[1:]} could not be read: {error}")


def _records(table: pd.DataFrame) -> list[Row]:
    """Rows as plain values; what is missing is None."""
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
