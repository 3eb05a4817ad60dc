"""The judge that asks a language model, and the checks that decide how much of its answer is believed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    StrictFloat,
    StrictInt,
)
from pydantic.alias_generators import to_camel

from promptlift.schema.insights import Sentiment
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import (
    SEVERITIES,
    JudgedIssue,
    JudgeFailed,
    Judgement,
    JudgeUnavailable,
    Severity,
)
from promptlift.service.insights.lexicon.steps import find_steps
from promptlift.service.insights.llm_prompt import BUDGET_CHARS, judge_messages, target_name
from promptlift.service.insights.turns import read_turns
from promptlift.service.llm.failures import LlmBadAnswer, LlmRefused, LlmUnavailable
from promptlift.service.llm.hostile_text import storable_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Transcript
    from promptlift.service.insights.organization import Organization
    from promptlift.service.llm.port import ChatModel


ANSWER_TOKENS: Final = 4_000
SUMMARY_CHARS: Final = 1_000
# The operator can correct these (key, model name, address), so the conversation waits instead of failing.
MENDABLE_STATUSES: Final = frozenset({401, 402, 403, 404})
TOPICS_MAX: Final = 8
TOPIC_CHARS: Final = 60
ISSUES_MAX: Final = 10
TITLE_CHARS: Final = 120
EVIDENCE_CHARS: Final = 300

# A rounding slip is moved into the range; another scale is not guessed.
SCORE_SLACK: Final = 0.05
QUALITY_SLACK: Final = 1.0
# A label may differ from its number by a shade, not by the sign.
CONTRADICTION: Final = 0.2


def _said(text: str) -> str:
    line = storable_line(text)
    if not line:
        raise ValueError("must not be empty")
    return line


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _score(value: float) -> float:
    if not -1 - SCORE_SLACK <= value <= 1 + SCORE_SLACK:
        raise ValueError("must be from -1 to 1")
    return float(value)


def _percent(value: float) -> float:
    if not -QUALITY_SLACK <= value <= 100 + QUALITY_SLACK:
        raise ValueError("must be from 0 to 100")
    return float(value)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _issue(value: Any) -> Any:
    """Return an issue with all its fields: without strict schemas, models write a bare title or leave out what is not known."""
    if isinstance(value, str):
        return {"title": value, "severity": "medium", "evidence": None}
    if isinstance(value, dict):
        severity = _lower(value.get("severity"))
        evidence = value.get("evidence")
        return {
            "title": value.get("title", value.get("issue")),
            "severity": severity if severity in SEVERITIES else "medium",
            "evidence": evidence if isinstance(evidence, str) else None,
        }
    return value


_Number = Annotated[StrictFloat | StrictInt, AfterValidator(_finite)]


class IssueAnswer(BaseModel):
    """One issue as the model names it."""

    title: Annotated[str, AfterValidator(_said)]
    severity: Severity
    evidence: str | None


class JudgeAnswer(BaseModel):
    """The fields that a judge answers; every one is needed, others are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    sentiment: Annotated[Sentiment, BeforeValidator(_lower)]
    sentiment_score: Annotated[_Number, AfterValidator(_score)]
    task_completed: StrictBool
    quality: Annotated[_Number, AfterValidator(_percent)]
    topics: list[str]
    summary: Annotated[str, AfterValidator(_said)]
    issues: list[Annotated[IssueAnswer, BeforeValidator(_issue)]]


def _criteria(value: Any) -> Any:
    """Leave out what does not say whether a target was met: it must not cost the other fields."""
    items = value if isinstance(value, list) else []
    return [
        one
        for one in items
        if isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("met"), bool)
    ]


class CriterionAnswer(BaseModel):
    """Whether a conversation met one of the owner's targets."""

    name: str
    met: StrictBool


class TargetsJudgeAnswer(JudgeAnswer):
    """The fields that a judge answers who was given targets."""

    criteria: Annotated[list[CriterionAnswer], BeforeValidator(_criteria)] = []


class LlmJudge:
    """Judge by a language model that reads the transcript as data.

    The transcript stands in the user message only, one JSON object a line, between two lines with a mark that is made
    anew for every call and is not in the transcript; the model is told to follow nothing inside. An answer that does
    not have the fields, contradicts itself, repeats the mark or is copied from the transcript is asked for once more
    and then refused. Quotations that are not in the transcript are dropped. None of this makes a model immune: a
    persuasive transcript can still sway its opinion.

    A transcript longer than ``budget_chars`` is shortened in the middle: long messages first, then whole messages,
    each time with a note of what was left out.

    Parameters
    ----------
    client
        Whom to ask.
    model
        Name of the model.
    budget_chars
        Characters of transcript that are sent at most; a token is about four.
    """

    def __init__(self, client: ChatModel, model: str, *, budget_chars: int = BUDGET_CHARS) -> None:
        self._client = client
        self._model = model
        self._budget = budget_chars

    @property
    def analyser(self) -> str:
        """``llm:`` and the name of the model."""
        return f"llm:{self._model}"

    def judge(
        self,
        transcript: Transcript,
        *,
        objective: str | None = None,
        exclusions: str | None = None,
        organization: Organization | None = None,
        targets: Sequence[str] = (),
    ) -> Judgement:
        """Judge one conversation; see ``Judge``."""
        if not any(message.content.strip() for message in transcript.messages):
            raise JudgeFailed(
                "The conversation has no message with text in it, so there is nothing to judge."
            )
        said = _to_text(transcript)
        messages, mark = judge_messages(
            transcript,
            objective=objective,
            exclusions=exclusions,
            organization=organization,
            targets=targets,
            budget_chars=self._budget,
        )
        try:
            answer = self._client.chat(
                messages,
                purpose="judge",
                model=self._model,
                temperature=0.0,
                max_tokens=ANSWER_TOKENS,
                schema=TargetsJudgeAnswer if targets else JudgeAnswer,
                check=lambda parsed: _refuse_forged(parsed, mark),
            )
        except LlmUnavailable as error:
            raise JudgeUnavailable(str(error), retry_after=error.retry_after, tokens=error.tokens) from error
        except LlmRefused as error:
            if error.status in MENDABLE_STATUSES:
                raise JudgeUnavailable(str(error), tokens=error.tokens) from error
            raise JudgeFailed(str(error), tokens=error.tokens) from error
        except LlmBadAnswer as error:
            raise JudgeFailed(str(error), tokens=error.tokens) from error
        found = answer.parsed
        judgement = Judgement(
            sentiment=found.sentiment,
            sentiment_score=round(max(-1.0, min(1.0, found.sentiment_score)), 4),
            task_completed=found.task_completed,
            quality=round(max(0.0, min(100.0, found.quality)), 1),
            topics=_checked_topics(found.topics),
            summary=found.summary[:SUMMARY_CHARS],
            issues=_checked_issues(found.issues, said),
            tokens=answer.tokens,
            steps=find_steps(read_turns(transcript), completed=found.task_completed),
            criteria=_checked_criteria(found, len(targets)),
        )
        return read_exclusions(exclusions).applied(judgement)


def _checked_criteria(answer: JudgeAnswer, count: int) -> tuple[bool, ...]:
    """Return whether each target was met, in their order; nothing unless the model said it of each of them once.

    What is missing costs the targets a pair, and not the optimization a conversation.
    """
    if not isinstance(answer, TargetsJudgeAnswer):
        return ()
    met = {_loose(criterion.name): criterion.met for criterion in answer.criteria}
    names = [target_name(number) for number in range(1, count + 1)]
    complete = len(met) == len(answer.criteria) and met.keys() == set(names)
    return tuple(met[name] for name in names) if complete else ()


def _to_text(transcript: Transcript) -> str:
    """Return the text of all messages, for looking up quotations."""
    return "\n".join(message.content for message in transcript.messages)


def _refuse_forged(answer: JudgeAnswer, mark: str) -> None:
    """Raise ``ValueError`` for an answer that cannot be the model's own judgement.

    Parameters
    ----------
    answer
        An answer with valid fields.
    mark
        The mark of this call.
    """
    if (answer.sentiment == "positive" and answer.sentiment_score < -CONTRADICTION) or (
        answer.sentiment == "negative" and answer.sentiment_score > CONTRADICTION
    ):
        raise ValueError("sentiment and sentimentScore contradict each other")
    written = [answer.summary, *answer.topics]
    for issue in answer.issues:
        written += [issue.title, issue.evidence or ""]
    if any(mark in text for text in written):
        raise ValueError("the answer repeats the mark around the conversation")


def _checked_topics(topics: Sequence[str]) -> tuple[str, ...]:
    """Return the topics in lower case, once each, bounded in length and number."""
    names = (storable_line(topic).lower()[:TOPIC_CHARS].strip() for topic in topics)
    return tuple(dict.fromkeys(name for name in names if name))[:TOPICS_MAX]


def _checked_issues(issues: Sequence[IssueAnswer], said: str) -> tuple[JudgedIssue, ...]:
    """Return the issues, worst first; evidence that is not in the transcript is dropped."""
    spoken = _loose(said)
    found = [
        JudgedIssue(issue.title[:TITLE_CHARS], issue.severity, _quotation(issue.evidence, spoken))
        for issue in issues[:ISSUES_MAX]
    ]
    return tuple(sorted(found, key=lambda issue: SEVERITIES.index(issue.severity)))


def _quotation(evidence: str | None, spoken: str) -> str | None:
    line = storable_line(evidence or "").strip("\"'“”‘’ ")
    return line[:EVIDENCE_CHARS] if line and _loose(line) in spoken else None


def _loose(text: str) -> str:
    return storable_line(text).casefold()
