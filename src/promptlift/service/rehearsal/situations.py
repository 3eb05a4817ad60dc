"""Scenarios of a rehearsal: everyday situations around the words of the prompt, with made-up details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.script import SCRIPT
from promptlift.service.rehearsal.words import keywords
from promptlift.service.simulations.tasks import ScenarioDraft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.simulations.tasks import ScenariosRequest

__all__ = ["write_situations"]

_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = ("January", "March", "April", "May", "July", "September", "October", "November")
_NAMES: Final = (
    "Amara Obi",
    "Jonas Berg",
    "Lucía Prieto",
    "Mei Tanaka",
    "Omar Haddad",
    "Petra Novak",
    "Sam Reed",
)
_GENERAL: Final = ("request", "booking", "order", "account", "appointment", "document", "invoice", "settings")


def write_situations(request: ScenariosRequest, seed: int) -> list[ScenarioDraft]:
    """Write scenarios for a prompt.

    Parameters
    ----------
    seed
        Seed of the run.
    """
    prompt = request.prompt
    topics = keywords(prompt.content, more=prompt.objective or "") or _GENERAL
    draws = Draws(seed, "scenarios", request.seed, prompt.content, prompt.objective or "", *request.titles)
    order = draws.shuffled([(situation, topic) for situation in SCRIPT["situations"] for topic in topics])
    return [_situation(*order[number % len(order)], topics, draws) for number in range(request.wanted)]


def _situation(situation: dict[str, str], topic: str, topics: Sequence[str], draws: Draws) -> ScenarioDraft:
    other = draws.one_of(topics)
    facts = {
        "it": _one(topic),
        "other": other if other != topic else draws.one_of(_GENERAL),
        "ref": f"{draws.whole(10, 99)}-{draws.whole(1000, 9999)}",
        "day": draws.one_of(_DAYS),
        "date": f"{draws.whole(1, 28)} {draws.one_of(_MONTHS)}",
        "name": draws.one_of(_NAMES),
    }
    title, opening, goal = (situation[part].format(**facts) for part in ("title", "opening", "goal"))
    return ScenarioDraft(
        title=f"Rehearsal: {title}",
        opening=opening[:1].upper() + opening[1:] if draws.uniform() < 0.8 else opening,
        goal=f"{goal} You know: reference {facts['ref']}, {facts['day']}, {facts['date']}, "
        f"name {facts['name']}. You are satisfied when it is said clearly what is so now.",
    )


def _one(topic: str) -> str:
    """Return the singular, as far as an ending shows it: ``refund`` for ``refunds``."""
    plural = topic.endswith("s") and not topic.endswith(("ss", "us", "is", "ies", "ches", "shes"))
    return topic[:-1] if plural else topic
