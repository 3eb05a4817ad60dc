"""Runs of a judge: the calls of a model that one worker makes for one, what they may cost, and backfills."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.errors import PromptliftError, TranscriptError
from promptlift.schema.transcript import parse_content
from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.errors import tokens_used_up
from promptlift.service.insights.judge import JudgeFailed
from promptlift.service.judges.question import JudgeText, Verdict, ask
from promptlift.service.llm.availability import Availability, ModelGone
from promptlift.service.llm.failures import (
    Cancelled,
    LlmBadAnswer,
    LlmRefused,
    LlmUnavailable,
)
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.store import judges, usage, verdicts
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from sqlalchemy import Connection

    from promptlift.service.llm.calls import Calls
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

__all__ = ["Backfill", "JudgeRun", "LimitReached", "Tried", "cost_of"]

PROBLEM_CHARS: Final = 1_000
_MILLION: Final = 1_000_000


class LimitReached(PromptliftError):
    """The run may spend no more; the message says which limit is reached, and how to go on."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one conversation.

    Attributes
    ----------
    id
        The conversation.
    verdict
        The answer, if there is one.
    problem
        Otherwise, why there is none.
    gone
        Why no other conversation would fare better, if so.
    """

    id: str
    verdict: Verdict | None = None
    problem: str | None = None
    gone: ModelGone | None = None


def cost_of(price: dict[str, float] | None, input_tokens: int, output_tokens: int) -> float | None:
    """Return what tokens cost; ``None`` without a price."""
    if price is None:
        return None
    return (price["input"] * input_tokens + price["output"] * output_tokens) / _MILLION


class JudgeRun(ABC):
    """A run that one worker has leased, continued from where its rows left it.

    Parameters
    ----------
    calls
        The run's own view of the model.
    threads
        Where conversations are judged; shared by all runs.
    at_a_time
        Conversations of this run to judge side by side.
    row, judge
        Rows of the run and of the version of its judge.
    model
        The model to ask.
    worker
        Name of the worker that has the lease.
    """

    def __init__(
        self,
        database: Database,
        calls: Calls,
        threads: ThreadPoolExecutor,
        *,
        at_a_time: int,
        row: AnyRow,
        judge: AnyRow,
        model: str,
        worker: str,
    ) -> None:
        self.database = database
        self.calls = calls
        self.row = row
        self.judge = judge
        self.model = model
        self.worker = worker
        self.settings: dict[str, Any] = orjson.loads(row.settings)
        self._exclusions: str | None = self.settings["general"].get("excludedDataAndTopics") or None
        self._threads = threads
        self._at_a_time = at_a_time
        self._lock = threading.Lock()
        self._read = self._written = 0
        self._counted = {"model_calls": 0, "tokens": 0, "input_tokens": 0, "output_tokens": 0}
        self._model = Availability()

    @property
    def analyser(self) -> str:
        """``llm:`` and the model; kept with every verdict."""
        return f"llm:{self.model}"

    @abstractmethod
    def carry_on(self) -> None:
        """Do what is left of the run, and keep how it ended."""

    def to_its_end(self) -> None:
        """Run until there is a result; see ``Run``."""
        try:
            self.carry_on()
        except LimitReached as error:
            self._stop(str(error))
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except Exception:
            with self.transaction():
                pass  # counts the calls that no row has recorded so far
            raise

    def cancel(self) -> None:
        """End all calls of the run, from any thread."""
        self.calls.cancel()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction that is kept only while the worker has the lease, and count the calls in it.

        Raises
        ------
        LeaseLost
            The run was stopped, or another worker has it.
        """
        with self.database.write() as connection:
            with self._lock:
                total = self._spent()
                spent = {name: total[name] - self._counted[name] for name in total}
                self._counted = total
            if not judges.count_calls(connection, self.row.id, self.worker, spent):
                raise LeaseLost("The run was stopped or given to another worker.")
            if spent["tokens"]:
                usage.add(connection, self.row.account_id, "tokens", spent["tokens"], now=clock.now())
            yield connection

    def start(self) -> None:
        """Note that work has begun."""
        with self.transaction() as connection:
            values = {"status": "running", "started_at": self.row.started_at or clock.now()}
            judges.change_run(connection, self.row.id, values)

    def complete(self, connection: Connection, **values: Any) -> None:
        """End the run as completed."""
        ended = {"status": "completed", "completed_at": clock.now(), "worker": None}
        judges.change_run(connection, self.row.id, {**ended, **values})

    def judge_all(
        self,
        text: JudgeText,
        conversations: Iterable[tuple[str, str]],
        keep: Callable[[Sequence[Tried]], None],
    ) -> None:
        """Put a judge to conversations, side by side, and hand over what became of them as it comes.

        Parameters
        ----------
        conversations
            Ids and contents.

        Raises
        ------
        Cancelled, LeaseLost, ModelGone, LimitReached
            The rest was not judged; what had ended was handed over.
        """
        waiting = deque(conversations)
        talking: set[Future[Tried]] = set()
        failure: BaseException | None = None
        while talking or (waiting and failure is None):
            while waiting and failure is None and len(talking) < self._at_a_time:
                failure = self._limit()
                if failure is None:
                    talking.add(self._threads.submit(self._try, text, *waiting.popleft()))
            if not talking:
                break
            done, talking = wait(talking, return_when=FIRST_COMPLETED)
            tried, problem = _ended(done)
            failure = failure or problem or next((one.gone for one in tried if one.gone), None)
            if tried:
                try:
                    keep(tried)
                except (PromptliftError, SQLAlchemyError) as error:
                    failure = failure or error
        if failure is not None:
            raise failure

    def spend(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count the tokens of an answer, for the price."""
        with self._lock:
            self._read += prompt_tokens
            self._written += completion_tokens

    def check_limits(self) -> None:
        """Raise ``LimitReached`` when the run may spend no more."""
        if (reached := self._limit()) is not None:
            raise reached

    def _try(self, text: JudgeText, conversation_id: str, content: str) -> Tried:
        try:
            verdict = ask(
                self.calls, text, parse_content(content), model=self.model, exclusions=self._exclusions
            )
        except (LlmUnavailable, LlmRefused) as error:
            return Tried(conversation_id, problem=_shown(error), gone=self._model.gone(error))
        except LlmBadAnswer as error:
            self._model.record(None)
            return Tried(conversation_id, problem=_shown(error))
        except (JudgeFailed, TranscriptError) as error:
            return Tried(conversation_id, problem=_shown(error))
        self._model.record(None)
        self.spend(verdict.input_tokens, verdict.output_tokens)
        return Tried(conversation_id, verdict)

    def _spent(self) -> dict[str, int]:
        return {
            "model_calls": self.calls.calls,
            "tokens": self.calls.tokens,
            "input_tokens": self._read,
            "output_tokens": self._written,
        }

    def _limit(self) -> LimitReached | None:
        """Return which limit is reached: the run's own, or the account's tokens of the month."""
        now = clock.now()
        with self.database.read() as connection:
            monthly = usage.token_limit_reached(connection, self.row.account_id, now=now)
        if monthly is not None:
            return LimitReached(f"{tokens_used_up(monthly, now=now)}. Resume the run then.")
        with self._lock:
            spent = self._spent()
        tokens = self.row.tokens + spent["tokens"]
        most_tokens, most_cost = self.settings.get("maxTokens"), self.settings.get("maxCost")
        if most_tokens is not None and tokens >= most_tokens:
            return LimitReached(
                f"The limit of {most_tokens:,} tokens is reached. Start another run to go on: what was judged stays."
            )
        cost = cost_of(
            self.settings.get("price"),
            self.row.input_tokens + spent["input_tokens"],
            self.row.output_tokens + spent["output_tokens"],
        )
        if most_cost is not None and cost is not None and cost >= most_cost:
            return LimitReached(
                f"The limit of {most_cost:g} is spent. Start another run to go on: what was judged stays."
            )
        return None

    def _stop(self, reason: str) -> None:
        with self.transaction() as connection:
            values = {"status": "stopped", "completed_at": clock.now(), "worker": None}
            judges.change_run(connection, self.row.id, {**values, "stop_reason": reason})


def _ended(done: Iterable[Future[Tried]]) -> tuple[list[Tried], BaseException | None]:
    tried: list[Tried] = []
    failure: BaseException | None = None
    for future in done:
        error = future.exception()
        if error is None:
            tried.append(future.result())
        else:
            failure = failure or error
    return tried, failure


def _shown(error: PromptliftError) -> str:
    return storable_text(str(error), PROBLEM_CHARS)


# Transcripts that are read at a time.
BATCH: Final = 64


class Backfill(JudgeRun):
    """Judge what a selection has and this version has not answered for, the newest first; see ``JudgeRun``.

    Each verdict is kept as it comes, so the run goes on after a kill with what is left.
    """

    def carry_on(self) -> None:
        """Judge what is left, and complete the run."""
        self.start()
        text = JudgeText.of(self.judge)
        most = self.settings.get("maxConversations")
        while (batch := self._next(most)) != []:
            generations = {row.id: row.generation for row in batch}

            def keep(tried: Sequence[Tried], generations: dict[str, int] = generations) -> None:
                self._keep(tried, generations)

            self.judge_all(text, [(row.id, row.content.decode("utf-8", "replace")) for row in batch], keep)
        with self.transaction() as connection:
            self.complete(connection)

    def _next(self, most: int | None) -> Sequence[AnyRow]:
        """Return the next conversations, as many as the run may still judge; none when it has come to its end."""
        with self.database.read() as connection:
            done, failed = verdicts.progress(connection, [self.row.id])[self.row.id]
            left = BATCH if most is None else min(BATCH, most - done - failed)
            if left <= 0:
                return []
            return verdicts.to_judge(
                connection, self.row.account_id, self.judge.id, self.settings["selection"], limit=left
            )

    def _keep(self, tried: Sequence[Tried], generations: dict[str, int]) -> None:
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
            # What failed because the model is gone is tried again when the run is resumed.
            for one in tried
            if one.gone is None
        ]
        if not rows:
            return
        with self.transaction() as connection:
            # The judge may have been deleted meanwhile, and then so was the run.
            judges.get(connection, self.judge.id)
            verdicts.keep(connection, rows)
