"""The judge protocol: one conversation in, one judgement out."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from promptlift.errors import PromptliftError, TranscriptError
from promptlift.schema.insights import Sentiment  # noqa: TC001 - pydantic reads it
from promptlift.schema.transcript import parse_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Transcript
    from promptlift.service.insights.organization import Organization


_LOG = logging.getLogger(__name__)

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

LEXICON = "lexicon"
"""``analyser`` of the built-in analyser's insights; a model's insights have ``llm:`` and its name."""


class JudgeUnavailable(PromptliftError):
    """The judge cannot work now; the same conversation may be judged later.

    Attributes
    ----------
    retry_after
        Seconds to wait, if the judge knows them.
    tokens
        Tokens used despite the failure.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, tokens: int = 0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.tokens = tokens


class JudgeFailed(PromptliftError):
    """The judge cannot judge this conversation. The message is the reason.

    Attributes
    ----------
    tokens
        Tokens used despite the failure.
    """

    def __init__(self, message: str, *, tokens: int = 0) -> None:
        super().__init__(message)
        self.tokens = tokens


def check_text(transcript: Transcript) -> None:
    """Raise ``JudgeFailed`` for a conversation without text."""
    if not any(message.content.strip() for message in transcript.messages):
        raise JudgeFailed("The conversation has no message with text in it, so there is nothing to judge.")


@dataclass(frozen=True, slots=True)
class JudgedIssue:
    """A problem in a conversation.

    Attributes
    ----------
    title
        Short and reusable, so that equal issues of many conversations can be counted.
    severity
        ``high``, ``medium`` or ``low``.
    evidence
        A quotation from the transcript: hostile text, escaped where it is shown.
    """

    title: str
    severity: Severity
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class FailingStep:
    """Where a conversation first went wrong.

    Attributes
    ----------
    step
        As in `Steps.reached`.
    kind
        What went wrong.
    turn
        Index of the message in the transcript.
    role
        ``user``, ``assistant`` or ``tool``.
    quote
        The message, shortened: hostile text, to be escaped when shown.
    """

    step: str
    kind: str
    turn: int
    role: str
    quote: str


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a conversation, in order, and the failed step if its task was not completed."""

    reached: tuple[str, ...]
    failed: FailingStep | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one conversation.

    Attributes
    ----------
    sentiment, sentiment_score
        How the user felt; the score is -1 to 1.
    task_completed
        Whether the user got what they came for.
    quality
        0 to 100.
    topics
        Short names, most important first.
    summary
        The request and the outcome: hostile text, to be escaped when shown.
    issues
        Problems, worst first.
    tokens
        LLM tokens used for the judgement.
    steps
        The steps of the conversation; ``None`` if they were not analysed.
    criteria
        Whether the conversation met each of the judge's targets, in order.
    """

    sentiment: Sentiment
    sentiment_score: float
    task_completed: bool
    quality: float
    topics: tuple[str, ...]
    summary: str
    issues: tuple[JudgedIssue, ...]
    tokens: int = 0
    steps: Steps | None = None
    criteria: tuple[bool, ...] = ()


class InsightJudge(Protocol):
    """Anything that derives insights from a conversation.

    A background job calls it once per conversation, from several threads at the same time, so an
    implementation must be thread-safe. The transcript is hostile text: it is data, never an instruction. A
    call may take as long as its own timeouts allow and blocks only its own thread.
    """

    @property
    def analyser(self) -> str:
        """``lexicon``, or ``llm:`` and the model's name; stored with every insight."""

    def judge(
        self,
        transcript: Transcript,
        *,
        objective: str | None = None,
        exclusions: str | None = None,
        organization: Organization | None = None,
        targets: Sequence[str] = (),
    ) -> Judgement:
        """Judge one conversation.

        Parameters
        ----------
        transcript
            The conversation.
        objective
            The purpose of the prompt, as its owner wrote it.
        exclusions
            Data or topics that must not appear in the judgement, as the account's owner wrote them.
        organization
            The owner's settings about the organization and the insights that matter.
        targets
            The improvements wanted of a variant, as its owner wrote them; see ``Judgement.criteria``. A judge
            that cannot assess them leaves the criteria empty.

        Raises
        ------
        JudgeUnavailable
            The same call may succeed later.
        JudgeFailed
            The conversation cannot be judged; the message explains why.
        """


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A stored conversation, and its judge's context.

    Attributes
    ----------
    conversation_id
        Id for the log.
    content
        The transcript in either form of the API.
    objective, exclusions, organization
        See ``Judge.judge``.
    """

    conversation_id: str
    content: str
    objective: str | None
    exclusions: str | None
    organization: Organization | None = None


Outcome = Judgement | JudgeUnavailable | JudgeFailed | TranscriptError


class BatchJudge(Protocol):
    """Anything that derives insights from several conversations in one call."""

    @property
    def analyser(self) -> str:
        """See ``InsightJudge``."""

    def judge_all(self, requests: Sequence[JudgeRequest]) -> list[Outcome]:
        """Judge conversations; one outcome each, in their order. It raises nothing for a single conversation."""


class OneByOne:
    """A batch judge that calls a judge for one conversation after another."""

    def __init__(self, judge: InsightJudge) -> None:
        self._judge = judge

    @property
    def analyser(self) -> str:
        """See ``InsightJudge``."""
        return self._judge.analyser

    def judge_all(self, requests: Sequence[JudgeRequest]) -> list[Outcome]:
        """Judge conversations in their order."""
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: JudgeRequest) -> Outcome:
        try:
            return self._judge.judge(
                parse_content(request.content),
                objective=request.objective,
                exclusions=request.exclusions,
                organization=request.organization,
            )
        except (JudgeUnavailable, JudgeFailed, TranscriptError) as error:
            return error
        except Exception as error:  # noqa: BLE001 - a defect that one transcript shows must not hold up the others
            _LOG.exception("the judge failed on conversation %s", request.conversation_id)
            return JudgeFailed(f"the judge failed: {type(error).__name__}")
