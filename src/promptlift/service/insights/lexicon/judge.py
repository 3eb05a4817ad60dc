"""The built-in analyser: outcome, issues, quotations and summary of a conversation, from phrases.

The score is a sum of points, chosen by common sense, mapped to 0..1 by the logistic function. It reflects
what people write about the outcome, never the outcome itself: a conversation in which the assistant politely
did the wrong thing looks completed.

Counting tool errors was decided on the retail agents of tau2-bench; the other rules were fitted to no data. A
refusal or a handover counts against completion, although an agent's policy may require it: where most of them
are right, as with the airline agents of that benchmark, the ranking is no better than chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import shorten_middle
from promptlift.schema.insights import Issue, worst_first
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import LEXICON, Judgement, check_text
from promptlift.service.insights.lexicon import phrases
from promptlift.service.insights.lexicon.signals import Signals, notice, quotation
from promptlift.service.insights.lexicon.steps import find_steps
from promptlift.service.insights.lexicon.vader import vader
from promptlift.service.insights.turns import JudgedTurn, read_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.insights import Severity
    from promptlift.schema.transcript import Transcript
    from promptlift.service.insights.lexicon.signals import Signals
    from promptlift.service.insights.organization import Organization
    from promptlift.service.insights.turns import JudgedTurn


WEIGHTS: Final[dict[Severity, float]] = {"high": 1.0, "medium": 0.5, "low": 0.2}

TITLES: Final[dict[str, tuple[str, Severity]]] = {
    "gives_up": ("User gave up", "high"),
    "not_solved": ("Answer did not help the user", "high"),
    "unanswered": ("Last user message was not answered", "high"),
    "wants_person": ("User asked for a person", "medium"),
    "handed_over": ("Conversation was handed over", "medium"),
    "cannot": ("Assistant could not do what was asked", "medium"),
    "failed": ("Assistant reported a failure", "medium"),
    "repeats": ("User had to repeat the request", "medium"),
    "upset": ("User was upset", "medium"),
    "not_solved_early": ("An answer on the way did not help", "low"),
    "tool_error": ("A tool call failed", "low"),
}
COMPLETED_FROM: Final = 0.5
# Without evidence for either, a conversation is taken as slightly more likely completed than not.
START: Final = 0.4

POINTS: Final[dict[str, float]] = {
    "thanks": 1.0,
    "solved": 1.5,
    "farewell": 0.5,
    "done": 1.0,
    "friendly_end": 0.5,
    "not_solved": -2.0,
    "not_solved_early": -0.5,
    "gives_up": -2.0,
    "wants_person": -1.5,
    "repeats": -0.5,
    "cannot": -1.0,
    "failed": -1.0,
    "handed_over": -1.5,
    "open_question": -0.7,
    "unanswered": -1.5,
    "tool_error": -0.7,
    "last_tool_error": -2.0,
}
NO_ANSWER: Final = -3.0
LAST_SENTIMENT: Final = 0.5  # times the VADER compound of the user's last turn


def completion_score(signals: Signals) -> float:
    """Return a score from 0 to 1 that orders conversations; it is not a probability."""
    points = START + LAST_SENTIMENT * signals.last_sentiment
    points += sum(value for name, value in POINTS.items() if getattr(signals, name) is not None)
    if signals.assistant_turns == 0:
        points += NO_ANSWER
    return 1 / (1 + math.exp(-points))


SUMMARY_CHARS: Final = 400
REQUEST_CHARS: Final = 180
END_CHARS: Final = 140
GREETING_WORDS: Final = 3

# The first applicable sentence is used.
_ENDINGS: Final = (
    ("gives_up", "The user gave up"),
    ("not_solved", "The user said it did not help"),
    ("unanswered", "The user's last message was not answered"),
    ("handed_over", "The conversation was handed over"),
    ("solved", "The user was satisfied"),
    ("thanks", "The user said thanks"),
    ("failed", "The assistant reported a failure"),
    ("cannot", "The assistant could not help"),
    ("done", "The assistant reported that it was done"),
    ("open_question", "It ended with a question to the user"),
)


def request_of(turns: Sequence[JudgedTurn]) -> str | None:
    """Return what the user asked for, in one line: the first message that is more than a greeting."""
    user = [turn for turn in turns if turn.speaker == "user"]
    if not user:
        return None
    request = next((turn for turn in user if turn.words.count(" ") - 1 > GREETING_WORDS), user[0])
    return _one_line(request.text, REQUEST_CHARS)


def summarize(turns: Sequence[JudgedTurn], signals: Signals) -> str:
    """Quote the first request, and describe how the conversation ended."""
    request = request_of(turns)
    if request is None:
        return "The user said nothing."
    asked = f"Asked: “{request}”."
    ending = next((text for name, text in _ENDINGS if getattr(signals, name) is not None), None)
    answers = [turn for turn in turns if turn.speaker == "assistant"]
    if not answers:
        return f"{asked} Nobody answered."[:SUMMARY_CHARS]
    # Up to two polite endings are skipped.
    told = (
        turn for turn in reversed(answers[-3:]) if not any(one in turn.words for one in phrases.ANYTHING_ELSE)
    )
    last = f"Last answer: “{_one_line(next(told, answers[-1]).text, END_CHARS)}”."
    return " ".join(part for part in (asked, f"{ending}." if ending else "", last) if part)[:SUMMARY_CHARS]


def _one_line(text: str, limit: int) -> str:
    return shorten_middle(" ".join(text.split()), limit)


# The label thresholds recommended by VADER's authors.
POSITIVE_FROM: Final = 0.05
NEGATIVE_TO: Final = -0.05
# How much more the user's last turn counts than the first.
LAST_TURN_WEIGHT: Final = 3.0

QUALITY_COMPLETION: Final = 60.0
QUALITY_SENTIMENT: Final = 25.0
QUALITY_ISSUES: Final = 15.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The scores and signals of a conversation, before they become a judgement.

    Attributes
    ----------
    sentiment_score
        -1 to 1.
    completion_score
        0 to 1, an order and not a probability; completed from 0.5.
    """

    turns: tuple[JudgedTurn, ...]
    sentiment_score: float
    completion_score: float
    signals: Signals


def read_conversation(transcript: Transcript) -> Reading:
    """Apply the rules; see ``LexiconJudge``."""
    turns = read_turns(transcript)
    compound = vader().compound
    sentiments = [compound(turn.text) for turn in turns if turn.speaker == "user"]
    signals = notice(turns, sentiments)
    return Reading(tuple(turns), _weighted(sentiments), completion_score(signals), signals)


class LexiconJudge:
    """Judge by VADER and documented rules: in a millisecond, without a model, and roughly.

    - *sentiment*: VADER's compound score of every user turn, averaged; the weight grows evenly from 1 for the first
      turn to 3 for the last. Positive from 0.05, negative to -0.05, the bounds of VADER's authors.
    - *completion*: points for statements at the end (thanks, "that works", a reported success, an inability,
      a handover, an unanswered message, an error of a tool), see ``POINTS``.
    - *quality*: 60 times the completion score, 25 times the sentiment moved to 0..1, and 15 less 15 times the
      issues' weight (high 1, medium 0.5, low 0.2, together at most 1).
    - *issues*, *summary*: fixed lists and quotations. It has no topics: those are found in the logs (`topics`).

    It reads English only, and only what people write: it cannot see whether the right thing was done. At most
    4,000 characters of a message (its start and its end), 48,000 characters and 240 messages of a
    conversation are read, so a typical conversation takes about a millisecond and the worst one found about
    30. The same transcript always gets the same judgement. The objective, the organization and targets are
    not used.
    """

    analyser: Final = LEXICON

    def judge(
        self,
        transcript: Transcript,
        *,
        objective: str | None = None,  # noqa: ARG002
        exclusions: str | None = None,
        organization: Organization | None = None,  # noqa: ARG002
        targets: Sequence[str] = (),  # noqa: ARG002
    ) -> Judgement:
        """Judge one conversation; see ``Judge``.

        Raises
        ------
        JudgeFailed
            No message holds any text.
        """
        check_text(transcript)
        reading = read_conversation(transcript)
        excluded, score = read_exclusions(exclusions), round(reading.sentiment_score, 4)
        issues = find_issues(reading.signals)
        burden = min(1.0, sum(WEIGHTS[issue["severity"]] for issue in issues))
        completed = reading.completion_score >= COMPLETED_FROM
        steps, failed_step = find_steps(reading.turns, completed=completed)
        judgement = Judgement(
            # Derived from the stored number, so that score and label never disagree.
            sentiment="positive"
            if score >= POSITIVE_FROM
            else "negative"
            if score <= NEGATIVE_TO
            else "neutral",
            sentiment_score=score,
            task_completed=completed,
            quality=round(
                QUALITY_COMPLETION * reading.completion_score
                + QUALITY_SENTIMENT * (reading.sentiment_score + 1) / 2
                + QUALITY_ISSUES * (1 - burden),
                1,
            ),
            topics=[],
            summary=summarize(reading.turns, reading.signals),
            issues=issues,
            steps=steps,
            failed_step=failed_step,
        )
        return excluded.applied(judgement)


def _weighted(sentiments: Sequence[float]) -> float:
    if not sentiments:
        return 0.0
    step = (LAST_TURN_WEIGHT - 1) / max(len(sentiments) - 1, 1)
    weights = [1 + step * place for place in range(len(sentiments))]
    return sum(w * s for w, s in zip(weights, sentiments, strict=True)) / sum(weights)


def find_issues(signals: Signals) -> list[Issue]:
    """Return the issues, worst first, each with a quotation."""
    return worst_first(
        Issue(title=title, severity=severity, evidence=quotation(evidence))
        for name, (title, severity) in TITLES.items()
        if (evidence := getattr(signals, name)) is not None
    )
