"""The judge of a rehearsal: it recognises the lines that were spoken, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import SEVERITIES, Issue, Judgement
from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.lines import MARK, USELESS, kind_of, subject
from promptlift.service.rehearsal.words import keywords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.insights.judge import Severity
    from promptlift.service.rehearsal.lines import Kind

__all__ = ["judge"]

_TOPICS: Final = 3
_MET_WHEN_SOLVED: Final = 0.9
_MET_ELSE: Final = 0.2
_ISSUES: Final[dict[Kind, tuple[str, Severity]]] = {
    "vague": ("Only general advice", "high"),
    "again": ("Asked again for known details", "medium"),
    "declined": ("Declined without an alternative", "high"),
    "beside": ("Answered another question", "high"),
    "solves curtly": ("Unfriendly tone", "medium"),
}
_END: Final[dict[Kind, str]] = {
    "is glad": "The user had what they came for and said thanks.",
    "is done": "The user had what they came for, and minded the tone.",
    "gives up": "The user gave up.",
}
_NO_END: Final = "The conversation ended there."


def judge(
    transcript: Transcript, seed: int, *, exclusions: str | None = None, targets: Sequence[str] = ()
) -> Judgement:
    """Return the judgement of a conversation.

    Parameters
    ----------
    exclusions
        Data and topics that must not appear in it, as the account's owner wrote them.
    targets
        What a variant is to improve: met mostly where the request was solved.
    """
    turns = [(message.role, message.content) for message in transcript.messages if message.content.strip()]
    kinds = [kind_of(text) for _, text in turns]
    draws = Draws(seed, "judge", *(text for _, text in turns))
    end = kinds[-1] if kinds else None
    solved = end in ("is glad", "is done") or (
        end in ("solves", "solves curtly", "closes") and turns[-1][0] == "assistant"
    )
    curt = "solves curtly" in kinds
    useless = sum(kind in USELESS for kind in kinds)
    rounds = sum(role == "assistant" for role, _ in turns)
    score = _sentiment(draws, solved=solved, curt=curt, useless=useless, gave_up=end == "gives up")
    opening = next((text for role, text in turns if role == "user"), "")
    judgement = Judgement(
        sentiment="positive" if score > 0.15 else "negative" if score < -0.15 else "neutral",
        sentiment_score=score,
        task_completed=solved,
        quality=_quality(draws, solved=solved, curt=curt, useless=useless, rounds=rounds),
        topics=keywords(opening)[:_TOPICS],
        summary=f"Rehearsal: the user came about {subject(opening)}. The assistant answered {rounds} "
        f"time{'' if rounds == 1 else 's'}. {_END.get(end, _NO_END) if end else _NO_END}",
        issues=_issues(turns, kinds),
        criteria=tuple(
            Draws(seed, "target", target, *(text for _, text in turns)).between(0.0, 1.0)
            < (_MET_WHEN_SOLVED if solved else _MET_ELSE)
            for target in targets
        ),
    )
    return read_exclusions(exclusions).applied(judgement)


def _sentiment(draws: Draws, *, solved: bool, curt: bool, useless: int, gave_up: bool) -> float:
    if curt:
        middle = -0.35
    elif solved:
        middle = 0.65 - 0.1 * useless
    else:
        middle = -0.6 if gave_up else -0.25
    return round(max(-1.0, min(1.0, middle + draws.between(-0.25, 0.25))), 2)


def _quality(draws: Draws, *, solved: bool, curt: bool, useless: int, rounds: int) -> int:
    points = (88.0 if solved else 38.0) - 4.0 * max(0, rounds - 2) - 4.0 * useless - (15.0 if curt else 0.0)
    return round(max(0.0, min(100.0, points + draws.between(-8.0, 8.0))))


def _issues(turns: Sequence[tuple[Role, str]], kinds: Sequence[Kind | None]) -> tuple[Issue, ...]:
    found: dict[str, Issue] = {}
    for (role, text), kind in zip(turns, kinds, strict=True):
        if role == "assistant" and kind in _ISSUES:
            title, severity = _ISSUES[kind]
            found.setdefault(title, Issue(title, severity, text.removeprefix(MARK).strip()))
    return tuple(sorted(found.values(), key=lambda issue: SEVERITIES.index(issue.severity)))
