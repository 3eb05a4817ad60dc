"""Scenarios of a rehearsal: everyday situations around the words of the prompt, with made-up details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.rehearsal.draws import Draws
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

# Title, opening, what the person wants.
_SITUATIONS: Final = (
    (
        "{it}: what to do first",
        "Hi, I have something about my {it}, reference {ref}. Where do I start?",
        "You want to know exactly what to do about {it}, step by step.",
    ),
    (
        "{it} does not come",
        "I have been waiting for my {it} since {day}. Reference {ref}. What is going on?",
        "You want to know what holds {it} up and when it will be there.",
    ),
    (
        "change of {it}",
        "Can I still change my {it}, {ref}? It should be {date} instead.",
        "You want your {it} moved to {date}, or a clear no with a reason.",
    ),
    (
        "wrong {it}",
        "there's a mistake in my {it} ({ref}), it says {date} but it was {day}",
        "You want the date in {it} put right. You know that it was {day}.",
    ),
    (
        "second try with {it}",
        "I tried this on {day} and nothing happened. Once more: it is about my {it}, number {ref}, name {name}.",
        "You want {it} settled this time. You are sceptical until something definite is said.",
    ),
    (
        "{it} and {other} together",
        "Two things: my {it} {ref}, and then I also need to know about {other}.",
        "You want both settled, {it} first. An answer to only one of them is not enough.",
    ),
    (
        "cancel {it}",
        "please cancel my {it} {ref}, thanks, {name}",
        "You want your {it} cancelled and to hear that it is.",
    ),
    (
        "{it} for somebody else",
        "My mother {name} can't write herself. It is about her {it}, {ref}, of {date}.",
        "You want to know what you may do about {it} in her place, and do it.",
    ),
    (
        "cost of {it}",
        "What would the {it} cost me by {date}? My reference is {ref}.",
        "You want a number, or a clear statement of where to find it.",
    ),
    (
        "exception for {it}",
        "I know I am late with my {it}, but could you make an exception? {ref}, {name}.",
        "You hope for an exception. A friendly, well-founded no with another way is good enough.",
    ),
    (
        "{it} explained",
        "Somebody sent me a note about my {it} ({ref}) and I don't understand a word of it.",
        "You want to understand in plain words what it means for you.",
    ),
    (
        "contradiction about {it}",
        "On {day} I was told one thing about my {it}, today another. Which one holds for {ref}?",
        "You want one answer that holds, and to know why there were two.",
    ),
)


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
    order = draws.shuffled([(situation, topic) for situation in _SITUATIONS for topic in topics])
    return [_situation(*order[number % len(order)], topics, draws) for number in range(request.wanted)]


def _situation(
    situation: tuple[str, str, str], topic: str, topics: Sequence[str], draws: Draws
) -> ScenarioDraft:
    other = draws.one_of(topics)
    facts = {
        "it": _one(topic),
        "other": other if other != topic else draws.one_of(_GENERAL),
        "ref": f"{draws.whole(10, 99)}-{draws.whole(1000, 9999)}",
        "day": draws.one_of(_DAYS),
        "date": f"{draws.whole(1, 28)} {draws.one_of(_MONTHS)}",
        "name": draws.one_of(_NAMES),
    }
    title, opening, goal = (text.format(**facts) for text in situation)
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
