"""What labels of people say of a variant's measured lift: the first thing on a winner's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.analysis.corrected_lift import corrected_lift
from promptlift.errors import PromptliftError
from promptlift.words.figures import signed

if TYPE_CHECKING:
    from promptlift.display.static_html import Tone
    from promptlift.widgets.review.reading import Review

__all__ = ["LabelVerdict", "label_verdict"]

_UNCHECKED: Final = "Nobody has checked these conversations yet: the lift is what the judge says."


class LabelVerdict(NamedTuple):
    """What labels say of a variant: a badge, sentences of which the first may be a warning, and the button to label."""

    badge: tuple[str, Tone] | None = None
    sentences: tuple[str, ...] = ()
    warns: bool = False
    button: str = ""


def label_verdict(review: Review, row: dict[str, Any]) -> LabelVerdict:
    """Return what labels say of the variant of a row; nothing of one that was not confirmed."""
    table, labels = review.simulations, review.labels
    if row["is_original"] or table is None:
        return LabelVerdict()
    if not (table["stage"].eq("confirm") & table["variant_id"].eq(row["variant_id"])).any():
        return LabelVerdict()
    # While an optimization runs, a draw of it would not be one of all its pairs.
    can_label = review.optimization.status == "completed"
    if labels is None or labels.empty:
        button = "Label both arms, blind" if can_label else ""
        return LabelVerdict(sentences=(_UNCHECKED,) if row["is_winner"] else (), button=button)
    try:
        found = corrected_lift(table, labels, variant_id=row["variant_id"]).iloc[0]
    except (PromptliftError, ValueError) as error:
        said = LabelVerdict(None, (f"The labels cannot be read: {error}",), warns=True)
    else:
        said = _corrected(found, is_winner=bool(row["is_winner"]))
    return said._replace(button="Continue labelling, blind" if can_label else "")


def _corrected(found: Any, *, is_winner: bool) -> LabelVerdict:
    if found["not_corrected"]:
        return LabelVerdict(None, (f"Not corrected by labels. {found['not_corrected']}",))
    low, high = found["lift_points_corrected_low"], found["lift_points_corrected_high"]
    warns = bool(found["errors_differ"])
    sentences = [_errors(found)] if warns else []
    sentences.append(
        f"Corrected by {found['n_labels'] + found['n_labels_original']:,} labels of people: "
        f"{signed(found['lift_points_corrected'])} points of task completion (90% interval {signed(low)} to {signed(high)}). "
        f"As the judge says: {signed(found['lift_points'])} points."
    )
    if found["confirmed"]:
        return LabelVerdict(("confirmed by labels", "good"), tuple(sentences), warns=warns)
    sentences.append(
        "The whole corrected interval is below 0: by the labels the variant is worse than the original."
        if high < 0.0
        else "0 is inside the corrected interval: by the labels there may be no gain at all."
    )
    badge: tuple[str, Tone] | None = ("not confirmed by labels", "warn") if is_winner else None
    return LabelVerdict(badge, tuple(sentences), warns=warns)


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
