"""Endpoints of labels, which the embedded service supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from promptlift.schema.judges import Label, LabelsAnswer
    from promptlift.schema.pages import Page


class Labels(Group):
    """People's labels of conversations. The embedded service supports them; others may not."""

    def list(
        self,
        *,
        prompt_id: str | None = None,
        conversation_id: str | None = None,
        optimization_id: str | None = None,
        question: str | None = None,
        labeller: str | None = None,
        draw_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Label]:
        """Return one page of labels, newest first."""
        return self._send(
            endpoints.LABELS_LIST,
            prompt_id=prompt_id,
            conversation_id=conversation_id,
            optimization_id=optimization_id,
            question=question,
            labeller=labeller,
            draw_id=draw_id,
            limit=limit,
            offset=offset,
        )

    def create(self, labels: Sequence[Mapping[str, Any]]) -> LabelsAnswer:
        """Store up to 500 labels, all or none; repeated labels are stored once.

        Each has ``conversation_id``, ``question``, ``value`` (``None`` removes the label) and ``labeller``,
        and may have ``labelled_at``, ``chance`` and ``draw_id``. A person's earlier label for the same
        question is replaced.
        """
        return self._send(endpoints.LABELS_CREATE, labels=[dict(one) for one in labels])
