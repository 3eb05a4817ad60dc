"""What labels of people say of a variant's measured lift: the first thing on a winner's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.analysis.corrected_lift import corrected_lift, simulated_label_plan
from promptlift.analysis.reading import facts_of
from promptlift.errors import ConfigError, NotFound, PromptliftError
from promptlift.words.figures import signed

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.display.static_html import Tone
    from promptlift.widgets.review.reading import Review
    from promptlift.workspace import Workspace

    Row = dict[str, Any]

__all__ = ["DRAWN", "LabelVerdict", "label_verdict", "labels_of", "plan_of", "size_of_draw"]

DRAWN: Final = 80
"""Conversations of a draw, half of each arm."""
NOT_CONFIRMED: Final = "not confirmed by labels"
CONFIRMED: Final = "confirmed by labels"
_UNCHECKED: Final = "Nobody has checked these conversations yet: the lift is what the judge says."
_BEGIN: Final = "Label both arms, blind"
_GO_ON: Final = "Go on labelling, blind"
_OTHER_DRAW: Final = (
    "There are labels of another draw, and labels of two draws correct nothing together. Go on with that one in a cell: "
    "review.label_draw(n, seed=…), with the numbers that it was drawn with."
)


class LabelVerdict(NamedTuple):
    """What labels say of a variant.

    Attributes
    ----------
    badge
        Its words and tone; None without one.
    sentences
        The most important one first.
    warns
        Whether that one is a warning.
    button
        The words of the button that has both arms labelled; empty for none.
    """

    badge: tuple[str, Tone] | None = None
    sentences: tuple[str, ...] = ()
    warns: bool = False
    button: str = ""


def labels_of(lift: Workspace, optimization_id: str) -> pd.DataFrame | None:
    """Read the labels of an optimization's simulated conversations; None where the service keeps none."""
    try:
        return lift.labels(optimization_id=optimization_id)
    except NotFound:
        return None


def plan_of(lift: Workspace, optimization_id: str, n: int, seed: int) -> pd.DataFrame:
    """Draw conversations of the confirmation, with their transcripts.

    Raises
    ------
    PromptliftError
        When they cannot be read, or there are none.
    """
    return _plan(lift.optimizations[optimization_id].simulations(content=True), n, seed)


def _plan(simulations: Any, n: int, seed: int = 0) -> pd.DataFrame:
    try:
        return simulated_label_plan(simulations, n=n, seed=seed)
    except ValueError as error:
        raise ConfigError(f"There is nothing to label yet. {error}") from error


def size_of_draw(review: Review) -> int:
    """Return how many conversations to draw: as many as the draw whose labels are there, so that it is gone on with.

    Raises
    ------
    ConfigError
        When the labels are of a draw that cannot be drawn again without knowing more.
    """
    labels, simulations = review.labels, review.simulations
    if labels is None or simulations is None:
        return DRAWN
    begun = labels[labels["draw_id"].notna() & labels["chance"].notna()]
    if begun.empty:
        return DRAWN
    # The chance of each says how many of the pairs were drawn.
    pairs: int = facts_of(_plan(simulations, DRAWN))["n_pairs"]
    size = 2 * round(float(begun["chance"].iloc[0]) * pairs)
    if _plan(simulations, size)["draw_id"].iloc[0] != begun["draw_id"].iloc[0]:
        raise ConfigError(_OTHER_DRAW)
    return size


def label_verdict(review: Review, row: Row) -> LabelVerdict:
    """Return what labels say of the variant of a row; nothing of one that was not confirmed."""
    table = review.simulations
    if row["is_original"] or table is None:
        return LabelVerdict()
    if not (table["stage"].eq("confirm") & table["variant_id"].eq(row["variant_id"])).any():
        return LabelVerdict()
    # While an optimization runs, a draw of it would not be one of all its pairs.
    ended = review.optimization.status == "completed"
    if review.labels is None or review.labels.empty:
        said = (_UNCHECKED,) if row["is_winner"] else ()
        return LabelVerdict(sentences=said, button=_BEGIN if ended else "")
    return _said(review, row)._replace(button=_GO_ON if ended else "")


def _said(review: Review, row: Row) -> LabelVerdict:
    """Return what the labels that are there say of a variant."""
    try:
        found = corrected_lift(review.simulations, review.labels, variant_id=row["variant_id"]).iloc[0]
    except (PromptliftError, ValueError) as error:
        return LabelVerdict(None, (f"The labels cannot be read: {error}",), warns=True)
    if found["not_corrected"]:
        return LabelVerdict(None, (f"Not corrected by labels. {found['not_corrected']}",))
    return _corrected(found, winner=bool(row["is_winner"]))


def _corrected(found: Any, *, winner: bool) -> LabelVerdict:
    low, high = found["lift_points_corrected_low"], found["lift_points_corrected_high"]
    sentences = [_errors(found)] if found["errors_differ"] else []
    sentences.append(
        f"Corrected by {found['n_labels'] + found['n_labels_original']:,} labels of people: "
        f"{signed(found['lift_points_corrected'])} points of task completion (90% interval {signed(low)} to {signed(high)}). "
        f"As the judge says: {signed(found['lift_points'])} points."
    )
    warns = bool(found["errors_differ"])
    if found["confirmed"]:
        return LabelVerdict((CONFIRMED, "good"), tuple(sentences), warns=warns)
    sentences.append(
        "The whole corrected interval is below 0: by the labels the variant is worse than the original."
        if high < 0.0
        else "0 is inside the corrected interval: by the labels there may be no gain at all."
    )
    return LabelVerdict((NOT_CONFIRMED, "warn") if winner else None, tuple(sentences), warns=warns)


def _errors(found: Any) -> str:
    """Return that the judge errs on one arm otherwise than on the other, and on which conversations."""
    said = []
    for name, what in (("tpr", "completed"), ("tnr", "failed")):
        difference, low, high = (found[f"{name}_difference{end}"] for end in ("", "_low", "_high"))
        if low > 0.0 or high < 0.0:
            less = "more" if difference > 0 else "less"
            said.append(
                f"it recognises the variant's {what} conversations {100 * abs(difference):.0f} points {less} often"
            )
    where = f": {' and '.join(said)} than the original's" if said else ""
    p = found["p_equal_error"]
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"The judge errs differently on the two arms ({chance}){where}. Part of the lift that it measured is its own error."
