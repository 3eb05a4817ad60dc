"""Runs of a judge: a worker's model calls for a run, their limits, and backfills."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import Field

from promptlift.errors import PromptliftError, TranscriptError
from promptlift.schema.judges import TokenPrice
from promptlift.schema.model import ApiModel, UtcTime
from promptlift.schema.settings import GeneralSettings
from promptlift.schema.transcript import parse_content
from promptlift.service import clock
from promptlift.service.background.runs import Run, Stopped, end_run
from promptlift.service.insights.judge import JudgeFailed
from promptlift.service.judges.question import JudgeText, QuestionVerdict, ask
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.llm.port import LlmBadAnswer, LlmRefused, LlmUnavailable
from promptlift.service.simulations.pool import side_by_side
from promptlift.service.store import judges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from promptlift.service.judges.worker import JudgeJobs
    from promptlift.service.llm.calls import Calls
    from promptlift.service.store.judges import ToAnswer
    from promptlift.service.store.tables.runs import JudgeRow, RunRow


PROBLEM_CHARS: Final = 1_000
_MILLION: Final = 1_000_000


class Tried(NamedTuple):
    """The outcome of one conversation: its verdict, or the problem why it has none."""

    id: str
    verdict: QuestionVerdict | None = None
    problem: str | None = None


class JudgeSettings(ApiModel):
    """The settings of a backfill or an alignment at the time of the request."""

    prompt_id: str | None = None
    since: UtcTime | None = None
    until: UtcTime | None = None
    max_conversations: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    price: TokenPrice | None = None
    labels: dict[str, bool] = Field(default_factory=dict)
    left_out: int = 0
    generations: int = 0
    total: int
    general: GeneralSettings = Field(default_factory=GeneralSettings)


def cost_of(price: TokenPrice | None, input_tokens: int, output_tokens: int) -> float | None:
    """Return the cost of tokens; ``None`` without a price."""
    if price is None:
        return None
    return (price.input * input_tokens + price.output * output_tokens) / _MILLION


class JudgeRunner(Run):
    """A run that uses a judge; see ``Run``.

    Parameters
    ----------
    kind
        The kind of work, with the threads that judge conversations.
    calls
        The run's own view of the model.
    judge
        The version of the judge.
    model
        The model to ask.
    """

    row: RunRow

    def __init__(self, kind: JudgeJobs, calls: Calls, row: RunRow, judge: JudgeRow, model: str) -> None:
        super().__init__(kind.database, calls, row=row, settings=row.settings, worker=kind.worker)
        self.asked = JudgeSettings.from_wire(row.settings)
        self.calls = calls
        self.judge = judge
        self.model = model
        self._kind = kind
        self._read = self._written = 0

    @property
    def analyser(self) -> str:
        """``llm:`` and the model; stored with every verdict."""
        return f"llm:{self.model}"

    def judge_all(
        self,
        text: JudgeText,
        conversations: Iterable[tuple[str, str]],
        keep: Callable[[Sequence[Tried]], None],
    ) -> None:
        """Judge conversations, given by ids and contents; see ``side_by_side``."""
        side_by_side(
            self._kind.pool,
            lambda one: self._try(text, *one),
            conversations,
            keep=keep,
            at_a_time=self._kind.at_a_time,
            limit=self._limit,
        )

    def spend(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count the tokens of an answer toward the cost."""
        with self._lock:
            self._read += prompt_tokens
            self._written += completion_tokens

    def check_limits(self) -> None:
        """Raise ``Stopped`` when the run may spend no more."""
        if (reached := self._limit()) is not None:
            raise reached

    def _try(
        self, text: JudgeText, conversation_id: str, content: str
    ) -> tuple[Tried | None, PromptliftError | None]:
        def failed(error: PromptliftError) -> Tried:
            return Tried(conversation_id, problem=storable_text(str(error), PROBLEM_CHARS))

        try:
            verdict = ask(
                self.calls, text, parse_content(content), model=self.model, exclusions=self.exclusions
            )
        except (LlmUnavailable, LlmRefused) as error:
            # If the model is gone, it is tried again when the run is resumed.
            gone = self.availability.gone(error)
            return failed(error) if gone is None else None, gone
        except LlmBadAnswer as error:
            self.availability.record(None)
            return failed(error), None
        except (JudgeFailed, TranscriptError) as error:
            return failed(error), None
        self.availability.record(None)
        self.spend(verdict.input_tokens, verdict.output_tokens)
        return Tried(conversation_id, verdict), None

    def spent(self) -> dict[str, int]:
        """Return this worker's usage, by column, with input and output tokens at their price."""
        return {**super().spent(), "input_tokens": self._read, "output_tokens": self._written}

    def _limit(self) -> Stopped | None:
        """Return which limit is reached: the run's own, or the account's tokens of the month."""
        if (used_up := self.tokens_used_up()) is not None:
            return Stopped(f"{used_up}. Resume the run then.")
        with self._lock:
            spent = self.spent()
        tokens = self.row.tokens + spent["tokens"]
        most_tokens, most_cost = self.asked.max_tokens, self.asked.max_cost
        more = "Start another run to continue: existing verdicts are kept."
        if most_tokens is not None and tokens >= most_tokens:
            return Stopped(f"The limit of {most_tokens:,} tokens is reached. {more}")
        cost = cost_of(
            self.asked.price,
            self.row.input_tokens + spent["input_tokens"],
            self.row.output_tokens + spent["output_tokens"],
        )
        if most_cost is not None and cost is not None and cost >= most_cost:
            return Stopped(f"The limit of {most_cost:g} is spent. {more}")
        return None


# Transcripts to read at a time.
BATCH: Final = 64


class Backfill(JudgeRunner):
    """Judge the selected conversations without a verdict of this version, newest first; see ``JudgeRunner``.

    Each verdict is stored immediately, so the run continues with the rest after a kill.
    """

    def carry_on(self) -> None:
        """Judge the remaining conversations, and complete the run."""
        self.start()
        text = JudgeText.of(self.judge)
        while (batch := self._next()) != []:
            keep = partial(self._keep, {row.id: row.generation for row in batch})
            self.judge_all(text, [(row.id, row.content) for row in batch], keep)
        with self.transaction() as connection:
            end_run(connection, self.row, "completed")

    def _next(self) -> Sequence[ToAnswer]:
        """Return the next conversations, up to the run's limit; empty when it is finished."""
        with self.database.read() as connection:
            done, failed = judges.progress(connection, self.row.id)
            most = self.asked.max_conversations
            left = BATCH if most is None else min(BATCH, most - done - failed)
            if left <= 0:
                return []
            selected = judges.selected(
                self.row.account_id, self.asked.prompt_id, since=self.asked.since, until=self.asked.until
            )
            return judges.to_judge(connection, self.judge.id, selected, limit=left)

    def _keep(self, generations: dict[str, int], tried: Sequence[Tried]) -> None:
        rows = [
            {
                "account_id": self.row.account_id,
                "judge_row_id": self.judge.id,
                "conversation_id": one.id,
                "run_id": self.row.id,
                "verdict": one.verdict.answer if one.verdict else None,
                "reason": one.verdict.reason if one.verdict else None,
                "problem": one.problem,
                "analyser": self.analyser,
                "created_at": clock.now(),
                "generation": generations[one.id],
            }
            for one in tried
        ]
        with self.transaction() as connection:
            # The judge may have been deleted meanwhile, and the run with it.
            judges.get(connection, self.judge.id)
            judges.keep_verdicts(connection, rows)
