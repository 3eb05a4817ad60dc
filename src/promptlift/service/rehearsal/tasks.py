"""The tasks of a run, carried out without a language model."""

from __future__ import annotations

import threading
from itertools import product
from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import one_line
from promptlift.service.llm.failures import Cancelled
from promptlift.service.optimizations.reflection import EditDraft
from promptlift.service.optimizations.variants import VariantDraft
from promptlift.service.rehearsal.script import (
    MARK,
    RULES,
    SCRIPT,
    Script,
    answer,
    drawn,
    judge,
    react,
    subjects,
)
from promptlift.service.simulations.scenarios import ScenarioAnswer
from promptlift.service.simulations.tasks import AssistantMessage

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.insights.judge import Judgement
    from promptlift.service.optimizations.reflection import EditsRequest
    from promptlift.service.optimizations.variants import VariantsRequest
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.scenarios import ScenariosRequest
    from promptlift.service.simulations.tasks import Mark, PersonaMessage
    from promptlift.service.simulations.tools import ToolRequest


_RATIONALE: Final = "Rehearsal: {}. The built-in stand-in wrote this, so it says nothing about a real prompt."
_EDITS: Final = 2
_EVIDENCE: Final = 3
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = ("January", "March", "April", "May", "July", "September", "October", "November")
_NAMES: Final = ("Amara Obi", "Jonas Berg", "Lucía Prieto", "Mei Tanaka", "Omar Haddad", "Petra Novak")


class Rehearsal:
    """Carry out the tasks of one run without a model: deterministically, and without relevance to a real prompt.

    See the package's docstring. Thread-safe. See ``Tasks``.

    Parameters
    ----------
    seed
        Seed of the run. The same seed and the same task give the same answer.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._script = Script(seed)
        self._lock = threading.Lock()
        # Tasks carried out so far: each would have been a model call. No tokens are used.
        self.calls = self.tokens = 0
        self._cancelled = False

    @property
    def model(self) -> Rehearsal:
        """Itself: no model is asked."""
        return self

    def cancel(self) -> None:
        """End the run: every later task raises ``Cancelled``."""
        self._cancelled = True

    def write_variants(self, request: VariantsRequest) -> tuple[Sequence[VariantDraft], Mark]:
        """Add a fixed rule to the prompt for each strategy; another one where the prompt has that rule already."""
        self._count()
        content, rules = request.prompt.content, list(RULES.values())
        # An unknown strategy always gets the same one.
        names = [one.name for one in request.strategies]
        own = {name: RULES.get(name, rules[sum(name.encode()) % len(rules)]) for name in names}
        spare = [rule for rule in rules if rule not in content and rule not in own.values()]
        drafts = []
        for name in names:
            new = spare.pop() if own[name] in content and spare else own[name]
            draft = VariantDraft(
                name=f"Rehearsal: {name[:1].lower()}{name[1:]}",
                content=f"{content}\n\n{new}",
                rationale=_RATIONALE.format("a fixed rule was added"),
            )
            drafts.append(draft)
        return drafts, None

    def write_edits(self, request: EditsRequest) -> tuple[Sequence[EditDraft], Mark]:
        """Add a fixed rule against each of the most frequent issues of the failed conversations, whatever it is."""
        self._count()
        quotes: dict[str, list[dict[str, str]]] = {}
        for one in request.conversations:
            answers = [text for role, text in one.turns if role == "assistant"]
            if answers and not one.completed:
                issue = next(iter(one.issues), "The matter was left open")
                quote = one_line(answers[-1].removeprefix(MARK), 120).removesuffix("…")
                quotes.setdefault(issue, []).append({"conversation": one.id, "quote": quote})
        issues = sorted(quotes, key=lambda issue: -len(quotes[issue]))[:_EDITS]
        draws = drawn("rules", request.prompt.content, self.seed, request.seed)
        unused = [rule for rule in RULES.values() if rule not in request.prompt.content]
        rules = sorted(unused, key=lambda _: draws.random())
        edits = [
            EditDraft.model_validate(
                {
                    "symptom": f"Rehearsal: {issue}",
                    "cause": "No rule prevents it.",
                    "evidence": quotes[issue][:_EVIDENCE],
                    "operation": "add",
                    "text": rule,
                }
            )
            for issue, rule in zip(issues, rules, strict=False)
        ]
        return edits, None

    def write_scenarios(self, request: ScenariosRequest) -> Sequence[ScenarioAnswer]:
        """Write everyday situations around the subjects named in the prompt, with made-up details."""
        self._count()
        text = f"{request.prompt.content}\n{request.prompt.objective or ''}"
        draws = drawn(self.seed, "scenarios", request.seed, text, *request.titles)
        pairs = product(SCRIPT["situations"], subjects(text) or SCRIPT["subjects"])
        order = sorted(pairs, key=lambda _: draws.random())
        return [_scenario(*order[number % len(order)], draws) for number in range(request.wanted)]

    def answer_as_assistant(
        self, *, content: str, messages: Sequence[tuple[Role, str]], **_: object
    ) -> AssistantMessage:
        """Solve the request, or fail to, according to the script of this seed."""
        self._count()
        return AssistantMessage(answer(self._script, content, messages))

    def speak_as_persona(
        self, *, persona: SimulatedPersona, messages: Sequence[tuple[Role, str]], **_: object
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
        exclusions: str | None,
        targets: Sequence[str] = (),
        **_: object,
    ) -> Judgement:
        """Judge a conversation by its recognized lines."""
        self._count()
        return judge(self.seed, transcript, exclusions=exclusions, targets=targets)

    def _count(self) -> None:
        if self._cancelled:
            raise Cancelled
        with self._lock:
            self.calls += 1


def _scenario(situation: dict[str, str], subject: str, draws: random.Random) -> ScenarioAnswer:
    def one_of(choices: Sequence[str]) -> str:
        return choices[int(len(choices) * draws.random())]

    facts = {
        "it": subject,
        "ref": f"{10 + int(90 * draws.random())}-{1000 + int(9000 * draws.random())}",
        "day": one_of(_DAYS),
        "date": f"{1 + int(28 * draws.random())} {one_of(_MONTHS)}",
        "name": one_of(_NAMES),
    }
    title, opening, goal = (situation[part].format(**facts) for part in ("title", "opening", "goal"))
    known = f"You know: reference {facts['ref']}, {facts['day']}, {facts['date']}, name {facts['name']}."
    return ScenarioAnswer(title=f"Rehearsal: {title}", opening=opening, goal=f"{goal} {known}")
