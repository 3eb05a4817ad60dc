"""Simulate conversations concurrently, judge them, and store each one when it ends."""

from __future__ import annotations

import logging
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from promptlift.errors import PromptliftError
from promptlift.schema.transcript import dump_content
from promptlift.service.insights.judge import JudgeFailed, JudgeUnavailable
from promptlift.service.llm.failures import Cancelled, LlmBadAnswer, LlmRefused, LlmUnavailable
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.simulations.conversation import simulate
from promptlift.service.simulations.run import Ended
from promptlift.service.store import SQLAlchemyError
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.simulations.run import SimulatedConversation, SimulationRun
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.runs import BenchmarkConversationRow, SimulationRow

_LOG = logging.getLogger(__name__)

_ERROR_CHARS = 2_000

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

    def simulate_all(self, run: SimulationRun, conversations: Sequence[SimulatedConversation]) -> None:
        """Simulate conversations in random order, and return when all are stored.

        A run never has more conversations in the pool than its capacity, so that runs take turns. Those that
        end together are stored in one transaction, while the others continue.

        Raises
        ------
        Cancelled, LeaseLost, ModelGone, TokensUsedUp
            The rest was not simulated; ended conversations are stored.
        """
        order = np.random.default_rng((run.row.seed, conversations[0].cell.number)).permutation(
            len(conversations)
        )
        waiting = deque(conversations[at] for at in order)
        ended: SimpleQueue[Future[_Done]] = SimpleQueue()
        talking = 0
        rows: list[_Kept] = []
        failure: BaseException | None = None
        while talking or rows or (waiting and failure is None):
            while waiting and failure is None and talking < self._at_a_time:
                self._threads.submit(self._simulate, run, waiting.popleft()).add_done_callback(ended.put)
                talking += 1
            if rows:
                # Even if the run cannot continue, ended conversations are stored.
                lost = self._keep(run, rows)
                failure = failure or lost or (run.tokens_used_up() if waiting else None)
                rows = []
            if talking:
                found = [ended.get(), *(ended.get_nowait() for _ in range(ended.qsize()))]
                talking -= len(found)
                for one in found:
                    row, problem = _ended(one)
                    rows += row
                    failure = failure or problem
        if failure is not None:
            raise failure

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

    def _keep(self, run: SimulationRun, rows: Sequence[_Kept]) -> BaseException | None:
        """Store ended conversations; return why the run may not continue, if so."""
        try:
            with self._turn, run.transaction() as connection:
                Rows(connection).insert(*rows)
        except (PromptliftError, SQLAlchemyError) as error:
            return error
        return None


def _ended(future: Future[_Done]) -> tuple[list[_Kept], BaseException | None]:
    """Return the row of an ended conversation, if there is one, and why its run may not continue, if so."""
    if future.cancelled():
        return [], Cancelled()
    failure = future.exception()
    if failure is not None:
        return [], failure
    row, problem = future.result()
    return [row], problem


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
