"""The tasks of a run, carried out without a language model."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from promptlift.service.llm.failures import Cancelled
from promptlift.service.rehearsal.conversation import answer, judge, react
from promptlift.service.rehearsal.script import Script
from promptlift.service.rehearsal.writing import write_edits, write_scenarios, write_variant
from promptlift.service.simulations.tasks import AssistantMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.insights.judge import Judgement
    from promptlift.service.insights.organization import Organization
    from promptlift.service.optimizations.reflection import EditDraft, EditsRequest
    from promptlift.service.optimizations.tasks import Mark
    from promptlift.service.optimizations.variants import VariantDraft, VariantsRequest
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.tasks import (
        PersonaMessage,
        PromptText,
        Scenario,
        ScenarioDraft,
        ScenariosRequest,
    )
    from promptlift.service.simulations.tools.request import ToolRequest


class Rehearsal:
    """Carry out the tasks of one run without a model: deterministic, and without meaning for a real prompt.

    The package's description says how. Safe to use from many threads. See ``OptimizationTasks``.

    Parameters
    ----------
    seed
        Seed of the run. The same seed and the same task give the same answer.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._script = Script(seed)
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

    def write_variants(self, request: VariantsRequest) -> tuple[Sequence[VariantDraft], Mark]:
        """Add a fixed rule to the prompt for each strategy."""
        self._count()
        content = request.prompt.content
        return [write_variant(one.name, content) for one in request.strategies], None

    def write_edits(self, request: EditsRequest) -> tuple[Sequence[EditDraft], Mark]:
        """Add fixed rules against what failed most often."""
        self._count()
        return write_edits(request, self.seed), None

    def write_scenarios(self, request: ScenariosRequest) -> Sequence[ScenarioDraft]:
        """Write everyday situations around the subjects of the prompt."""
        self._count()
        return write_scenarios(request, self.seed)

    def answer_as_assistant(
        self,
        *,
        prompt: PromptText,  # noqa: ARG002 - no model is called, so its settings do not matter
        content: str,
        messages: Sequence[tuple[Role, str]],
    ) -> AssistantMessage:
        """Solve the request, or fail to, as the script of this seed has it."""
        self._count()
        return AssistantMessage(answer(self._script, content, messages))

    def speak_as_persona(
        self,
        *,
        persona: SimulatedPersona,
        scenario: Scenario,  # noqa: ARG002 - the opening says everything already
        messages: Sequence[tuple[Role, str]],
        seed: int,  # noqa: ARG002 - the run's seed decides
    ) -> PersonaMessage:
        """React to what the assistant said."""
        self._count()
        return react(self._script, persona.description, messages)

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
        return judge(self.seed, transcript, exclusions=exclusions, targets=targets)

    def _count(self) -> None:
        if self._cancelled:
            raise Cancelled
        with self._lock:
            self._calls += 1
