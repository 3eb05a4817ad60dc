"""The judge protocol: one conversation in, one judgement out."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import Field

from promptlift.errors import PromptliftError, TranscriptError
from promptlift.schema.insights import Insights, Sentiment
from promptlift.schema.transcript import parse_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Transcript
    from promptlift.service.insights.organization import Organization


_LOG = logging.getLogger(__name__)

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


class Judgement(Insights):
    """The judgement of one conversation: its insights, before they are stored.

    Attributes
    ----------
    tokens
        LLM tokens used for the judgement.
    criteria
        Whether the conversation met each of the judge's targets, in order.
    """

    sentiment: Sentiment
    sentiment_score: float
    task_completed: bool
    quality: float
    summary: str
    tokens: int = Field(default=0, exclude=True)
    criteria: tuple[bool, ...] = Field(default=(), exclude=True)


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
