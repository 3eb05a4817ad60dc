"""Endpoints of optimizations, their variants and their simulated conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from typing import Any

    from promptlift.schema.optimizations import ApplyAnswer, Optimization, StopAnswer, Variant
    from promptlift.schema.pages import Page
    from promptlift.schema.simulations import Simulation


class Optimizations(Group):
    """Optimizations: trigger, read, apply, stop."""

    def create(self, *, prompt_id: str, **fields: Any) -> Optimization:
        """Start an optimization. The request is never repeated after a failure.

        ``fields`` may be mode, variant_count, intent (a dict with target_improvements and hypothesis),
        persona_ids and, as extensions of the embedded service, seed, rehearsal_seconds, search and candidates
        (dicts with content and name). ``Workspace.optimize`` also waits for the end.
        """
        return self._send(endpoints.OPTIMIZATIONS_CREATE, prompt_id=prompt_id, **fields)

    def list(
        self,
        *,
        prompt_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Optimization]:
        """Return one page of optimizations, newest first.

        ``offset``, and ``pagination`` in the answer, are extensions of the embedded service. Others have
        neither: ``Workspace.optimizations`` reads as much as possible.
        """
        return self._send(
            endpoints.OPTIMIZATIONS_LIST, prompt_id=prompt_id, status=status, limit=limit, offset=offset
        )

    def get(self, optimization_id: str) -> Optimization:
        """Return one optimization with its results."""
        return self._send(endpoints.OPTIMIZATIONS_GET, optimization_id)

    def variants(self, optimization_id: str) -> Page[Variant]:
        """Return all variants of an optimization; the original is one of them."""
        return self._send(endpoints.OPTIMIZATIONS_VARIANTS, optimization_id)

    def simulations(
        self,
        optimization_id: str,
        *,
        variant_id: str | None = None,
        stage: str | None = None,
        task_completed: bool | None = None,
        include_content: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Simulation]:
        """Return one page of the simulated conversations. The embedded service supports this; others may not."""
        return self._send(
            endpoints.OPTIMIZATIONS_SIMULATIONS,
            optimization_id,
            variant_id=variant_id,
            stage=stage,
            task_completed=task_completed,
            include_content=include_content,
            limit=limit,
            offset=offset,
        )

    def apply(
        self,
        optimization_id: str,
        *,
        variant_id: str | None = None,
        content: str | None = None,
        if_version_id: str | None = None,
        accept_rehearsal: bool | None = None,
        note: str | None = None,
    ) -> ApplyAnswer:
        """Make a variant the current version of the prompt: the winner, or the given one.

        The other arguments are extensions of the embedded service: it accepts a manually composed text
        instead of a variant's, refuses if the current version has changed, applies a variant of a rehearsal
        only with ``accept_rehearsal``, and stores the note with the action.
        """
        fields = given(
            variant_id=variant_id,
            content=content,
            if_version_id=if_version_id,
            accept_rehearsal=accept_rehearsal,
            note=note,
        )
        return self._send(endpoints.OPTIMIZATIONS_APPLY, optimization_id, **fields)

    def stop(self, optimization_id: str, *, reason: str | None = None, note: str | None = None) -> StopAnswer:
        """Stop an optimization; its measurements stay."""
        return self._send(endpoints.OPTIMIZATIONS_STOP, optimization_id, **given(reason=reason, note=note))
