"""Insights of logged conversations, derived in the background.

A conversation that waits for insights says so in its own row; that row is the truth. A job of this room claims
waiting conversations, judges them and writes each result, its event and the new state in one transaction. A kill at
any moment leaves a row either waiting, claimed by a job that will be taken up again, or done.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.insights.job_engine import job, job_id, step
from promptlift.service.insights.judge import JudgeFailed, Judgement, JudgeRequest, JudgeUnavailable
from promptlift.service.insights.judge_watch import JudgeWatch
from promptlift.service.store import accounts, conversations, events, judging, usage
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from promptlift.errors import TranscriptError
    from promptlift.service.insights.job_engine import JobEngine
    from promptlift.service.insights.judge import BatchJudge
    from promptlift.service.insights.judge_watch import Probe
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

_LOG = logging.getLogger(__name__)

QUEUE = "insights"
JOB = "derive_insights"
CLAIM = 200
CHUNK = 50
SWEEP_SECONDS = 2.0
CLEAN_EVERY = 300  # sweeps
# A claim so old belongs to a process that died and did not come back. A late answer of it is not kept.
FORGOTTEN_AFTER = 30 * 60 * clock.SECOND
# A conversation for which the model alone does not answer is tried again after 5 s, 10 s, 20 s … and at last every ten
# minutes.
FIRST_PAUSE = 5 * clock.SECOND
LONGEST_PAUSE = 600 * clock.SECOND
# What was put off because the model is away comes back when it answers again; after this time also by itself, should the
# process that would see to it have died.
AWAY_PAUSE = 60 * clock.SECOND
# A conversation that the judge cannot make sense of is tried so often.
JUDGE_TRIES = 3

# While conversations come in, the built-in analyser's judgements are kept once in this time: logging goes first.
GIVE_WAY_SECONDS = 0.25

_running: InsightJobs | None = None


@job(JOB)
def derive_insights() -> int:
    """Judge waiting conversations; gives how many were claimed."""
    jobs, worker = _jobs(), job_id()
    claimed = step("claim", jobs.claim, worker)
    if len(claimed) >= CLAIM:  # there may be more: another job takes them while this one judges
        step("go on", jobs.go_on, worker)
    for start in range(0, len(claimed), CHUNK):
        step("judge", jobs.judge, worker, claimed[start : start + CHUNK])
    return len(claimed)


def _jobs() -> InsightJobs:
    if _running is None:
        raise RuntimeError("the insight jobs have not been started")
    return _running


def _said(error: Exception) -> str:
    """The text of an error that may quote a model: no database keeps a NUL character."""
    return str(error).replace("\x00", "")


@dataclass(frozen=True, slots=True)
class _Judged:
    """A conversation with its judgement, before it is kept."""

    source: AnyRow
    judgement: Judgement
    insights_id: str
    at: int

    def row_for(self, analyser: str) -> dict[str, Any]:
        judgement = self.judgement
        document = {
            "conversationId": self.source.id,
            "sentiment": judgement.sentiment,
            "sentimentScore": judgement.sentiment_score,
            "taskCompleted": judgement.task_completed,
            "quality": judgement.quality,
            "topics": list(judgement.topics),
            "summary": judgement.summary,
            "issues": [asdict(issue) for issue in judgement.issues],
            "analyser": analyser,
            "createdAt": clock.wire(self.at),
        }
        return {
            "conversation_id": self.source.id,
            "account_id": self.source.account_id,
            "id": self.insights_id,
            "generation": self.source.generation,
            "sentiment": judgement.sentiment,
            "sentiment_score": judgement.sentiment_score,
            "task_completed": judgement.task_completed,
            "document": orjson.dumps(document).decode(),
            "created_at": self.at,
        }

    def event(self) -> dict[str, Any]:
        payload = {
            "conversationId": self.source.id,
            "promptId": self.source.prompt_id,
            "insightsId": self.insights_id,
            "summary": self.judgement.summary,
            "sentiment": self.judgement.sentiment,
        }
        return events.row("insights.generated", self.source.account_id, self.source.id, payload, now=self.at)


class InsightJobs:
    """Run insight jobs.

    Parameters
    ----------
    database, engine
        Where conversations and jobs are kept.
    judge
        Derives the insights.
    at_a_time
        Conversations that are judged side by side.
    trial
        The same judge, asking once and not again; ``judge`` when ``None``.
    probe
        The endpoint of the judge's model; ``None`` without one.

    Attributes
    ----------
    is_busy
        Whether conversations are coming in right now; set by whoever logs them.
    """

    def __init__(
        self,
        database: Database,
        engine: JobEngine,
        judge: BatchJudge,
        *,
        at_a_time: int,
        trial: BatchJudge | None = None,
        probe: Probe | None = None,
    ) -> None:
        self._database = database
        self._engine = engine
        self._judge = judge
        self._trial = trial or judge
        self._model = JudgeWatch(probe, make_trial=self._make_trial, go_on=self._go_on_with)
        self._at_a_time = at_a_time
        self._threads = ThreadPoolExecutor(max_workers=at_a_time, thread_name_prefix="judge")
        self.is_busy: Callable[[], bool] = lambda: False
        self._turn = threading.Lock()
        self._announced = False
        self._mine = threading.local()
        self._ending = threading.Event()
        self._sweeper = threading.Thread(target=self._sweep_for_ever, name="insight-sweeper", daemon=True)

    def start(self) -> None:
        """Begin to work; conversations that a former process left waiting come first."""
        global _running  # noqa: PLW0603 - jobs are plain functions and find their process here
        _running = self
        self._sweeper.start()
        self._model.start()

    def stop(self) -> None:
        """Stop looking for waiting conversations."""
        self._ending.set()
        self._model.stop()
        self._sweeper.join(timeout=10)
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def waits_because(self) -> str | None:
        """Why no conversation is judged now; ``None`` when nothing keeps the model from it."""
        return self._model.reason

    @contextmanager
    def announcing(self) -> Iterator[None]:
        """Around a transaction that calls `announce`: an announcement that was rolled back does not count."""
        self._mine.announced = False
        try:
            yield
        except BaseException:
            if self._mine.announced:
                self._announced = False
            raise

    def announce(self, connection: Connection) -> None:
        """Submit a job for the waiting conversations of this transaction.

        SQLite has one writer and one process: a job that is submitted and has not claimed yet will find the rows of
        this transaction too, so it is enough. Elsewhere every transaction submits its own.
        """
        if self._announced and self._database.is_sqlite:
            return
        self._engine.submit_in(connection, QUEUE, JOB)
        self._announced = self._mine.announced = True

    def claim(self, worker: str) -> list[str]:
        """Step: take waiting conversations."""
        # Before the write lock is asked for: whoever writes from here on submits a job of its own.
        self._announced = False
        places = self._model.places(CLAIM)
        if not places:
            return []
        with self._database.write() as connection:
            claimed = judging.claim(connection, worker, limit=places, now=clock.now())
        self._model.claimed(claimed)
        return claimed

    def judge(self, worker: str, conversation_ids: Sequence[str]) -> int:
        """Step: judge some of the claimed conversations; gives how many got insights."""
        with self._database.read() as connection:
            rows = judging.to_judge(connection, conversation_ids, worker)
            exclusions = {
                account_id: accounts.settings(connection, account_id)["general"]["excludedDataAndTopics"]
                for account_id in {row.account_id for row in rows}
            }
        if self._at_a_time > 1:  # model calls are dear: each answer is kept as it comes
            calls = self._threads.map(
                lambda row: self._keep(worker, self._judge_all(worker, [row], exclusions)), rows
            )
            return sum(calls)
        self._give_way()
        return self._keep(worker, self._judge_all(worker, rows, exclusions))

    def _give_way(self) -> None:
        """Let conversations that come in right now go first, one batch of judgements after the other."""
        with self._turn:
            deadline = time.monotonic() + GIVE_WAY_SECONDS
            while self.is_busy() and time.monotonic() < deadline and not self._ending.wait(0.02):
                pass

    def go_on(self, worker: str) -> None:
        """Step: submit a job for the conversations that were not claimed."""
        with self._database.write() as connection:
            self._engine.submit_in(connection, QUEUE, JOB, job=f"{worker}+")

    def _judge_all(self, worker: str, rows: Sequence[AnyRow], exclusions: dict[str, str]) -> list[_Judged]:
        rows = [row for row in rows if self._may_begin(worker, row)]
        requests = [
            JudgeRequest(row.id, row.content.decode(), row.objective, exclusions[row.account_id] or None)
            for row in rows
        ]
        judged = []
        judge = self._trial if any(self._model.is_trial(row.id) for row in rows) else self._judge
        for row, outcome in zip(rows, judge.judge_all(requests), strict=True):
            if isinstance(outcome, JudgeUnavailable):
                self._wait(worker, row, outcome)
                continue
            answered = True
            if isinstance(outcome, Judgement):
                judged.append(_Judged(row, outcome, new_id("ins"), clock.now()))
            else:
                self._give_up_or_again(worker, row, outcome)
                # Without a cause it was found before the model was asked.
                answered = isinstance(outcome, JudgeFailed) and outcome.__cause__ is not None
            (self._model.answered if answered else self._model.untested)(row.id)
        return judged

    def _may_begin(self, worker: str, row: AnyRow) -> bool:
        """Whether a conversation goes to the judge now; else it is given back."""
        if self._model.begin(row.id):
            return True
        with self._database.write() as connection:
            judging.release(connection, worker, row.id)
        return False

    def _wait(self, worker: str, row: AnyRow, error: JudgeUnavailable) -> None:
        """Put a conversation off. What a model that is away does to it is no attempt of its own."""
        alone = self._model.alone(row.id)
        pause = AWAY_PAUSE
        if alone:
            asked = int((error.retry_after or 0) * clock.SECOND)
            pause = min(max(asked, FIRST_PAUSE * 2 ** min(row.judge_attempts, 20)), LONGEST_PAUSE)
        after = clock.now() + pause
        with self._database.write() as connection:
            judging.put_back(connection, worker, [row.id], after=after, problem=_said(error), counts=alone)
            self._count_tokens(connection, row, error.tokens)
        self._model.unanswered(row.id, _said(error), retry_after=error.retry_after)

    def _make_trial(self, conversation_id: str | None) -> None:
        self._go_on_with([] if conversation_id is None else [conversation_id])

    def _go_on_with(self, conversation_ids: Sequence[str]) -> None:
        """Have conversations judged that were put off, and those that wait in line."""
        with self._database.write() as connection:
            judging.make_due(connection, conversation_ids, now=clock.now())
            self._engine.submit_in(connection, QUEUE, JOB)

    def _give_up_or_again(self, worker: str, row: AnyRow, error: JudgeFailed | TranscriptError) -> None:
        _LOG.warning("conversation %s could not be judged: %s", row.id, error)
        with self._database.write() as connection:
            if row.judge_attempts + 1 < JUDGE_TRIES:
                after = clock.now() + FIRST_PAUSE
                judging.put_back(connection, worker, [row.id], after=after, problem=_said(error))
            else:
                judging.give_up(connection, worker, row.id, problem=_said(error))
            self._count_tokens(connection, row, getattr(error, "tokens", 0))

    @staticmethod
    def _count_tokens(connection: Connection, row: AnyRow, tokens: int) -> None:
        if tokens:
            usage.add(connection, row.account_id, "tokens", tokens, now=clock.now())

    def _keep(self, worker: str, judged: Sequence[_Judged]) -> int:
        if not judged:
            return 0
        with self._database.write() as connection:
            kept = judging.keep(connection, worker, [one.row_for(self._judge.analyser) for one in judged])
            events.write(connection, [one.event() for one in judged if one.source.id in kept])
            for one in judged:
                self._count_tokens(connection, one.source, one.judgement.tokens)
        return len(kept)

    def _sweep_for_ever(self) -> None:
        for count in itertools.count(1):
            try:
                self._sweep()
                if count % CLEAN_EVERY == 0:
                    self._clean()
            except SQLAlchemyError as error:
                _LOG.warning("waiting conversations could not be looked for: %s", error)
            if self._ending.wait(SWEEP_SECONDS):
                return

    def _sweep(self) -> None:
        with self._database.read() as connection:
            late = judging.waiting(connection, now=clock.now() - int(SWEEP_SECONDS * clock.SECOND))
            holders = judging.claimants(connection)
        gone = [holder for holder in holders if self._engine.status(holder) != "living"]
        if self._model.away:  # a job would find that nothing may be judged now
            late = 0
        if not late and not gone:
            return
        with self._database.write() as connection:
            for holder in gone:
                judging.release(connection, holder)
            self._engine.submit_in(connection, QUEUE, JOB)

    def _clean(self) -> None:
        self._engine.forget_finished()
        with self._database.write() as connection:
            conversations.drop_expired_keys(connection, now=clock.now())
            judging.release_forgotten(connection, before=clock.now() - FORGOTTEN_AFTER)
