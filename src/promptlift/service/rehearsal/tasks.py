"""The tasks of a run, carried out without a language model."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.failures import Cancelled
from promptlift.service.optimizations.tasks import VariantDraft, WrittenDrafts, WrittenEdits
from promptlift.service.rehearsal.conversation import answer_as_assistant, speak_as_persona
from promptlift.service.rehearsal.judgement import judge
from promptlift.service.rehearsal.reflection import write_edits
from promptlift.service.rehearsal.rewrites import rewrite
from promptlift.service.rehearsal.situations import write_situations
from promptlift.service.rehearsal.truth import Truth
from promptlift.service.simulations.tasks import AssistantMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.insights.judge import Judgement
    from promptlift.service.insights.organization import Organization
    from promptlift.service.optimizations.tasks import EditsRequest, VariantsRequest
    from promptlift.service.simulations.personas import Persona
    from promptlift.service.simulations.tasks import (
        PersonaMessage,
        PromptText,
        Scenario,
        ScenarioDraft,
        ScenariosRequest,
    )
    from promptlift.service.simulations.tools.request import ToolRequest

__all__ = ["Rehearsal"]

_RATIONALE: Final = (
    "Rehearsal: {why}. The built-in stand-in wrote this, so it says nothing about a real prompt."
)


class Rehearsal:
    """Carry out the tasks of one run without a model: deterministic, and without meaning for a real prompt.

    The package's description says how its truth is made. Safe to use from many threads. See ``OptimizationTasks``.

    Parameters
    ----------
    seed
        Seed of the run. The same seed and the same task give the same answer.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._truth = Truth(seed)
        self._lock = threading.Lock()
        self._calls = 0
        self._cancelled = False

    def __repr__(self) -> str:
        return f"Rehearsal({self.seed})"

    @property
    def calls(self) -> int:
        """Tasks carried out so far: a model would have been called for each."""
        return self._calls

    @property
    def tokens(self) -> int:
        """Always 0, because no tokens are used."""
        return 0

    def cancel(self) -> None:
        """End the run: every later task raises ``Cancelled``."""
        self._cancelled = True

    def write_variants(self, request: VariantsRequest) -> WrittenDrafts:
        """Add a built-in rewrite to the prompt for each strategy."""
        self._count()
        drafts = []
        for strategy in request.strategies:
            avoid = [
                words for draft in request.drafts if draft.strategy == strategy.name for words in draft.words
            ]
            content, why = rewrite(
                strategy.name,
                request.prompt.content,
                failures=request.failures,
                intent=request.intent,
                avoid=avoid,
            )
            name = f"Rehearsal: {strategy.name[:1].lower()}{strategy.name[1:]}"
            drafts.append(VariantDraft(name, content, _RATIONALE.format(why=why)))
        return WrittenDrafts(drafts)

    def write_edits(self, request: EditsRequest) -> WrittenEdits:
        """Word a rule against each symptom that the conversations show."""
        self._count()
        return WrittenEdits(write_edits(request, self.seed))

    def write_scenarios(self, request: ScenariosRequest) -> Sequence[ScenarioDraft]:
        """Write everyday situations around the words of the prompt."""
        self._count()
        return write_situations(request, self.seed)

    def answer_as_assistant(
        self,
        *,
        prompt: PromptText,  # noqa: ARG002 - no model is called, so its settings do not matter
        content: str,
        messages: Sequence[tuple[Role, str]],
    ) -> AssistantMessage:
        """Solve the request, or fail to, as the truth of this seed has it."""
        self._count()
        return AssistantMessage(answer_as_assistant(content, messages, self._truth))

    def speak_as_persona(
        self,
        *,
        persona: Persona,
        scenario: Scenario,  # noqa: ARG002 - the opening says everything already
        messages: Sequence[tuple[Role, str]],
        seed: int,  # noqa: ARG002 - the run's seed decides
    ) -> PersonaMessage:
        """React to what the assistant said."""
        self._count()
        return speak_as_persona(persona.description, messages, self._truth)

    def play_tool(self, request: ToolRequest) -> str:
        """Return nothing: the assistants of a rehearsal call no tools."""
        del request
        return ""

    def judge(
        self,
        transcript: Transcript,
        *,
        objective: str | None,  # noqa: ARG002 - the lines say everything
        exclusions: str | None,
        organization: Organization | None = None,  # noqa: ARG002 - the same
        targets: Sequence[str] = (),
    ) -> Judgement:
        """Recognise the lines of a conversation, and judge by them."""
        self._count()
        return judge(transcript, self.seed, exclusions=exclusions, targets=targets)

    def _count(self) -> None:
        if self._cancelled:
            raise Cancelled
        with self._lock:
            self._calls += 1
