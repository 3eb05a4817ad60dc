"""An optimization from a notebook: waited for, read as tables, reviewed and applied."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.optimizations import read_optimizations, read_variants
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task
from promptlift.display.verdict import STAGES
from promptlift.errors import ConfigError, ConnectionFailed, InvalidState, ServerError, UnexpectedResponse
from promptlift.schema import endpoints
from promptlift.schema.optimizations import VERDICTS, Optimization
from promptlift.workspace.runs import Run, part
from promptlift.workspace.session import Session, frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from promptlift.schema.optimizations import ApplyAnswer, VariantReview

    Row = dict[str, Any]

__all__ = ["MayBeIncomplete", "OptimizationRun", "VariantTables"]

# The status of optimizations that have no variants yet.
_WITHOUT_VARIANTS: Final = "queued"
_UNCHANGED: Final = object()


class MayBeIncomplete(UserWarning):
    """A table may not have all rows: the service gives neither a total nor pages."""


class VariantTables(Session):
    """Tables of the variants of optimizations, and of their edits."""

    def _table_of_variants(
        self, name: str, chosen: Sequence[str | Optimization] | None, prompt_id: str | None = None
    ) -> pd.DataFrame:
        """Read the variants of optimizations and make a table of them; warn when some may be missing."""
        found = self._names.id_of_filter(prompt_id)
        ids = None if chosen is None else [one if isinstance(one, str) else one.id for one in chosen]

        def read() -> RowsRead:
            task = Task()
            facts: Row = {}
            optimizations: list[Any] = [*(chosen or [])]
            complete = True
            if found is not None:
                listed = read_optimizations(self.client.transport, prompt_id=found, task=task)
                optimizations = [row for row in listed.rows if row.get("status") != _WITHOUT_VARIANTS]
                complete = listed.complete
                facts = {key: value for key, value in listed.facts.items() if key == "completeness"}
            with self._bar("optimizations read", len(optimizations)) as move:
                rows = read_variants(self.client.transport, optimizations, task=task, progress=move)
            rows.total = sum(len(item["variants"]) for item in rows.rows)
            rows.complete = rows.complete and complete
            rows.facts = facts
            return rows

        asked = ids[0] if ids and len(ids) == 1 else ids
        frame = self._table(name, read, {"optimization_id": asked, "prompt_id": found})
        if "completeness" in frame.attrs["promptlift"]:
            warnings.warn(frame.attrs["promptlift"]["completeness"], MayBeIncomplete, stacklevel=3)
        return frame


class OptimizationRun(Run[Optimization], VariantTables):
    """An optimization of a prompt. In a cell it shows what became of it."""

    _noun = "optimization"
    _call = "lift.optimizations[{}]"
    _endpoint = endpoints.OPTIMIZATIONS_GET

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.state._repr_mimebundle_(include, exclude)

    def _counts(self, state: Row) -> tuple[Any, Any]:
        progress = part(state, "results", "progress")
        return part(progress, "conversationsDone"), part(progress, "conversationsMax")

    def _texts(self, state: Row) -> tuple[str, str]:
        status = str(state.get("status"))
        stage = str(part(state, "results", "progress", "stage"))
        before = STAGES.get(stage, status) if status == "running" else status
        confidence = part(state, "results", "confidence")
        known = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        after = f"confidence {confidence:.2f}" if known else ""
        return f"rehearsal: {before}" if state.get("rehearsal") is True else before, after

    def _after_failure(self) -> str:
        return f"For what was measured until then: {self._called()}.variants()."

    def _after_stop(self) -> str:
        return ""

    def variants(self) -> pd.DataFrame:
        """Return the variants, one row each, including the original.

        Rows of stage ``screen`` and ``confirm`` come from different conversations and cannot be compared.

        Returns
        -------
        DataFrame
            As of ``lift.variants``.
        """
        return self._table_of_variants("variants", [self.state])

    def edits(self) -> pd.DataFrame:
        """Return the edits that the search wrote, one row each. Offered by the embedded service.

        Returns
        -------
        DataFrame
            As of ``lift.edits``.
        """
        return self._table_of_variants("edits", [self.state])

    def simulations(
        self,
        *,
        variant_id: str | None = None,
        content: bool = False,
    ) -> pd.DataFrame:
        """Return the simulated conversations, one row each. Offered by the embedded service.

        Parameters
        ----------
        variant_id
            One variant, or the original; all when it is left out.
        content
            Add the transcripts.

        Returns
        -------
        DataFrame
            simulation_id, optimization_id, variant_id, variant_number (0 is the original), is_original, stage, pass_number,
            cell (arms with the same number are a pair), persona_id, persona, scenario, opening, goal,
            scenario_source, status (``dropped`` when lost to an error), task_completed, sentiment,
            sentiment_score, quality, turns, ended_by, error, created_at; with ``content`` also content.

        Raises
        ------
        NotFound
            When the service does not offer this.
        IncompleteError
            When reading ended early; ``.fetched`` is the table of what was read.
        """
        filters = {"optimization_id": self.id, "variant_id": variant_id}
        frame = self._offered(
            "simulations",
            endpoints.OPTIMIZATIONS_SIMULATIONS,
            self.id,
            {"variant_id": variant_id, "include_content": content or None},
            filters=filters,
            unit="simulated conversations read",
            content=content,
        )
        facts = frames().facts_of(self.state.to_wire())
        frame.attrs["promptlift"] |= {name: facts[name] for name in ("prompt_id", "status", "rehearsal")}
        return frame

    def targets(self) -> pd.DataFrame:
        """Return what became of the targets, one row each. Offered by the embedded service.

        Returns
        -------
        DataFrame
            optimization_id, target, change (``improved``, ``worse``, ``unchanged``, ``unclear``), original_met and
            variant_met (percent), points, points_low, points_high, interval_level, n_pairs. Empty without targets.
            ``attrs["promptlift"]["hypothesis"]`` has the hypothesis, and whether it held.
        """
        results = self.state.results
        hypothesis = results.hypothesis.to_wire() if results and results.hypothesis else None
        found = (results.targets if results else None) or []
        rows = [{**one.to_wire(), "optimizationId": self.id} for one in found]
        return self._kept_table("targets", rows, hypothesis=hypothesis, rehearsal=self.state.rehearsal)

    def production_metrics(self) -> pd.DataFrame:
        """Return the production metrics of a deployed variant, before and after, one row each. Offered by the embedded service.

        Returns
        -------
        DataFrame
            metric (``task_completion``, ``sentiment``, ``quality``, ``abandonment``, ``response_time``, ``length``), before,
            after (means; percent for task completion and abandonment, seconds for response time, messages for
            length), conversations_before, conversations, p (one-sided, adjusted), level (``p`` below it is harm),
            regressed. As the service's last look saw them; empty before the first, which is at 30 judged
            conversations.
        """
        deployment = self.state.deployment
        production = deployment.production if deployment is not None else None
        rows = [one.to_wire() for one in production.metrics] if production is not None else []
        return self._kept_table("production_metrics", rows)

    def _kept_table(self, name: str, rows: list[Row], **facts: Any) -> pd.DataFrame:
        """Make a table of rows that the state has."""
        read = RowsRead(rows, len(rows), 0, complete=True, facts=facts)
        return self._table(name, lambda: read, {"optimization_id": self.id})

    def review(self) -> pd.DataFrame:
        """Return what people think of the variants, one row for each variant with a verdict or a note; see ``lift.reviews``."""
        table: pd.DataFrame = self._lift.reviews(self.id)
        return table

    def mark(self, variant_id: str, *, verdict: Any = _UNCHANGED, note: Any = _UNCHANGED) -> VariantReview:
        """Record what you think of a variant; what is left out stays as it is.

        Parameters
        ----------
        variant_id
            The variant.
        verdict
            ``"keep"``, ``"reject"``, or None to remove it.
        note
            A text, or None to remove it.
        """
        changes = {"verdict": verdict, "note": note}
        changes = {name: value for name, value in changes.items() if value is not _UNCHANGED}
        if changes.get("verdict") not in (None, *VERDICTS):
            raise ConfigError(f"verdict must be one of {', '.join(VERDICTS)}, or None, not {verdict!r}.")
        if not isinstance(changes.get("note"), str | None):
            raise ConfigError(f"note must be a text or None, not {type(note).__name__}.")
        self._lift.reviews.require()
        return self.client.reviews.update(self.id, variant_id=variant_id, **changes)

    def apply(
        self,
        variant_id: str | None = None,
        *,
        content: str | None = None,
        if_version_id: str | None = None,
        rehearsal: bool = False,
        note: str | None = None,
    ) -> ApplyAnswer:
        """Make a variant the current text of the prompt. The action is recorded: see ``lift.actions`` and ``lift.undo``.

        Parameters
        ----------
        variant_id
            The variant; the winner when it is left out.
        content
            In place of a variant: a text that somebody put together from the edits of a search. Nothing was measured of it.
            Offered by the embedded service.
        if_version_id
            Only while this version of ``lift.versions`` is the current one, so that no change is overwritten
            unseen. Offered by the embedded service.
        rehearsal
            Apply the variant even though the optimization was a rehearsal, which says nothing about a real prompt.
        note
            Why, in words; kept with the action. Offered by the embedded service.

        Raises
        ------
        InvalidState
            When the optimization is not completed, was a rehearsal, has no winner and no variant is named, or another
            version is the current one.
        ConfigError
            When both a variant and a text are given.
        """
        if content is not None and variant_id is not None:
            raise ConfigError(
                "Give variant_id or content, not both: the text is applied in place of a variant."
            )
        if content is not None:
            self._lift.reviews.require()  # another service would not know the field, and apply the winner
        with self._explained_apply():
            return self.client.optimizations.apply(
                self.id,
                variant_id=variant_id,
                content=content,
                if_version_id=if_version_id,
                accept_rehearsal=rehearsal or None,
                note=note,
            )

    def stop(self, reason: str | None = None) -> OptimizationRun:
        """Stop the optimization; what was measured stays.

        Parameters
        ----------
        reason
            Why, in words; kept with it.

        Raises
        ------
        InvalidState
            When it has ended already.
        """
        answer = self.client.optimizations.stop(self.id, reason=reason)
        # A winner that is only being verified stays the winner.
        why = {"stop_reason": reason} if answer.status == "stopped" else {}
        self.state = self.state.model_copy(update={"status": answer.status, **why})
        return self

    @contextlib.contextmanager
    def _explained_apply(self) -> Iterator[None]:
        """Add what to do next to the message of an apply that failed."""
        try:
            yield
        except (ConnectionFailed, ServerError, UnexpectedResponse) as error:
            error.message = f"{error.message}. The variant may be live all the same; look at the prompt before applying again."
            raise
        except InvalidState as error:
            if "acceptRehearsal" in error.details:
                error.message = f"{error.message}: rehearsal=True in apply"
            elif not error.details or error.details.get("status") in ("queued", "running"):
                error.message = f"{error.message}. {self._called()}.wait() waits for the end of one that runs"
            raise
