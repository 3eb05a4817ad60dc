"""The tasks of an optimization, carried out by a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service.optimizations.generations.request import EditsAnswer, edits_messages
from promptlift.service.optimizations.tasks import EditDraft, VariantDraft, WrittenDrafts, WrittenEdits
from promptlift.service.optimizations.variants.request import VariantsAnswer, variants_messages
from promptlift.service.simulations.model_tasks import ModelSimulationTasks

if TYPE_CHECKING:
    from promptlift.service.optimizations.tasks import EditsRequest, VariantsRequest

__all__ = ["ModelTasks"]


class ModelTasks(ModelSimulationTasks):
    """Carry out the tasks of one optimization with a language model; see ``OptimizationTasks``."""

    def write_variants(self, request: VariantsRequest) -> WrittenDrafts:
        """Ask for variants."""
        messages, mark = variants_messages(request)
        answer = self._chat.chat(messages, purpose="variants", schema=VariantsAnswer)
        drafts = [VariantDraft(one.name, one.content, one.rationale) for one in answer.parsed.variants]
        return WrittenDrafts(drafts, mark)

    def write_edits(self, request: EditsRequest) -> WrittenEdits:
        """Ask for edits."""
        messages, mark = edits_messages(request)
        answer = self._chat.chat(messages, purpose="reflection", schema=EditsAnswer)
        drafts = [
            EditDraft(
                one.symptom,
                one.cause,
                [(found.conversation, found.quote) for found in one.evidence],
                one.operation,
                one.anchor,
                one.text,
            )
            for one in answer.parsed.edits
        ]
        return WrittenEdits(drafts, mark)
