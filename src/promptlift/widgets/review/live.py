"""The running experiment of the prompt in a review: its versions on real users, with stop and apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema.basis import may_tell
from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import common_axis, effect_pieces, interval_bar
from promptlift.widgets.tree import h
from promptlift.widgets.tree_widget import push
from promptlift.words.versions import TITLES, in_words

if TYPE_CHECKING:
    from promptlift.schema.experiments import LiveArm, LiveExperiment
    from promptlift.widgets.tree import Node

__all__ = ["experiment_table"]

_NAME_CHARS = 80


def experiment_table(experiment: LiveExperiment) -> Node:
    """Return a row per version: units, completion, difference from the current version; grey what a word list judged."""
    header = h("tr", [h("th.plw-cell", words, scope="col") for words in (*TITLES, "")])
    compared = [arm.difference for arm in experiment.arms if arm.difference is not None]
    axis = common_axis([end for one in compared for end in (one.estimate, one.low, one.high)])
    return h(
        "div.plw-experiment",
        h("p.plw-foreign", h("b", f"Live on real users: {experiment.sentence}.")),
        h("table.plw-arms", h("thead", header), h("tbody", [_row(arm, axis) for arm in experiment.arms])),
        h("span.plw-buttons", push("Stop the experiment …", "stop-live", ".plw-stop-live")),
    )


def _row(arm: LiveArm, axis: tuple[float, float]) -> Node:
    shown, difference = in_words(arm), arm.difference
    name = one_line(shown.name, _NAME_CHARS)
    drawn = None
    if difference is not None and difference.estimate is not None:
        ends = difference.estimate, difference.low, difference.high
        pieces = effect_pieces(*ends, axis=axis, interval=difference.low is not None)
        drawn = interval_bar(pieces, shown.difference)
    grey = ".plw-soft" if arm.rate is not None and not may_tell(arm.rate.basis) else ""
    apply = arm.number > 0 and push(f"Apply {name} …", "apply-live", ".plw-apply-live", arm=str(arm.number))
    return h(
        "tr",
        h("th.plw-cell.plw-foreign", name, scope="row"),
        h("td.plw-cell", shown.weight),
        h("td.plw-cell", shown.units),
        h(f"td.plw-cell{grey}", shown.completed),
        h("td.plw-cell", drawn, " ", shown.difference),
        h("td.plw-cell", shown.result),
        h("td.plw-cell", apply),
        key=f"arm-{arm.number}",
    )
