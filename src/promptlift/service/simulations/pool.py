"""Simulate conversations concurrently, judge them, and store each one when it ends."""

from __future__ import annotations

import logging
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from promptlift.errors import PromptliftError
from promptlift.schema.transcript import dump_content
from promptlift.service.insights.judge import JudgeFailed, JudgeUnavailable
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.llm.port import Cancelled, LlmBadAnswer, LlmRefused, LlmUnavailable
from promptlift.service.simulations.conversation import simulate
from promptlift.service.simulations.run import Ended
from promptlift.service.store import SQLAlchemyError
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from promptlift.service.simulations.run import SimulatedConversation, SimulationRun
    from promptlift.service.store.database import Database
    from promptlift.service.store.rows import Base
    from promptlift.service.store.tables.runs import BenchmarkConversationRow, SimulationRow

_LOG = logging.getLogger(__name__)

_ERROR_CHARS = 2_000

Item = TypeVar("Item")
Kept = TypeVar("Kept")
_Kept: TypeAlias = "SimulationRow | BenchmarkConversationRow"
# The row of an ended conversation, and why its run may not continue, if so.
_Done: TypeAlias = "tuple[_Kept, PromptliftError | None]"


class SimulationPool:
    """Threads in which conversations are simulated, shared by all runs of the process.

    Parameters
    ----------
    at_a_time
        Concurrent conversations over all runs. More than the limit on model calls, so that it is fully used
        even while some conversations are between two calls.
    """

    def __init__(self, database: Database, *, at_a_time: int) -> None:
        self._at_a_time = at_a_time
        self._threads = ThreadPoolExecutor(max_workers=at_a_time, thread_name_prefix="simulation")
        # SQLite makes writers wait by sleeping ever longer, so runs that store conversations take turns
        # instead.
        self._turn = threading.Lock() if database.is_sqlite else nullcontext()

    def close(self) -> None:
        """Accept no more conversations."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def submit(self, work: Callable[[], Kept]) -> Future[Kept]:
        """Do other work of a run in one of the threads."""
        return self._threads.submit(work)

    def simulate_all(self, run: SimulationRun, conversations: Sequence[SimulatedConversation]) -> None:
        """Simulate conversations in random order; see ``side_by_side``.

        A run never has more conversations in the pool than its capacity, so that runs take turns.
        """
        seed = run.row.seed, conversations[0].cell.number
        order = np.random.default_rng(seed).permutation(len(conversations))
        side_by_side(
            self._threads,
            lambda one: self._simulate(run, one),
            [conversations[at] for at in order],
            keep=lambda rows: self._keep(run, rows),
            at_a_time=self._at_a_time,
            limit=run.tokens_used_up,
        )

    def _simulate(self, run: SimulationRun, conversation: SimulatedConversation) -> _Done:
        """Simulate one conversation."""
        if (gone := run.given_up(conversation)) is not None:
            return _dropped(run, conversation, gone), None
        try:
            ended = _held(run, conversation)
        except Cancelled:
            raise
        except (LlmUnavailable, LlmRefused, JudgeUnavailable) as error:
            # A refusal of one text (too long, say) concerns only this conversation; a missing endpoint
            # concerns all.
            return _dropped(run, conversation, error), run.unanswered(error, conversation)
        except (LlmBadAnswer, JudgeFailed) as error:
            return _dropped(run, conversation, error), None
        except Exception as error:  # noqa: BLE001 - a defect that one conversation shows must not end the run
            _LOG.exception("a simulated conversation of %s failed", run.row.id)
            problem = PromptliftError(f"A simulated conversation failed: {type(error).__name__}")
            return _dropped(run, conversation, error), run.unanswered(problem, conversation)
        run.answered(conversation)
        return _judged(run, conversation, ended), None

    def _keep(self, run: SimulationRun, rows: Sequence[Base]) -> None:
        with self._turn, run.transaction() as connection:
            Rows(connection).insert(*rows)


def side_by_side(
    threads: ThreadPoolExecutor,
    work: Callable[[Item], tuple[Kept | None, PromptliftError | None]],
    items: Iterable[Item],
    *,
    keep: Callable[[Sequence[Kept]], None],
    at_a_time: int,
    limit: Callable[[], PromptliftError | None],
) -> None:
    """Work on items concurrently, and keep what ended together while the others continue.

    Parameters
    ----------
    work
        Returns what to keep of an item, if anything, and why no other item may begin, if so.
    limit
        Returns why nothing more may begin, if so.

    Raises
    ------
    BaseException
        Why not every item was begun. What ended is kept.
    """
    waiting = deque(items)
    ended: SimpleQueue[Future[tuple[Kept | None, PromptliftError | None]]] = SimpleQueue()
    begun = 0
    found: list[Kept] = []
    failure: BaseException | None = None
    while begun or found or (waiting and failure is None):
        while waiting and failure is None and begun < at_a_time:
            failure = limit()
            if failure is None:
                threads.submit(work, waiting.popleft()).add_done_callback(ended.put)
                begun += 1
        if found:
            try:
                keep(found)
            except (PromptliftError, SQLAlchemyError) as error:
                failure = failure or error
            found = []
        if begun:
            futures = [ended.get(), *(ended.get_nowait() for _ in range(ended.qsize()))]
            begun -= len(futures)
            for one in futures:
                problem = Cancelled() if one.cancelled() else one.exception()
                if problem is None:
                    kept, problem = one.result()
                    found += [] if kept is None else [kept]
                failure = failure or problem
    if failure is not None:
        raise failure


def _held(run: SimulationRun, conversation: SimulatedConversation) -> Ended:
    """Simulate and judge one conversation."""
    cell = conversation.cell
    simulated = simulate(
        run.tasks,
        prompt=conversation.prompt or run.prompt,
        content=conversation.content,
        persona=cell.persona,
        scenario=cell.scenario,
        max_turns=run.max_turns,
        # The same for both arms, so that they talk to the same person.
        seed=run.row.seed * 1_000_003 + cell.number,
        tools=run.toolbox,
    )
    judgement = run.tasks.judge(
        simulated.transcript,
        objective=run.prompt.objective,
        exclusions=run.exclusions,
        organization=run.organization,
        targets=run.targets,
    )
    return Ended(simulated, judgement)


def _judged(run: SimulationRun, conversation: SimulatedConversation, ended: Ended) -> _Kept:
    """Return the judgement, but not completed if the conversation ran out of turns.

    With one turn the simulated person cannot respond, so the judge alone decides.
    """
    simulated, judgement = ended
    out_of_turns = simulated.ended_by == "turns" and run.max_turns > 1
    return run.to_row(
        conversation,
        ended,
        status="completed",
        task_completed=judgement.task_completed and not out_of_turns,
        sentiment=judgement.sentiment,
        sentiment_score=judgement.sentiment_score,
        quality=judgement.quality,
        turns=simulated.turns,
        ended_by=simulated.ended_by,
        content=dump_content(simulated.transcript).encode("utf-8", "surrogatepass"),
    )


def _dropped(run: SimulationRun, conversation: SimulatedConversation, error: Exception) -> _Kept:
    """Return the row of a dropped conversation, whose pair does not count."""
    said = str(error) if isinstance(error, PromptliftError) else type(error).__name__
    problem = storable_text(said)[:_ERROR_CHARS]
    return run.to_row(conversation, None, status="dropped", turns=0, error=problem)
