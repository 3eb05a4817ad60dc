"""One optimization from its first model call to its result, in steps that each keep their rows."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.errors import PromptliftError
from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.identifiers import new_id
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.llm.failures import Cancelled
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.budget import wants_search
from promptlift.service.optimizations.cells import RunCells
from promptlift.service.optimizations.experiment import experiment_of
from promptlift.service.optimizations.generations.run import Searching
from promptlift.service.optimizations.goal import Goal
from promptlift.service.optimizations.targets import targets_of
from promptlift.service.optimizations.tasks import Failure
from promptlift.service.optimizations.variants.logged_words import LoggedWords
from promptlift.service.optimizations.variants.request import owners_words
from promptlift.service.optimizations.variants.write import given_variants, write_variants
from promptlift.service.simulations.run import SimulatedConversation, SimulationRun
from promptlift.service.simulations.scenarios import FAILURE_WEIGHT, weighted_order
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.simulations.tools.agents import toolbox_of
from promptlift.service.store import accounts, optimizations, simulations
from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome
from promptlift.stats.shrinkage import prior_sd_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.optimizations.tasks import OptimizationTasks
    from promptlift.service.simulations.run import Simulator
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.stats.passes import Pass
    from promptlift.stats.verdict import Progress

__all__ = ["OptimizationRun"]

FAILURES_READ = 300
ISSUES_SHOWN = 10
SUMMARIES_SHOWN = 5
NO_SEARCH = "There was no search, so variants were written at once: {reason}"


class OptimizationRun(SimulationRun):
    """One optimization.

    The same seed, the same logged conversations and the same answers of the model give the same run, whether it was
    interrupted or not. See ``Run``.
    """

    tasks: OptimizationTasks

    def __init__(
        self,
        database: Database,
        pool: Simulator,
        tasks: OptimizationTasks,
        row: AnyRow,
        *,
        worker: str,
    ) -> None:
        prompt = PromptText(**orjson.loads(row.prompt))
        super().__init__(
            database, pool, tasks, row=row, settings=orjson.loads(row.settings), prompt=prompt, worker=worker
        )
        self.optimization = row
        self.targets = targets_of(None if row.intent is None else orjson.loads(row.intent))
        self.goal = Goal.of(row, self.targets)
        self._notes: list[str] = []
        self._rehearsal_seconds: float = self.settings.get("rehearsalSeconds", 0.0)
        self._cells: RunCells | None = None
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End all tasks of the run, also while it waits for its pace."""
        self._cancelled.set()
        super().cancel()

    def count(self, connection: Connection, spent: Mapping[str, int]) -> bool:
        """Count into the optimization."""
        return optimizations.count(connection, self.optimization.id, self.worker, spent)

    def carry_on(self) -> None:
        """Do the passes that are left, and complete the optimization."""
        self.toolbox = toolbox_of(self.database, self.optimization, self.prompt.content)
        texts = self._texts()
        if (searching := self._searching()) is not None:
            searching.to_finalist(self._notes)
            self.cells.avoid(searching.read)
            texts = self._texts()
        experiment = self._experiment()
        while (step := experiment.next_pass()) is not None:
            try:
                self._simulate(step, texts, experiment.verdict().progress)
            except (Cancelled, LeaseLost):
                raise
            except PromptliftError as error:
                if step.stage != "verify":
                    raise
                # The winner is found: what is in the way now only keeps its lift from being measured once more.
                self._notes.append(f"The verification ended early: {error}")
                experiment.stop()
                break
            self._record(experiment, step)
        with self.database.write() as connection:
            accounts.lock(connection, self.optimization.account_id)
            self.check_lease(connection)
            row = optimizations.get(connection, self.optimization.id)
            lifecycle.complete(connection, row, experiment, self._notes, now=clock.now())
        # Scenarios of a pass that is not needed may still be on their way.
        self.cancel()

    @property
    def cells(self) -> RunCells:
        """The cells: what each conversation is about."""
        if self._cells is None:
            raise LeaseLost("The run has no state.")
        return self._cells

    # Before the first pass

    def _texts(self) -> list[str]:
        """Return the text of every arm, the original first; variants are written when there are none yet."""
        with self.database.read() as connection:
            rows = optimizations.variants(connection, self.optimization.id)
        if not rows:
            rows = self._prepare()
        return [row.content for row in rows]

    def _prepare(self) -> Sequence[AnyRow]:
        row = self.optimization
        intent = None if row.intent is None else orjson.loads(row.intent)
        with self.database.read() as connection:
            failures = optimizations.failures(
                connection, row.account_id, row.prompt_id, before=row.created_at, limit=FAILURES_READ
            )
            logged = optimizations.logged(connection, row.account_id, row.prompt_id, before=row.created_at)
            history = optimizations.finished(connection, row.account_id)
            contents = optimizations.transcripts(
                connection, row.account_id, row.prompt_id, before=row.created_at
            )
            said = LoggedWords(
                owners_words(self.prompt, intent, self.general),
                (content.decode("utf-8", "replace") for content in contents),
            )
        candidates = [(one.id, FAILURE_WEIGHT if one.task_completed is False else 1.0) for one in logged]
        weights = dict(candidates)
        order = weighted_order(candidates, random.Random(f"{row.seed} pool"))
        pool = [(one, weights[one]) for one in order]
        if wants_search(self.settings, variants=row.variant_count, failed=bool(failures)):
            searching = Searching(self, prior_sd_points=_prior_sd(history), said=said)
            reason = searching.begin(pool, self._notes)
            if reason is None:
                with self.database.read() as connection:
                    return optimizations.variants(connection, row.id)
            self._notes.append(NO_SEARCH.format(reason=reason))
        given = self.settings.get("candidates")
        written = (
            given_variants(given, self.prompt.content, said)
            if given
            else write_variants(
                self.tasks,
                prompt=self.prompt,
                count=row.variant_count,
                intent=intent,
                failures=_failures(failures, said, read_exclusions(self.exclusions)),
                general=self.general,
                seed=row.seed,
                said=said,
            )
        )
        if given:
            self._notes += written.problems
        elif len(written.variants) < row.variant_count:
            self._notes.append(
                f"Only {len(written.variants)} of {row.variant_count} variants could be tested. "
                + " ".join(written.problems)
            )
        experiment = experiment_of(row, variants=len(written.variants), prior_sd_points=_prior_sd(history))
        now = clock.now()
        arms: list[tuple[str, str, str | None]] = [("Original", self.prompt.content, None)]
        arms += [(variant.name, variant.content, variant.rationale) for variant in written.variants]
        rows = [
            {
                "id": new_id("var"),
                "account_id": row.account_id,
                "optimization_id": row.id,
                "number": number,
                "name": name,
                "content": content,
                "rationale": rationale,
                "created_at": now,
            }
            for number, (name, content, rationale) in enumerate(arms)
        ]
        with self.transaction() as connection:
            optimizations.add_variants(connection, rows)
            columns = lifecycle.measured(
                connection, row, experiment, [one["id"] for one in rows], self._notes, ended=False
            )
            pool_text = orjson.dumps(pool).decode()
            optimizations.change(connection, row.id, {**columns, "pool": pool_text})
            return optimizations.variants(connection, row.id)

    def _searching(self) -> Searching | None:
        """Return the search that is under way; ``None`` without one, and when it has its finalist."""
        with self.database.read() as connection:
            row = optimizations.get(connection, self.optimization.id)
            history = optimizations.finished(connection, row.account_id)
        if row.search is None:
            return None
        self._cells = RunCells(self, row)
        self._notes = orjson.loads(row.results)["notes"]
        state = orjson.loads(row.search)
        if state["finalist"] is not None:
            self.cells.avoid(state["read"])
            return None
        searching = Searching(self, prior_sd_points=_prior_sd(history))
        searching.restore(state)
        return searching

    def _experiment(self) -> Experiment:
        with self.database.read() as connection:
            row = optimizations.get(connection, self.optimization.id)
        if row.experiment is None or row.results is None:
            raise LeaseLost("The run has no state.")
        if self._cells is None:
            self._cells = RunCells(self, row)
        self._notes = orjson.loads(row.results)["notes"]
        return Experiment.from_state(orjson.loads(row.experiment))

    # One pass

    def _simulate(self, step: Pass, texts: Sequence[str], progress: Progress) -> None:
        cells = self.cells.of(step)
        if progress.passes_left > 1:
            self.cells.look_ahead(step)
        self.hold(
            [
                [SimulatedConversation(cells[planned.number], arm, texts[arm]) for arm in planned.order]
                for planned in step.cells
            ],
            done=progress.conversations_done,
            most=progress.conversations_max,
        )

    def hold(self, of_cells: Sequence[Sequence[SimulatedConversation]], *, done: int, most: int) -> None:
        """Hold conversations cell by cell, or all at once where nobody watches.

        Parameters
        ----------
        done, most
            Conversations before them, and of the whole run at most.
        """
        if not self._rehearsal_seconds:
            self.simulate([one for pairs in of_cells for one in pairs])
            return
        for pairs in of_cells:
            done += len(pairs)
            self._wait_for_pace(done / most)
            self.simulate(pairs)

    def _wait_for_pace(self, fraction: float) -> None:
        """Wait until a fraction of the time of a rehearsal that is to be watched is over.

        The time counts from the start, so a run that another worker carries on does not wait again for what is done.
        """
        now = clock.now()
        started = min(now, self.optimization.started_at or self.optimization.created_at)
        due = started + fraction * self._rehearsal_seconds * clock.SECOND
        if self._cancelled.wait(max(0.0, (due - now) / clock.SECOND)):
            raise Cancelled

    def _record(self, experiment: Experiment, step: Pass) -> None:
        """Record the outcomes of a pass, decide, and keep both."""
        with self.database.read() as connection:
            rows = simulations.of_cells(
                connection, self.optimization.id, step.cells[0].number, step.cells[-1].number
            )
        cells = self.cells.of(step)
        experiment.record(
            Outcome(
                row.cell,
                row.arm,
                row.task_completed,
                row.sentiment_score,
                row.quality,
                cells[row.cell].persona.id,
                self.goal.score(row),
            )
            for row in rows
        )
        if experiment.next_pass() is None:
            return  # kept together with the end
        with self.transaction() as connection:
            ids = [variant.id for variant in optimizations.variants(connection, self.optimization.id)]
            columns = lifecycle.measured(
                connection, self.optimization, experiment, ids, self._notes, ended=False
            )
            optimizations.change(connection, self.optimization.id, columns)


def _failures(found: Sequence[dict[str, Any]], said: LoggedWords, exclusions: Exclusions) -> list[Failure]:
    """List the failures of logged conversations without names and numbers: frequent issues, and some summaries.

    Insights that are older than the account's setting may name what is excluded now.
    """
    named = (issue["title"] for one in found for issue in one.get("issues") or [])
    titles = Counter(said.masked(title) for title in named if not exclusions.found_in(title))
    failures = [Failure(title, count, len(found)) for title, count in titles.most_common(ISSUES_SHOWN)]
    stories = [said.masked(exclusions.clean(one["summary"])) for one in found if one.get("summary")]
    return failures + [Failure(story) for story in stories[:SUMMARIES_SHOWN]]


def _prior_sd(history: Sequence[dict[str, Any]]) -> float:
    """Spread of the account's own true effects, once there are enough results."""
    known = [
        (one["liftPoints"], one["standardErrorPoints"])
        for one in history
        if one.get("liftPoints") is not None and (one.get("standardErrorPoints") or 0.0) > 0.0
    ]
    return prior_sd_from(known, about=0.0)
