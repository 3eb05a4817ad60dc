"""The tasks of an optimization, carried out by a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service.optimizations.tasks import VariantDraft, WrittenDrafts
from promptlift.service.optimizations.variants.request import VariantsAnswer, variants_messages
from promptlift.service.simulations.model_tasks import ModelSimulationTasks

if TYPE_CHECKING:
    from promptlift.service.optimizations.tasks import VariantsRequest

__all__ = ["ModelTasks"]


class ModelTasks(ModelSimulationTasks):
    """Carry out the tasks of one optimization with a language model; see ``OptimizationTasks``."""

    def write_variants(self, request: VariantsRequest) -> WrittenDrafts:
        """Ask for variants."""
        messages, mark = variants_messages(request)
        answer = self._chat.chat(messages, purpose="variants", schema=VariantsAnswer)
        drafts = [VariantDraft(one.name, one.content, one.rationale) for one in answer.parsed.variants]
        return WrittenDrafts(drafts, mark)
