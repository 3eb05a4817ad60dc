"""The section about experiments: versions side by side on real users."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from promptlift.report.document import Column, Estimate, Figure, Section, Table
from promptlift.report.redaction import redact
from promptlift.report.sections.measures import painter
from promptlift.schema.inert import one_line
from promptlift.words.versions import result_of

if TYPE_CHECKING:
    from promptlift.report.gather import Material
    from promptlift.schema.experiments import LiveDifference, LiveRate

__all__ = ["live"]

_CHARS: Final = 300
_MEANING: Final = (
    "Each unit, such as a user, got one version, assigned at random by its weight, and counts once. The interval of the "
    "difference from the current version stays valid however often one looks (a confidence sequence)."
)


def live(material: Material, *, redacted: bool) -> Section | None:
    """Return the section about the experiments of the prompts; None without any.

    Parameters
    ----------
    material
        The data of the report.
    redacted
        Whether to remove personal data that a pattern finds from names.
    """
    if not material.experiments:
        return None

    def shown(text: Any) -> str:
        line = one_line(text, _CHARS)
        return redact(line) if redacted else line

    experiments = []
    for one in material.experiments:
        arms = [arm.model_copy(update={"name": shown(arm.name)}) for arm in one.arms]
        experiments.append(one.model_copy(update={"sentence": shown(one.sentence), "arms": arms}))
    said = tuple(
        f"No. {number}, {material.name_of(one.prompt_id)}, {one.status.replace('_', ' ')}: {one.sentence}."
        for number, one in enumerate(experiments, 1)
    )
    table = Table.of(
        "live",
        "Versions on real users",
        [(number, arm) for number, one in enumerate(experiments, 1) for arm in one.arms],
        (Column("no", "No.", "count"), lambda row: row[0]),
        (Column("version", "Version"), lambda row: row[1].name),
        (Column("weight", "Weight", "share"), lambda row: row[1].weight),
        (Column("units", "Units", "count"), lambda row: row[1].units),
        (Column("rate", "Completed", "share", 95), lambda row: _estimate(row[1].rate, "rate", 100.0)),
        (Column("basis", "Basis"), lambda row: "" if row[1].rate is None else row[1].rate.basis),
        (
            Column("difference", "Difference, points", "points", 95),
            lambda row: _estimate(row[1].difference, "estimate", 1.0),
        ),
        (Column("result", "Result"), lambda row: result_of(row[1])),
    )
    alt = "Difference of each version of No. 1 from the current version over time; see the table below."
    figure = Figure("live", alt, painter("live", experiments[0]))
    return Section("live", "Live on real users", (_MEANING,), said, (figure,), (table,))


def _estimate(found: LiveRate | LiveDifference | None, name: str, scale: float) -> Estimate | None:
    value = getattr(found, name, None)
    if found is None or value is None:
        return None
    return Estimate(*(math.nan if end is None else end / scale for end in (value, found.low, found.high)))
