"""What labels of people say of a variant's measured lift: the first thing on a winner's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from promptlift.analysis.corrected_lift import corrected_lift, simulated_label_plan
from promptlift.errors import ConfigError, NotFound, PromptliftError

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.schema.static_html import Tone
    from promptlift.widgets.review.reading import Review
    from promptlift.workspace import Workspace

    Row = dict[str, Any]

__all__ = ["LabelVerdict", "label_verdict", "labels_of", "plan_of"]

NOT_CONFIRMED = "not confirmed by labels"
CONFIRMED = "confirmed by labels"
_OFFER = (
    "Nobody has checked these conversations: the lift is what the judge says. review.label_draw() draws some of both arms "
    "at random, to label them blind."
)


class LabelVerdict(NamedTuple):
    """What labels say of a variant: a badge, and sentences of which the most important comes first."""

    badge: tuple[str, Tone] | None = None
    sentences: tuple[str, ...] = ()


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
    table = lift.simulations(optimization_id, content=True)
    try:
        return simulated_label_plan(table, n=n, seed=seed)
    except ValueError as error:
        raise ConfigError(f"There is nothing to label yet. {error}") from error


def label_verdict(review: Review, row: Row) -> LabelVerdict:
    """Return what labels say of the variant of a row; nothing of one that was not confirmed."""
    table = review.simulations
    if row["is_original"] or table is None:
        return LabelVerdict()
    if not (table["stage"].eq("confirm") & table["variant_id"].eq(row["variant_id"])).any():
        return LabelVerdict()
    if review.labels is None or review.labels.empty:
        return LabelVerdict(None, (_OFFER,) if row["is_winner"] else ())
    try:
        found = corrected_lift(table, review.labels, variant_id=row["variant_id"]).iloc[0]
    except (PromptliftError, ValueError) as error:
        return LabelVerdict(None, (f"The labels cannot be read: {error}",))
    if found["not_corrected"]:
        return LabelVerdict(None, (f"Not corrected by labels. {found['not_corrected']}",))
    return _corrected(found, winner=bool(row["is_winner"]))


def _corrected(found: Any, *, winner: bool) -> LabelVerdict:
    low, high = found["lift_points_corrected_low"], found["lift_points_corrected_high"]
    sentences = []
    if found["errors_differ"]:
        sentences.append(
            f"The judge errs on the two arms unlike (p {found['p_equal_error']:.3f}): {_errors(found)}. Its lift is not one of "
            "the prompt alone."
        )
    sentences.append(
        f"Corrected by {found['n_labels'] + found['n_labels_original']:,} labels: {_signed(found['lift_points_corrected'])} points "
        f"(90% interval {_signed(low)} to {_signed(high)}); as the judge says: {_signed(found['lift_points'])} points."
    )
    if found["confirmed"]:
        return LabelVerdict((CONFIRMED, "good"), tuple(sentences))
    sentences.append("The corrected interval includes no gain.")
    return LabelVerdict((NOT_CONFIRMED, "warn") if winner else None, tuple(sentences))


def _errors(found: Any) -> str:
    """Return on which conversations the judge treats the variant otherwise."""
    kinds = (("tpr", "completed conversations", "recognises"), ("tnr", "failed ones", "recognises"))
    said = []
    for name, what, verb in kinds:
        difference, low, high = (found[f"{name}_difference{end}"] for end in ("", "_low", "_high"))
        if low > 0.0 or high < 0.0:
            more = "more" if difference > 0 else "fewer"
            said.append(f"it {verb} {100 * abs(difference):.0f} points {more} of the variant's {what}")
    return " and ".join(said) or "with completed and failed ones taken together"


def _signed(points: float) -> str:
    return f"{points:+.1f}".replace("-", "−")
