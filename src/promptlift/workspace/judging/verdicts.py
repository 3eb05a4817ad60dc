"""Judges of one's own in a workspace: ``lift.judges``, and their verdicts as a table."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from promptlift.schema import endpoints
from promptlift.workspace.judging.judges import Judges
from promptlift.workspace.session import Session

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.workspace.workspace import Workspace


class Judging(Session):
    """Judges of one's own, and what they answered."""

    @cached_property
    def judges(self) -> Judges:
        """Judges of one's own: create, plan, backfill, align. Offered by the embedded service."""
        return Judges(cast("Workspace", self))

    def verdicts(
        self,
        judge: str,
        *,
        version: int | None = None,
        all_versions: bool = False,
        prompt: str | None = None,
    ) -> pd.DataFrame:
        """Return what a judge of one's own answered, one row a conversation. Offered by the embedded service and by snapshots.

        The table goes where a table of conversations goes: ``analysis.completion``, ``completion_trend``, ``compare``,
        ``segments`` and ``prompt_overview`` and the plots of the first four read ``verdict`` as the outcome, ``label_plan`` draws
        from it, labels whose ``question`` is the judge's name correct its rates, and ``analysis.judge_agreement`` compares it
        with them. Joined to a table of conversations it brings their columns: ``outcome="verdict"`` says that it counts.

        Parameters
        ----------
        judge
            Name or id of the judge.
        version
            Its version, by default the newest. Verdicts of two versions are never in one table unless ``all_versions``
            asks for it.
        all_versions
            Take of each conversation the newest verdict there is, whichever version gave it. A trend of such a table marks
            where the version changes, and where the model does that answers.
        prompt
            Only conversations of this prompt: its name or id.

        Returns
        -------
        DataFrame
            conversation_id, prompt_id, prompt, status, judge, judge_version, verdict, reason, analyser, problem, started_at,
            created_at, judged_at. ``verdict`` is missing where the conversation could not be judged; ``problem`` says why.

        Raises
        ------
        NotFound
            There is no such judge, or the service offers none.
        """
        judge_id = self.judges.id_of(judge)
        prompt_id = None if prompt is None else self._names.known_id(prompt)
        filters: dict[str, Any] = {
            "version": version,
            "all_versions": all_versions or None,
            "prompt_id": prompt_id,
        }
        return self._read_verdicts(judge_id, filters, {"judge": judge, **filters})

    def _read_verdicts(self, judge_id: str, filters: dict[str, Any], shown: dict[str, Any]) -> pd.DataFrame:
        """Read the verdicts of a judge; ``shown`` is what the table says that it was asked for."""
        return self._offered(
            "verdicts", endpoints.JUDGES_VERDICTS, judge_id, filters, filters=shown, unit="verdicts read"
        )
