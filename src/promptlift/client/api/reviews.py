"""Endpoints of reviews and actions, which the embedded service supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from typing import Any

    from promptlift.schema.optimizations import VariantReview
    from promptlift.schema.pages import Page
    from promptlift.schema.prompts import Action, UndoAnswer


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
