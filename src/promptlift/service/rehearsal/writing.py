"""What the writers of a rehearsal write: variants and edits from its rules, and scenarios from its situations."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from promptlift.service.optimizations.reflection import EditDraft
from promptlift.service.optimizations.variants import VariantDraft
from promptlift.service.rehearsal.script import MARK, RULES, SCRIPT, drawn, subjects
from promptlift.service.simulations.tasks import ScenarioDraft

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from promptlift.service.optimizations.reflection import EditsRequest
    from promptlift.service.simulations.tasks import ScenariosRequest


_RATIONALE: Final = "Rehearsal: {}. The built-in stand-in wrote this, so it says nothing about a real prompt."
_EDITS: Final = 2
_EVIDENCE: Final = 3
_QUOTE_CHARS: Final = 120
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = ("January", "March", "April", "May", "July", "September", "October", "November")
_NAMES: Final = ("Amara Obi", "Jonas Berg", "Lucía Prieto", "Mei Tanaka", "Omar Haddad", "Petra Novak")


def write_variant(strategy: str, content: str) -> VariantDraft:
    """Add the rule of a strategy to a text; an unknown strategy gets one of the rules, always the same."""
    rules = list(RULES.values())
    rule = RULES.get(strategy, rules[sum(strategy.encode()) % len(rules)])
    name = f"{strategy[:1].lower()}{strategy[1:]}"
    return VariantDraft(
        name=f"Rehearsal: {name}",
        content=f"{content}\n\n{rule}",
        rationale=_RATIONALE.format("a fixed rule was added"),
    )


def write_edits(request: EditsRequest, seed: int) -> list[EditDraft]:
    """Add a rule against each of the most frequent issues of the failed conversations, whatever it is."""
    quotes: dict[str, list[dict[str, str]]] = {}
    for one in request.conversations:
        answers = [text for role, text in one.turns if role == "assistant"]
        if answers and not one.completed:
            issue = next(iter(one.issues), "The matter was left open")
            quote = answers[-1].removeprefix(MARK).strip()[:_QUOTE_CHARS].rstrip()
            quotes.setdefault(issue, []).append({"conversation": one.id, "quote": quote})
    issues = sorted(quotes, key=lambda issue: -len(quotes[issue]))[:_EDITS]
    draws = drawn("rules", request.prompt.content, seed, request.seed)
    unused = [rule for rule in RULES.values() if rule not in request.prompt.content]
    rules = sorted(unused, key=lambda _: draws.random())
    return [
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


def write_scenarios(request: ScenariosRequest, seed: int) -> list[ScenarioDraft]:
    """Write everyday situations around the subjects that the prompt names, with made-up details."""
    text = f"{request.prompt.content}\n{request.prompt.objective or ''}"
    draws = drawn(seed, "scenarios", request.seed, text, *request.titles)
    pairs = product(SCRIPT["situations"], subjects(text) or SCRIPT["subjects"])
    order = sorted(pairs, key=lambda _: draws.random())
    return [_scenario(*order[number % len(order)], draws) for number in range(request.wanted)]


def _scenario(situation: dict[str, str], subject: str, draws: random.Random) -> ScenarioDraft:
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
    return ScenarioDraft(title=f"Rehearsal: {title}", opening=opening, goal=f"{goal} {known}")
