"""Where conversations fail, and what to do next, as far as the basis of the verdicts allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.analysis.reading import agreement_of
from promptlift.report.document import Section
from promptlift.report.gather import GROUP
from promptlift.schema.basis import LABELS_OF_A_PROOF, WAYS, may_say_clearly, may_tell, may_weigh
from promptlift.words.figures import counted
from promptlift.words.names import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from promptlift.report.gather import Material

__all__ = ["next_steps", "where_it_fails"]

_MOST: Final = 6
_FEWEST: Final = 5
_OF_THE_REPORT: Final = (GROUP, "prompt_id")


def where_it_fails(table: pd.DataFrame, material: Material, judged: Mapping[str, Any]) -> Section | None:
    """Return which segments complete less often than the rest; None where the verdicts cannot tell, or there is none.

    Parameters
    ----------
    table
        Conversations, without columns that may not be shown.
    material
        The data of the report.
    judged
        What the verdicts rest on.
    """
    if judged.get("basis") is None or not may_tell(judged["basis"]):
        return None
    found = analysis.segments(table.drop(columns=[*_OF_THE_REPORT], errors="ignore"), labels=material.labels)
    facts = found.attrs["promptlift"]
    lower = found["verdict"].eq("lower")
    if found.empty or not (lower.any() or may_say_clearly(facts["basis"], agreement_of(facts))):
        return None
    said = [sentence for sentence, is_lower in zip(facts["sentences"], lower, strict=True) if is_lower]
    return Section("segments", "Where it fails", (facts["summary"],), tuple(said[:_MOST]))


def next_steps(
    issues: pd.DataFrame, segments: Section | None, material: Material, judged: Mapping[str, Any]
) -> Section | None:
    """Return what to do next; None where nothing follows from the numbers.

    Parameters
    ----------
    issues
        ``analysis.issues`` of the conversations.
    segments
        The section of the segments.
    material
        The data of the report.
    judged
        What the verdicts rest on.
    """
    basis, steps = judged.get("basis"), []
    if basis == "words":
        return Section("next", "What to do next", ("Let the next report tell what is better:",), WAYS)
    if segments is not None and segments.points:
        steps.append("Read failed conversations of the segments under “Where it fails”, the first one first.")
    if may_weigh(basis) and len(issues):
        counts = issues.assign(failed=issues["n_rated"] - issues["completed"])
        worst = counts.groupby("issue", sort=False)[["n_rated", "failed"]].sum().nlargest(1, "failed")
        ((issue, n_rated, failed),) = worst.itertuples()
        if failed >= _FEWEST:
            # Of several prompts, the one that most of these failures are of.
            of_issue = counts[counts["issue"].eq(issue)].nlargest(1, "failed")
            prompt = of_issue[GROUP].iloc[0] if GROUP in of_issue else material.names[0]
            steps.append(
                f"Look for a text that avoids {quoted(issue)}: of {counted(n_rated, 'conversation')} with it "
                f"{failed:,} failed. lift.optimize({prompt!r}) tests texts on simulated conversations."
            )
    if basis is not None and not may_say_clearly(basis, agreement_of(judged)):
        steps.append(
            f"Label at least {LABELS_OF_A_PROOF} conversations that analysis.label_plan(df) draws: they show how far the judge is right."
        )
    return Section("next", "What to do next", points=tuple(steps)) if steps else None
