"""Endpoints of optimizations, their variants, reviews, simulated conversations and personas, and of the log of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from typing import Any

    from promptlift.schema.model import Done, Page
    from promptlift.schema.optimizations import (
        ApplyAnswer,
        Optimization,
        StopAnswer,
        Variant,
        VariantReview,
    )
    from promptlift.schema.prompts import Action, UndoAnswer
    from promptlift.schema.simulations import Persona, Simulation


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


class Reviews(Group):
    """Reviews of variants. The embedded service supports them; others may not."""

    def get(self, optimization_id: str) -> Page[VariantReview]:
        """Return the reviews of the variants of an optimization."""
        return self._send(endpoints.REVIEWS_GET, optimization_id)

    def update(self, optimization_id: str, *, variant_id: str, **fields: Any) -> VariantReview:
        """Update ``verdict`` (``keep``, ``reject`` or ``None``) or ``note`` of a variant; omitted fields stay unchanged."""
        return self._send(endpoints.REVIEWS_UPDATE, optimization_id, variant_id=variant_id, **fields)


class Actions(Group):
    """The log of actions. The embedded service supports it; others may not."""

    def list(
        self,
        *,
        prompt_id: str | None = None,
        optimization_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Action]:
        """Return one page of actions, newest first."""
        return self._send(
            endpoints.ACTIONS_LIST,
            prompt_id=prompt_id,
            optimization_id=optimization_id,
            limit=limit,
            offset=offset,
        )

    def undo(self, action_id: str, *, note: str | None = None) -> UndoAnswer:
        """Restore the text from before an action, byte for byte."""
        return self._send(endpoints.ACTIONS_UNDO, action_id, **given(note=note))


class Personas(Group):
    """Personas that talk in simulated conversations. The embedded service supports them; others may not."""

    def list(self, *, limit: int | None = None, offset: int | None = None) -> Page[Persona]:
        """Return one page of personas: the account's own, then those of the library."""
        return self._send(endpoints.PERSONAS_LIST, limit=limit, offset=offset)

    def create(self, *, name: str, description: str) -> Persona:
        """Add a persona to the account."""
        return self._send(endpoints.PERSONAS_CREATE, name=name, description=description)

    def get(self, persona_id: str) -> Persona:
        """Return one persona."""
        return self._send(endpoints.PERSONAS_GET, persona_id)

    def update(self, persona_id: str, **fields: Any) -> Persona:
        """Change ``name`` or ``description`` of a persona of the account."""
        return self._send(endpoints.PERSONAS_UPDATE, persona_id, **fields)

    def delete(self, persona_id: str) -> Done:
        """Delete a persona of the account."""
        return self._send(endpoints.PERSONAS_DELETE, persona_id)
