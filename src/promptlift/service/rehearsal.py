"""The stand-in for a language model, for when no endpoint is configured: its answers are scripted.

With it every screen of an optimization can be seen: variants, a winner, no winner, a winner that a guardrail
withholds, staged versions. **None of its answers say anything about a real prompt.**

The seed of the run decides whether any of ten fixed rules helps, and which. A variant or an edit adds one of
them to the prompt; how often a conversation succeeds depends only on the rules in the text and the opening.
Assistant and person use fixed lines, which the judge recognizes. The same run gives the same result, even if
interrupted.

Names and rationales of variants, symptoms of edits, titles of scenarios, first answers of the assistant and
summaries are marked as a rehearsal. No tokens are counted, because none are used.
"""

from __future__ import annotations

import math
import random
import threading
import tomllib
from functools import lru_cache
from importlib import resources
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.schema.inert import one_line
from promptlift.schema.insights import Issue, worst_first
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import Judgement
from promptlift.service.llm.port import Cancelled
from promptlift.service.optimizations.reflection import EditDraft
from promptlift.service.optimizations.variants import VariantDraft
from promptlift.service.simulations.scenarios import ScenarioAnswer
from promptlift.service.simulations.tasks import AssistantMessage, PersonaMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.optimizations.reflection import EditsRequest
    from promptlift.service.optimizations.variants import VariantsRequest
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.scenarios import ScenariosRequest
    from promptlift.service.simulations.tasks import Mark
    from promptlift.service.simulations.tools import ToolRequest

SCRIPT: Final[dict[str, Any]] = tomllib.loads(
    resources.files(__package__).joinpath("rehearsal.toml").read_text(encoding="utf-8")
)
RULES: Final[dict[str, str]] = SCRIPT["rules"]
FAILINGS: Final = ("vague", "again", "declined", "beside")
MARK: Final = "(Rehearsal)"
"""Prefix of the assistant's first answer."""

_KINDS: Final = {line: kind for kind, lines in SCRIPT["lines"].items() for line in lines}
# The effect of each rule on the chance of success, in logits; the seed assigns them.
_SOME_BETTER: Final = (1.9, 1.5, 1.2, 0.9, 0.3, 0.0, 0.0, 0.0, -0.7, -1.4)
_NONE_BETTER: Final = (0.2, 0.1, 0.0, 0.0, 0.0, 0.0, -0.2, -0.4, -0.7, -1.4)
# The maximum gain, however many rules help.
_MOST_GAINED: Final = 2.0
# Cumulative shares of conversations solved by the first, second, … answer.
_TURNS: Final = (0.30, 0.70, 0.92, 1.0)


def drawn(*key: str | int) -> random.Random:
    """Return a random generator for a key; only ``random()`` is the same in every version of Python."""
    return random.Random(ascii(key))


def kind_of(text: str) -> str | None:
    """Return the kind of a line; ``None`` for any other text."""
    return _KINDS.get(text.removeprefix(MARK).strip())


def subjects(text: str) -> tuple[str, ...]:
    """Return the subjects named in a text."""
    said = text.casefold()
    return tuple(one for one in SCRIPT["subjects"] if one in said)


class ScriptedPlan(NamedTuple):
    """The course of one conversation.

    Attributes
    ----------
    solved_in
        Number of the answer that solves the matter, from 1; ``None`` if none does.
    failing
        The kind of useless answers if none does.
    curt
        Whether the answer that solves it is unfriendly.
    """

    solved_in: int | None
    failing: str
    curt: bool


class Script:
    """The outcomes of one seed: for two of three seeds some rules help a lot, for the others none does.

    For one of six seeds the most effective rule makes the assistant unfriendly.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        fate = drawn(seed, "fate")
        effects = _SOME_BETTER if fate.random() < 2 / 3 else _NONE_BETTER
        names = sorted(RULES, key=lambda _: fate.random())
        self.effects = dict(zip(names, effects, strict=True))
        self.unfriendly = names[0] if fate.random() < 1 / 6 else None
        self.base = 0.9 * fate.random() - 0.2
        self._rules_in = lru_cache(maxsize=256)(_rules_in)

    def chance(self, content: str, opening: str) -> float:
        """Return the chance that a conversation succeeds, which depends only on the rules in the text."""
        ease = 4.0 * drawn(self.seed, "ease", opening).random() - 2.0
        gained = sum(self.effects[name] for name in self._rules_in(content))
        return 1.0 / (1.0 + math.exp(-(self.base + ease + min(gained, _MOST_GAINED))))

    def plan(self, content: str, opening: str) -> ScriptedPlan:
        """Decide the course of a conversation."""
        draws = drawn(self.seed, "conversation", content, opening)
        solved, turn = draws.random() < self.chance(content, opening), draws.random()
        return ScriptedPlan(
            solved_in=next(n for n, edge in enumerate(_TURNS, 1) if turn < edge) if solved else None,
            failing=FAILINGS[int(len(FAILINGS) * drawn(self.seed, "failing", opening).random())],
            curt=self.unfriendly in self._rules_in(content),
        )


def _rules_in(content: str) -> tuple[str, ...]:
    return tuple(name for name, rule in RULES.items() if rule in content)


# A conversation

_REACTIONS: Final = {"solves": "is_glad", "solves_curtly": "minds"}
_ENDS: Final = {
    "is_glad": "The user had what they came for and said thanks.",
    "minds": "The user had what they came for, and minded the tone.",
    "gives_up": "The user gave up.",
}
_TOPICS: Final = 3


def _line(kind: str, place: int) -> str:
    lines: list[str] = SCRIPT["lines"][kind]
    return lines[place % len(lines)]


def answer(script: Script, content: str, messages: Sequence[tuple[Role, str]]) -> str:
    """Return the assistant's next message under a text."""
    asked = [text for role, text in messages if role == "user"] or [""]
    turn, plan = len(asked), script.plan(content, asked[0])
    # Independent of the text: both arms of a pair use the same words when they do the same.
    draws = drawn(script.seed, "assistant", asked[0])
    asks_first, place = draws.random() < 0.5, turn + int(100 * draws.random())
    if plan.solved_in is None:
        kind = "asks" if turn == 1 and asks_first else plan.failing
    elif turn < plan.solved_in:
        kind = "asks"
    elif turn == plan.solved_in:
        kind = "solves_curtly" if plan.curt else "solves"
    else:
        kind = "closes"
    line = _line(kind, place)
    return f"{MARK} {line}" if turn == 1 else line


def react(script: Script, description: str, messages: Sequence[tuple[Role, str]]) -> PersonaMessage:
    """Return the next message of the described person."""
    answers = [text for role, text in messages if role == "assistant"]
    heard = [kind_of(text) for text in answers]
    spoken = [text for role, text in messages if role == "user"]
    draws = drawn(script.seed, "person", description, *spoken[:1])
    patience, place = 2 + int(3 * draws.random()), len(spoken) + int(100 * draws.random())
    last = heard[-1] if heard else None
    if last == "closes":
        return PersonaMessage("", is_last=True)
    if last in _REACTIONS:
        return PersonaMessage(_line(_REACTIONS[last], place), is_last=True)
    # An unknown line counts as a useless answer.
    if sum(kind is None or kind in FAILINGS for kind in heard) >= patience:
        return PersonaMessage(_line("gives_up", place), is_last=True)
    if last == "asks":
        asked = SCRIPT["lines"]["asks"].index(answers[-1].removeprefix(MARK).strip())
        return PersonaMessage(_line("tells", asked), is_last=False)
    return PersonaMessage(_line("complains", place), is_last=False)


def judge(
    seed: int, transcript: Transcript, *, exclusions: str | None = None, targets: Sequence[str] = ()
) -> Judgement:
    """Return the judgement of a conversation.

    Parameters
    ----------
    exclusions
        Data and topics that must not appear in it, as the account's owner wrote them.
    targets
        Targets for a variant: mostly met if the matter was solved.
    """
    turns = [(message.role, message.content) for message in transcript.messages if message.content.strip()]
    texts = [text for _, text in turns]
    kinds = [kind_of(text) for text in texts]
    rounds = sum(role == "assistant" for role, _ in turns)
    useless = sum(kind in FAILINGS for kind in kinds)
    curt, end = "solves_curtly" in kinds, kinds[-1] if kinds else None
    solved = end in {"is_glad", "minds", "solves", "solves_curtly", "closes"}
    sentiment = -0.35 if curt else 0.65 - 0.1 * useless if solved else -0.6 if end == "gives_up" else -0.25
    quality = (88 if solved else 38) - 4 * max(0, rounds - 2) - 4 * useless - (15 if curt else 0)
    draws = drawn(seed, "judge", *texts)
    score = round(max(-1.0, min(1.0, sentiment + 0.5 * draws.random() - 0.25)), 2)
    topics = subjects(next((text for role, text in turns if role == "user"), ""))[:_TOPICS]
    return read_exclusions(exclusions).applied(
        Judgement(
            sentiment="positive" if score > 0.15 else "negative" if score < -0.15 else "neutral",
            sentiment_score=score,
            task_completed=solved,
            quality=round(max(0.0, min(100.0, quality + 16.0 * draws.random() - 8.0))),
            topics=list(topics),
            summary=f"Rehearsal: the user came about {topics[0] if topics else 'something'}. The assistant answered "
            f"{rounds} time{'' if rounds == 1 else 's'}. {_ENDS.get(end or '', 'The conversation ended there.')}",
            issues=_issues(texts, kinds),
            criteria=tuple(
                drawn(seed, "target", one, *texts).random() < (0.9 if solved else 0.2) for one in targets
            ),
        )
    )


def _issues(texts: Sequence[str], kinds: Sequence[str | None]) -> list[Issue]:
    found: dict[str, Issue] = {}
    for text, kind in zip(texts, kinds, strict=True):
        if kind in SCRIPT["issues"]:
            title, severity = SCRIPT["issues"][kind]
            evidence = text.removeprefix(MARK).strip()
            found.setdefault(title, Issue(title=title, severity=severity, evidence=evidence))
    return worst_first(found.values())


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
            if answers and not one.of.completed:
                issue = next(iter(one.of.issues), "The matter was left open")
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
