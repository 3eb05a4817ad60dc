"""The running experiment of the prompt in a review: its versions on real users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema.basis import may_tell
from promptlift.schema.inert import one_line
from promptlift.widgets.tree import h
from promptlift.words.versions import TITLES, in_words

if TYPE_CHECKING:
    from promptlift.schema.experiments import LiveExperiment
    from promptlift.widgets.tree import Node

__all__ = ["experiment_table"]

_CHARS = 120


def experiment_table(experiment: LiveExperiment) -> Node:
    """Return a row per version: units, completion, difference from the current version; grey what a word list judged."""
    header = h("tr", [h("th.plw-cell", words, scope="col") for words in TITLES])
    cell = (
        "td.plw-cell.plw-foreign" if may_tell(experiment.basis or "") else "td.plw-cell.plw-foreign.plw-soft"
    )
    rows = [
        h("tr", [h(cell, one_line(words, _CHARS)) for words in in_words(arm)], key=f"arm-{arm.number}")
        for arm in experiment.arms
    ]
    return h(
        "div.plw-experiment",
        h("p.plw-foreign", h("b", f"Live on real users: {experiment.sentence}.")),
        h("table.plw-arms", h("thead", header), h("tbody", rows)),
        h("p.plw-soft", f"To stop it or apply a version: lift.live({experiment.id!r})."),
    )
