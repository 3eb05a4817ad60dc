"""Run one optimization from its first model call to its result, in steps that each store their rows."""

from __future__ import annotations

import random
import threading
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final

from promptlift.errors import PromptliftError
from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.identifiers import new_id
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.llm.port import Cancelled
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.cells import RunCells
from promptlift.service.optimizations.logged_words import LoggedWords
from promptlift.service.optimizations.searching import Searching
from promptlift.service.optimizations.terms import Terms
from promptlift.service.optimizations.variants import (
    VariantText,
    given_variants,
    owners_words,
    write_variants,
)
from promptlift.service.simulations.run import SimulatedConversation, SimulationRun, SimulationRuns
from promptlift.service.simulations.scenarios import FAILURE_WEIGHT, weighted_order
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.simulations.tools import toolbox_of
from promptlift.service.store import accounts, optimizations, runs
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.runs import VariantRow
from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome
from promptlift.stats.shrinkage import prior_sd_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.simulations.tasks import Tasks
    from promptlift.service.store.optimizations import JudgedConversation
    from promptlift.service.store.tables.runs import OptimizationRow
    from promptlift.stats.passes import Pass

FAILURES_READ = 300
ISSUES_SHOWN = 10
SUMMARIES_SHOWN = 5
# Each mostly waits for the model.
RUNS_AT_A_TIME: Final = 40
NO_SEARCH = "There was no search, so variants were written at once: {reason}"


class OptimizationRun(SimulationRun):
    """One optimization.

    The same seed, logged conversations and model answers give the same run, whether interrupted or not. See
    ``Run``.
    """

    tasks: Tasks
    row: OptimizationRow

    def __init__(self, kind: OptimizationJobs, tasks: Tasks, row: OptimizationRow) -> None:
        self.terms = Terms(row)
        super().__init__(kind, tasks, row, PromptText(**row.prompt))
        self.targets = self.terms.targets
        self.own_words = owners_words(self.prompt, self.terms.intent, self.general)
        self.notes: list[str] = []
        self._rehearsal_seconds: float = self.terms.settings.get("rehearsalSeconds", 0.0)
        self._cancelled = threading.Event()

    @cached_property
    def said(self) -> LoggedWords:
        """The words of the logged conversations."""
        row = self.row
        with self.database.read() as connection:
            contents = optimizations.transcripts(
                connection, row.account_id, row.prompt_id, before=row.created_at
            )
            return LoggedWords(self.own_words, contents)

    @cached_property
    def prior_sd_points(self) -> float:
        """Spread of the account's own true effects, once there are enough results."""
        with self.database.read() as connection:
            history = optimizations.finished(connection, self.row.account_id)
        known = [
            (one.lift_points, one.standard_error_points)
            for one in history
            if one.lift_points is not None and one.standard_error_points
        ]
        return prior_sd_from(known)

    def cancel(self) -> None:
        """End all tasks of the run, also while it waits to keep its pace."""
        self._cancelled.set()
        super().cancel()

    def carry_on(self) -> None:
        """Do the remaining passes, and complete the optimization."""
        self.toolbox = toolbox_of(self.database, self.row, self.prompt.content)
        texts = self._texts()
        if (search := self._kept().search) is not None and search["finalist"] is None:
            Searching(self, search).to_finalist()
            texts = self._texts()
        experiment = Experiment.from_state(self._kept().experiment or {})
        while (step := experiment.next_pass()) is not None:
            try:
                progress = experiment.verdict().progress
                self.cells.of(step)  # chosen before those of the next pass
                if progress.passes_left > 1:
                    self.cells.look_ahead(step)
                self.hold(step, texts, done=progress.conversations_done, most=progress.conversations_max)
            except (Cancelled, LeaseLost):
                raise
            except PromptliftError as error:
                if step.stage != "verify":
                    raise
                # The winner is known: a problem now only prevents its lift from being measured once more.
                self.notes.append(f"The verification ended early: {error}")
                experiment.stop()
                break
            self._record(experiment, step)
        with self.database.write() as connection:
            accounts.lock(connection, self.row.account_id)
            self.check_lease(connection)
            row = optimizations.get(connection, self.row.id)
            lifecycle.complete(connection, row, experiment, self.notes, now=clock.now())
        # Scenarios of an unneeded pass may still be in progress.
        self.cancel()

    @cached_property
    def cells(self) -> RunCells:
        """The cells of the run, each a persona with a scenario."""
        with self.database.read() as connection:
            row = optimizations.get(connection, self.row.id)
        return RunCells(self, row)

    def _kept(self) -> OptimizationRow:
        """Return the current row, with the state of the run, and load its notes."""
        with self.database.read() as connection:
            row = optimizations.get(connection, self.row.id)
        if row.experiment is None or row.results is None:
            raise LeaseLost("The run has no state.")
        self.notes = row.results.notes
        return row

    # Before the first pass

    def _texts(self) -> list[str]:
        """Return the text of every arm, the original first; write the variants if there are none yet."""
        with self.database.read() as connection:
            rows = optimizations.variants(connection, self.row.id)
        if not rows:
            rows = self._prepare()
        return [row.content for row in rows]

    def _prepare(self) -> Sequence[VariantRow]:
        row, intent = self.row, self.terms.intent
        with self.database.read() as connection:
            failed = optimizations.judged(
                connection,
                row.account_id,
                row.prompt_id,
                before=row.created_at,
                task_completed=False,
                limit=FAILURES_READ,
            )
            logged = optimizations.logged(connection, row.account_id, row.prompt_id, before=row.created_at)
        weights = {one.id: FAILURE_WEIGHT if one.task_completed is False else 1.0 for one in logged}
        order = weighted_order(list(weights.items()), random.Random(f"{row.seed} pool"))
        pool = [(one, weights[one]) for one in order]
        if self.terms.wants_search(failed=bool(failed)):
            reason = Searching(self).begin(pool)
            if reason is None:
                with self.database.read() as connection:
                    return optimizations.variants(connection, row.id)
            self.notes.append(NO_SEARCH.format(reason=reason))
        if self.terms.candidates:
            written = given_variants(self.terms.candidates, self.prompt.content, self.said)
            self.notes += written.problems
        else:
            written = write_variants(
                self.tasks,
                prompt=self.prompt,
                count=row.variant_count,
                intent=intent,
                failures=_failures(failed, self.said, read_exclusions(self.exclusions)),
                general=self.general,
                seed=row.seed,
                said=self.said,
            )
        if len(written.variants) < row.variant_count:
            self.notes.append(
                f"Only {len(written.variants)} of {row.variant_count} variants could be tested. "
                + " ".join(written.problems)
            )
        experiment = self.terms.experiment(
            variants=len(written.variants), prior_sd_points=self.prior_sd_points
        )
        with self.transaction() as connection:
            self.add_variants(connection, [self.original, *written.variants])
            lifecycle.keep(connection, row, experiment, self.notes, pool=pool)
            return optimizations.variants(connection, row.id)

    @property
    def original(self) -> VariantText:
        """The prompt as it was."""
        return VariantText("Original", self.prompt.content, None)

    def add_variants(self, connection: Connection, texts: Sequence[VariantText], *, first: int = 0) -> None:
        """Store variants, numbered from ``first``."""
        row, now = self.row, clock.moment()
        rows = [
            VariantRow(
                id=new_id("var"),
                account_id=row.account_id,
                optimization_id=row.id,
                number=number,
                name=one.name,
                content=one.content,
                rationale=one.rationale,
                created_at=now,
            )
            for number, one in enumerate(texts, start=first)
        ]
        Rows(connection).insert(*rows)

    # One pass

    def hold(self, step: Pass, texts: Sequence[str], *, done: int, most: int) -> None:
        """Simulate the conversations of a pass cell by cell, or all at once if nobody watches.

        Parameters
        ----------
        done, most
            Conversations before them, and the maximum of the whole run.
        """
        cells = self.cells.of(step)
        of_cells = [
            [SimulatedConversation(cells[planned.number], arm, texts[arm]) for arm in planned.order]
            for planned in step.cells
        ]
        if not self._rehearsal_seconds:
            self.simulate([one for pairs in of_cells for one in pairs])
            return
        for pairs in of_cells:
            done += len(pairs)
            self._wait_for_pace(done / most)
            self.simulate(pairs)

    def _wait_for_pace(self, fraction: float) -> None:
        """Wait until a fraction of a paced rehearsal's time has passed.

        The time counts from the start, so a run continued by another worker does not wait again for finished
        work.
        """
        now = clock.moment()
        passed = (now - min(now, self.row.started_at or self.row.created_at)).total_seconds()
        if self._cancelled.wait(max(0.0, fraction * self._rehearsal_seconds - passed)):
            raise Cancelled

    def _record(self, experiment: Experiment, step: Pass) -> None:
        """Record the outcomes of a pass, decide, and store both."""
        with self.database.read() as connection:
            rows = runs.outcomes(connection, self.row.id, cells=(step.cells[0].number, step.cells[-1].number))
        cells = self.cells.of(step)
        experiment.record(
            Outcome(
                row.cell,
                row.arm,
                row.task_completed,
                row.sentiment_score,
                row.quality,
                cells[row.cell].persona.id,
                self.terms.goal.score(row),
            )
            for row in rows
        )
        if experiment.next_pass() is None:
            return  # stored together with the end
        with self.transaction() as connection:
            lifecycle.keep(connection, self.row, experiment, self.notes)


def _failures(found: Sequence[JudgedConversation], said: LoggedWords, exclusions: Exclusions) -> list[str]:
    """List the failures of logged conversations without names and numbers: frequent issues, and some summaries.

    Insights older than the account's setting may contain what is excluded now.
    """
    named = (title for one in found for title in one.issues)
    titles = Counter(said.masked(title) for title in named if not exclusions.found_in(title))
    failures = [
        f"{title} ({count} of {len(found)} failures)" for title, count in titles.most_common(ISSUES_SHOWN)
    ]
    stories = [said.masked(exclusions.clean(text)) for one in found if (text := one.insights.get("summary"))]
    return failures + stories[:SUMMARIES_SHOWN]


class OptimizationJobs(SimulationRuns):
    """Run optimizations; see ``SimulationRuns``."""

    name = "optimization"
    threads = RUNS_AT_A_TIME
    kept_in = optimizations.LEASES

    def open(self, row_id: str) -> OptimizationRun:
        """Return the run of an optimization, with the configured model or the rehearsal."""
        with self.database.read() as connection:
            row = optimizations.get(connection, row_id)
        return OptimizationRun(self, self.models.tasks(rehearsal=row.rehearsal, seed=row.seed), row)

    def fail(self, row_id: str, reason: str) -> None:
        """End an optimization for a reason, keeping its measurements."""
        with self.database.write() as connection:
            row = optimizations.get(connection, row_id)
            accounts.lock(connection, row.account_id)
            if self.leases.held(connection, self.worker, [row_id]):
                lifecycle.fail(connection, row, reason, now=clock.now())
