"""Insights of logged conversations, derived in the background.

Whether a conversation waits for insights is in its own row, the only source of truth. A worker claims waiting
conversations, judges them and writes each result, its event and the new state in one transaction. A kill at any moment
leaves a row either waiting, claimed by a worker whose lease runs out, or done.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import orjson

from promptlift.schema.basis import basis_of_analyser
from promptlift.schema.insights import Insights
from promptlift.schema.outcomes import parse_rule
from promptlift.service import clock
from promptlift.service.background.kind import Kind
from promptlift.service.errors import tokens_used_up
from promptlift.service.identifiers import new_id
from promptlift.service.insights.judge import (
    LEXICON,
    JudgeFailed,
    Judgement,
    JudgeRequest,
    JudgeUnavailable,
)
from promptlift.service.insights.judge_watch import JudgeWatch
from promptlift.service.insights.learned import LearnedJudges
from promptlift.service.insights.organization import Organization
from promptlift.service.insights.topics import PlacedTopics, is_placed
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.store import accounts, events, judging, topics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from promptlift.errors import TranscriptError
    from promptlift.service.background.wake_ups import OtherWorkers
    from promptlift.service.insights.judge import BatchJudge
    from promptlift.service.insights.judge_watch import Probe
    from promptlift.service.insights.learned import LearnedVerdict
    from promptlift.service.store.database import Database
    from promptlift.service.store.judging import ToJudge

_LOG = logging.getLogger(__name__)

# Conversations that the built-in analyser claims and stores at once. Chunks overlap: one is judged while another is
# stored. With fewer, the same pages of indexes and counts are written more often.
CHUNK: Final = 200
_CHUNKS_AT_A_TIME: Final = 3
# With a model: conversations per chunk for each concurrent judgement. Few, so that several workers share the
# last ones too.
_ROUNDS: Final = 2
# A conversation is retried after 5 s, 10 s, 20 s … up to every ten minutes, if the model answers only others.
FIRST_PAUSE = 5 * clock.SECOND
# Conversations postponed because the model is away resume when it answers again; after this time also without
# a trial, in case the responsible process has died.
AWAY_PAUSE = 60 * clock.SECOND
# Attempts at a conversation that the judge cannot interpret.
JUDGE_TRIES = 3


@dataclass(frozen=True, slots=True)
class _Judged:
    """A conversation with its judgement, before it is stored."""

    source: ToJudge
    judgement: Judgement
    at: int

    def insights_of(self, analyser: str) -> Insights:
        found = self.judgement
        found.conversation_id, found.analyser = self.source.id, analyser
        found.created_at = clock.to_datetime(self.at)
        return found

    def event(self) -> events.NewEvent:
        payload = {
            "conversationId": self.source.id,
            "promptId": self.source.prompt_id,
            "insightsId": new_id("ins"),
            "summary": self.judgement.summary,
            "sentiment": self.judgement.sentiment,
        }
        return events.row("insights.generated", self.source.account_id, self.source.id, payload, now=self.at)


def _row_of(
    source: ToJudge, found: Insights, learned: LearnedVerdict | None, topic_number: int | None
) -> dict[str, object]:
    """Return the row of insights.

    Its verdict is the log's outcome if the prompt has a rule for it, or else that of the prompt's learned
    judge, or else the analyser's own.
    """
    found.judged_completed = found.first_verdict
    if source.outcome:
        metadata = orjson.loads(source.metadata) if source.metadata else {}
        found.task_completed, found.basis = parse_rule(source.outcome).verdict(metadata), "outcome"
    elif learned is not None:
        found.task_completed, found.basis = learned.chance >= 0.5, "learned"
    else:
        found.task_completed, found.basis = found.judged_completed, basis_of_analyser(found.analyser)
        found.model_fields_set.discard("judged_completed")
    found.completion_chance = found.completed_by = None
    if found.basis == "learned" and learned is not None:
        found.completion_chance, found.completed_by = learned
    else:
        found.model_fields_set.difference_update(("completion_chance", "completed_by"))
    if topic_number is not None:
        found.model_fields_set.discard("topics")
    return {
        "conversation_id": source.id,
        "generation": source.generation,
        "sentiment": found.sentiment,
        "sentiment_score": found.sentiment_score,
        "task_completed": found.task_completed,
        "basis": found.basis,
        "topic_number": topic_number,
        "document": found.model_dump_json(by_alias=True, exclude_unset=True),
    }


class InsightJobs(Kind):
    """Derive insights for waiting conversations.

    Parameters
    ----------
    database
        The database with the conversations.
    judge
        The judge that derives the insights.
    worker
        Name of the worker in the rows that it holds.
    at_a_time
        Conversations to judge concurrently.
    trial
        The same judge without retries; ``judge`` if ``None``.
    probe
        The endpoint of the judge's model, if any.

    Attributes
    ----------
    others
        The workers of other processes, which report why conversations wait; set if this process does not judge.
    """

    name = "insights"
    grace = 1.0
    # Claiming costs a transaction, for one conversation or for hundreds.
    gather = 0.5

    def __init__(
        self,
        database: Database,
        judge: BatchJudge,
        *,
        worker: str,
        at_a_time: int,
        trial: BatchJudge | None = None,
        probe: Probe | None = None,
    ) -> None:
        super().__init__()
        self.leases = judging.LEASES
        self.threads = _CHUNKS_AT_A_TIME
        # Model calls are expensive and slow: few are claimed ahead, and each answer is stored immediately.
        self._one_by_one = at_a_time > 1
        self.chunk = _ROUNDS * at_a_time if self._one_by_one else CHUNK
        self._database = database
        self._judge = judge
        self._trial = trial or judge
        self._worker = worker
        self._learned = LearnedJudges(database)
        self._topics = PlacedTopics(database)
        self._model = JudgeWatch(probe, make_trial=self._make_trial, go_on=self._go_on_with)
        self._judges = ThreadPoolExecutor(max_workers=at_a_time, thread_name_prefix="judge")
        self.others: OtherWorkers | None = None
        self._ending = threading.Event()

    def start(self) -> None:
        """Start monitoring the judge's model."""
        self._model.start()

    def stop(self) -> None:
        """Judge nothing more; outcomes of running work are stored while this worker holds the rows."""
        self._ending.set()
        self._model.stop()
        self._judges.shutdown(wait=False, cancel_futures=True)

    @property
    def problem(self) -> str | None:
        """Why no conversation is judged here now; ``None`` if the model is available."""
        return self._model.reason

    @property
    def waits_because(self) -> str | None:
        """Why no conversation is judged now; ``None`` if no problem is known."""
        return self._model.reason if self.others is None else self.others.problem

    def places(self, held: int) -> int:
        """Return how many conversations to claim: one trial while the model is away, otherwise enough to keep busy."""
        if self._model.away:
            return self._model.places(1)
        if held > 2 * self.chunk:
            return 0
        return self._model.places(self.chunk)

    def claimed(self, ids: Sequence[str]) -> None:
        """Note the claimed conversations: while the model is away, they are the trial."""
        self._model.claimed(ids)

    def work(self, ids: Sequence[str]) -> None:
        """Judge claimed conversations and store the outcomes."""
        with self._database.read() as connection:
            rows = judging.to_judge(connection, ids, self._worker)
            general = {
                account_id: accounts.settings(connection, account_id)["general"]
                for account_id in {row.account_id for row in rows if row.known is None}
            }
        if known := [row for row in rows if row.known is not None]:
            # Only their verdict changes, by the current outcome rule or learned judge.
            self._store(known, [Insights.model_validate_json(row.known or "{}") for row in known])
            for row in known:
                self._model.untested(row.id)
            rows = [row for row in rows if row.known is None]
        if self._judge.analyser != LEXICON:
            rows = self._with_tokens(rows)
        if self._one_by_one:
            self._keep_as_they_come({self._judges.submit(self._judge_all, [row], general) for row in rows})
            return
        self._keep(self._judge_all(rows, general))

    def _with_tokens(self, rows: Sequence[ToJudge]) -> Sequence[ToJudge]:
        """Return the conversations of accounts that may use more tokens; the others wait for next month."""
        now = clock.now()
        accounts_of = {row.account_id for row in rows}
        with self._database.read() as connection:
            limits = {
                account_id: limit
                for account_id in accounts_of
                if (limit := accounts.token_limit_reached(connection, account_id, now=now)) is not None
            }
        for account_id, limit in limits.items():
            waiting = [row.id for row in rows if row.account_id == account_id]
            with self._database.write() as connection:
                judging.put_back(
                    connection,
                    self._worker,
                    waiting,
                    after=clock.billing_period(now)[1],
                    problem=tokens_used_up(limit, now=now),
                    counts=False,
                )
            for conversation_id in waiting:
                self._model.untested(conversation_id)
        return [row for row in rows if row.account_id not in limits]

    def _keep_as_they_come(self, judging_now: set[Future[list[_Judged]]]) -> None:
        """Store judgements as they arrive, while the model is queried for the next ones."""
        try:
            while judging_now:
                done, judging_now = wait(judging_now, return_when=FIRST_COMPLETED)
                self._keep([one for future in done for one in future.result()])
        finally:
            for future in judging_now:
                future.cancel()

    def _judge_all(self, rows: Sequence[ToJudge], general: dict[str, dict[str, str]]) -> list[_Judged]:
        rows = self._begun(rows)
        requests = [
            JudgeRequest(
                row.id,
                row.content.decode(),
                row.objective,
                general[row.account_id]["excludedDataAndTopics"] or None,
                Organization.of(general[row.account_id]),
            )
            for row in rows
        ]
        judged = []
        judge = self._trial if any(self._model.is_trial(row.id) for row in rows) else self._judge
        for row, outcome in zip(rows, judge.judge_all(requests), strict=True):
            if isinstance(outcome, Judgement):
                judged.append(_Judged(row, outcome, clock.now()))
                self._model.answered(row.id)
            elif self._ending.is_set():
                # Its connection or process was closed, which does not count as an attempt. The row is
                # released.
                continue
            elif isinstance(outcome, JudgeUnavailable):
                self._wait(row, outcome)
            else:
                self._give_up_or_again(row, outcome)
                # Without a cause, it was raised before the model was queried.
                answered = isinstance(outcome, JudgeFailed) and outcome.__cause__ is not None
                (self._model.answered if answered else self._model.untested)(row.id)
        return judged

    def _begun(self, rows: Sequence[ToJudge]) -> list[ToJudge]:
        """Return the conversations to judge now; the others are released."""
        begun = [row for row in rows if not self._ending.is_set() and self._model.begin(row.id)]
        others = {row.id for row in rows} - {row.id for row in begun}
        if others:
            with self._database.write() as connection:
                self.leases.release(connection, self._worker, sorted(others))
        return begun

    def _wait(self, row: ToJudge, error: JudgeUnavailable) -> None:
        """Postpone a conversation. Failures while the model is away do not count as its attempts."""
        alone = self._model.alone(row.id)
        pause = AWAY_PAUSE
        if alone:
            asked = int((error.retry_after or 0) * clock.SECOND)
            pause = min(max(asked, FIRST_PAUSE * 2 ** min(row.judge_attempts, 20)), judging.LONGEST_PAUSE)
        after = clock.now() + pause
        with self._database.write() as connection:
            judging.put_back(
                connection,
                self._worker,
                [row.id],
                after=after,
                problem=storable_text(str(error)),
                counts=alone,
            )
            self._count_tokens(connection, row, error.tokens)
        self._model.unanswered(row.id, storable_text(str(error)), retry_after=error.retry_after)

    def _make_trial(self, conversation_id: str | None) -> None:
        self._go_on_with([] if conversation_id is None else [conversation_id])

    def _go_on_with(self, conversation_ids: Sequence[str]) -> None:
        """Make conversations due that were postponed while the model was away."""
        with self._database.write() as connection:
            judging.make_due(connection, conversation_ids, now=clock.now())

    def _give_up_or_again(self, row: ToJudge, error: JudgeFailed | TranscriptError) -> None:
        _LOG.warning("conversation %s could not be judged: %s", row.id, error)
        with self._database.write() as connection:
            if row.judge_attempts + 1 < JUDGE_TRIES:
                after = clock.now() + FIRST_PAUSE
                judging.put_back(
                    connection, self._worker, [row.id], after=after, problem=storable_text(str(error))
                )
            else:
                judging.give_up(connection, self._worker, row.id, problem=storable_text(str(error)))
            self._count_tokens(connection, row, getattr(error, "tokens", 0))

    @staticmethod
    def _count_tokens(connection: Connection, row: ToJudge, tokens: int) -> None:
        if tokens:
            accounts.add_usage(connection, row.account_id, "tokens", tokens, now=clock.now())

    def _keep(self, judged: Sequence[_Judged]) -> None:
        """Store judgements; return when they are committed."""
        if not judged:
            return
        documents = [one.insights_of(self._judge.analyser) for one in judged]
        outbox = {one.source.id: one.event() for one in judged}
        tokens = Counter[str]()
        for one in judged:
            tokens[one.source.account_id] += one.judgement.tokens

        def also(connection: Connection, kept: set[str]) -> None:
            events.write(connection, [event for subject, event in outbox.items() if subject in kept])
            for account_id, count in sorted(tokens.items()):
                if count:
                    accounts.add_usage(connection, account_id, "tokens", count, now=clock.now())

        self._store([one.source for one in judged], documents, also)

    def _store(
        self,
        rows: Sequence[ToJudge],
        documents: Sequence[Insights],
        also: Callable[[Connection, set[str]], None] = lambda _connection, _kept: None,
    ) -> None:
        """Store insights with their topic now, and their verdict by the current outcome rule or learned judge."""
        learned = self._learned.verdicts(rows, documents)
        prompts = {row.prompt_id for row, found in zip(rows, documents, strict=True) if is_placed(found)}
        with self._database.read() as connection:
            versions = topics.versions(connection, prompts)
        numbers = self._topics.place(rows, documents, versions)
        with self._database.write() as connection:
            if (held := topics.versions(connection, prompts, hold=True)) != versions:
                # They were changed meanwhile.
                numbers = self._topics.place(rows, documents, held)
            stored = list(map(_row_of, rows, documents, learned, numbers))
            judging.keep(connection, self._worker, stored, also=partial(also, connection))
