"""A rehearsed conversation: the lines of assistant and person, and the judge who recognizes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import SEVERITIES, JudgedIssue, Judgement
from promptlift.service.rehearsal.script import FAILINGS, MARK, SCRIPT, drawn, kind_of, subjects
from promptlift.service.simulations.tasks import PersonaMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.rehearsal.script import Script


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
            topics=topics,
            summary=f"Rehearsal: the user came about {topics[0] if topics else 'something'}. The assistant answered "
            f"{rounds} time{'' if rounds == 1 else 's'}. {_ENDS.get(end or '', 'The conversation ended there.')}",
            issues=_issues(texts, kinds),
            criteria=tuple(
                drawn(seed, "target", one, *texts).random() < (0.9 if solved else 0.2) for one in targets
            ),
        )
    )


def _issues(texts: Sequence[str], kinds: Sequence[str | None]) -> tuple[JudgedIssue, ...]:
    found: dict[str, JudgedIssue] = {}
    for text, kind in zip(texts, kinds, strict=True):
        if kind in SCRIPT["issues"]:
            title, severity = SCRIPT["issues"][kind]
            found.setdefault(title, JudgedIssue(title, severity, text.removeprefix(MARK).strip()))
    return tuple(sorted(found.values(), key=lambda issue: SEVERITIES.index(issue.severity)))
