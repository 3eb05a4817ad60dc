"""The judge that asks a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import JudgeFailed, Judgement, JudgeUnavailable
from promptlift.service.insights.lexicon.steps import find_steps
from promptlift.service.insights.llm_answer import (
    JudgeAnswer,
    TargetsJudgeAnswer,
    checked_criteria,
    checked_issues,
    checked_topics,
    refuse_forged,
    to_text,
)
from promptlift.service.insights.llm_prompt import BUDGET_CHARS, judge_messages
from promptlift.service.insights.turns import read_turns
from promptlift.service.llm.failures import LlmBadAnswer, LlmRefused, LlmUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Transcript
    from promptlift.service.insights.organization import Organization
    from promptlift.service.llm.port import ChatModel

__all__ = ["LlmJudge"]

ANSWER_TOKENS: Final = 4_000
SUMMARY_CHARS: Final = 1_000
# The operator can correct these (key, model name, address), so the conversation waits instead of failing.
MENDABLE_STATUSES: Final = frozenset({401, 402, 403, 404})


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
        said = to_text(transcript)
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
                check=lambda parsed: refuse_forged(parsed, mark),
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
            topics=checked_topics(found.topics),
            summary=found.summary[:SUMMARY_CHARS],
            issues=checked_issues(found.issues, said),
            tokens=answer.tokens,
            steps=find_steps(read_turns(transcript), completed=found.task_completed),
            criteria=checked_criteria(found, len(targets)),
        )
        return read_exclusions(exclusions).applied(judgement)
