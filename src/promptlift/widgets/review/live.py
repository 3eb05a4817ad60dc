"""The running experiment of the prompt in a review: its versions on real users, with stop and apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema.basis import as_seen_by, may_tell
from promptlift.schema.inert import one_line
from promptlift.widgets.interval_bars import common_axis, effect_pieces, interval_bar
from promptlift.widgets.tree import h
from promptlift.widgets.tree_widget import push
from promptlift.words.figures import percent
from promptlift.words.sentences import measured

if TYPE_CHECKING:
    from promptlift.schema.experiments import LiveArm, LiveExperiment
    from promptlift.widgets.tree import Node

__all__ = ["experiment_table"]

_NAME_CHARS = 80


def experiment_table(experiment: LiveExperiment) -> Node:
    """Return a row per version: units, completion, difference from the current version; grey what a word list judged."""
    titles = ("Live on real users", "Units", "Completed", "Points over the current version", "")
    header = h("tr", [h("th.plw-cell", words, scope="col") for words in titles])
    compared = [arm.difference for arm in experiment.arms if arm.difference is not None]
    axis = common_axis([end for one in compared for end in (one.estimate, one.low, one.high)])
    return h(
        "div.plw-experiment",
        h("p.plw-foreign", h("b", f"{experiment.sentence}.")),
        h("table.plw-arms", h("thead", header), h("tbody", [_row(arm, axis) for arm in experiment.arms])),
        h("span.plw-buttons", push("Stop the experiment …", "stop-live", ".plw-stop-live")),
    )


def _row(arm: LiveArm, axis: tuple[float, float]) -> Node:
    name, rate, difference = one_line(arm.name, _NAME_CHARS), arm.rate, arm.difference
    completed = told = ""
    if rate is not None:
        shown, low, high = percent(*(value / 100.0 for value in (rate.rate, rate.low, rate.high)))
        completed = f"{shown} ({low} to {high}){as_seen_by(rate.basis)}"
    drawn = None
    if difference is not None and difference.estimate is not None:
        ends = difference.estimate, difference.low, difference.high
        told = measured(ends)
        drawn = interval_bar(effect_pieces(*ends, axis=axis, interval=difference.low is not None), told)
    grey = ".plw-soft" if rate is not None and not may_tell(rate.basis) else ""
    apply = arm.number > 0 and push(f"Apply {name} …", "apply-live", ".plw-apply-live", arm=str(arm.number))
    return h(
        "tr",
        h("th.plw-cell.plw-foreign", name, h("span.plw-soft", f" {percent(arm.weight)[0]}"), scope="row"),
        h("td.plw-cell", f"{arm.units or 0:,}"),
        h(f"td.plw-cell{grey}", completed),
        h("td.plw-cell", drawn, " ", told),
        h("td.plw-cell", apply),
        key=f"arm-{arm.number}",
    )
