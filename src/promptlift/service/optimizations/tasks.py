"""The tasks of an optimization: those of a simulation, and writing variants and edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from promptlift.service.optimizations.reflection import EditsAnswer, edits_messages
from promptlift.service.optimizations.variants import VariantsAnswer, variants_messages
from promptlift.service.simulations.model_tasks import ModelSimulationTasks
from promptlift.service.simulations.tasks import SimulationTasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.optimizations.reflection import EditDraft, EditsRequest
    from promptlift.service.optimizations.variants import VariantDraft, VariantsRequest

# The mark around the data of the request, if any: a text that repeats it was manipulated.
Mark: TypeAlias = "str | None"


class OptimizationTasks(SimulationTasks, Protocol):
    """The tasks of one optimization; see ``SimulationTasks``."""

    def write_variants(self, request: VariantsRequest) -> tuple[Sequence[VariantDraft], Mark]:
        """Write one variant for each strategy, in order."""

    def write_edits(self, request: EditsRequest) -> tuple[Sequence[EditDraft], Mark]:
        """Write edits against problems in conversations, the most important first.

        ``LlmBadAnswer`` means that the writer is incapable of it: then there is no search.
        """


class ModelTasks(ModelSimulationTasks):
    """Carry out the tasks of one optimization with a language model; see ``OptimizationTasks``."""

    def write_variants(self, request: VariantsRequest) -> tuple[Sequence[VariantDraft], Mark]:
        """Request variants."""
        messages, mark = variants_messages(request)
        answer = self._chat.chat(messages, purpose="variants", schema=VariantsAnswer)
        return answer.parsed.variants, mark

    def write_edits(self, request: EditsRequest) -> tuple[Sequence[EditDraft], Mark]:
        """Request edits."""
        messages, mark = edits_messages(request)
        answer = self._chat.chat(messages, purpose="reflection", schema=EditsAnswer)
        return answer.parsed.edits, mark
