"""One optimization from its first model call to its result, in parts that each leave their rows behind."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service import moment
from promptlift.service.actions import optimization_life, run_personas
from promptlift.service.actions.optimizations import experiment_of
from promptlift.service.engine.personas import Persona, draw
from promptlift.service.engine.prompt_text import PromptText
from promptlift.service.engine.scenarios import (
    FAILURE_WEIGHT,
    Scenario,
    from_conversation,
    opening_key,
    weighted_order,
    write_scenarios,
)
from promptlift.service.engine.variants import write_variants
from promptlift.service.identifiers import new_id
from promptlift.service.jobs.simulated_conversations import LostHold, Run, SimulatedConversation
from promptlift.service.store import accounts, conversations, optimizations, simulations, usage
from promptlift.stats import Experiment, Outcome, prior_sd_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.engine.judge import Judge
    from promptlift.service.jobs.simulated_conversations import SimulationRooms
    from promptlift.service.llm.calls import Calls
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.stats import Pass

__all__ = ["OptimizationRun"]

FAILURES_READ = 300
ISSUES_SHOWN = 10
SUMMARIES_SHOWN = 5


class OptimizationRun:
    """Carries one optimization on from wherever its rows say that it is.

    The same seed, the same logged conversations and the same answers of the model give the same run, whether it was
    interrupted or not.

    Parameters
    ----------
    agent_model
        Name of the model that plays the assistant, where it is not the prompt's own.
    worker
        Who has the run; every write asks whether that still holds.
    """

    def __init__(
        self,
        database: Database,
        rooms: SimulationRooms,
        calls: Calls,
        judge: Judge,
        *,
        agent_model: str | None,
        optimization_id: str,
        worker: str,
    ) -> None:
        self._database = database
        self._rooms = rooms
        self._calls = calls
        self._worker = worker
        with database.read() as connection:
            row = optimizations.get(connection, optimization_id)
        self._row = row
        self._settings: dict[str, Any] = orjson.loads(row.settings)
        self._prompt = PromptText(**orjson.loads(row.prompt))
        self._notes: list[str] = []
        self._run = Run(
            optimization_id=row.id,
            account_id=row.account_id,
            prompt=self._prompt,
            calls=calls,
            judge=judge,
            max_turns=self._settings["maxTurns"],
            seed=row.seed,
            exclusions=self._settings["general"].get("excludedDataAndTopics") or None,
            agent_model=agent_model,
            hold=self._hold,
        )

    def _hold(self, connection: Connection, calls: int, tokens: int) -> bool:
        if tokens:
            usage.add(connection, self._row.account_id, "tokens", tokens, now=moment.now())
        return optimizations.count_calls(connection, self._row.id, self._worker, calls, tokens)

    def to_its_end(self) -> None:
        """Run until there is a result.

        Raises
        ------
        Cancelled, LostHold
            The run was stopped or is another process's.
        PromptliftError
            It failed; the message is the reason.
        """
        texts = self._texts()
        experiment = self._experiment()
        while (step := experiment.next_pass()) is not None:
            self._hold_pass(step, texts)
            self._record(experiment, step)
        with self._database.write() as connection:
            accounts.lock(connection, self._row.account_id)
            self._run.keep(connection)
            row = optimizations.get(connection, self._row.id)
            optimization_life.complete(connection, row, experiment, self._notes, now=moment.now())

    # Before the first pass

    def _texts(self) -> list[str]:
        """The text of every arm, the original first; written by the model when there are none yet."""
        with self._database.read() as connection:
            rows = optimizations.variants(connection, self._row.id)
        if not rows:
            rows = self._prepare()
        return [row.content for row in rows]

    def _prepare(self) -> Sequence[AnyRow]:
        row = self._row
        with self._database.read() as connection:
            failures = optimizations.failures(
                connection, row.account_id, row.prompt_id, before=row.created_at, limit=FAILURES_READ
            )
            logged = optimizations.logged(connection, row.account_id, row.prompt_id, before=row.created_at)
            history = optimizations.finished(connection, row.account_id)
        written = write_variants(
            self._calls,
            prompt=self._prompt,
            count=row.variant_count,
            intent=None if row.intent is None else orjson.loads(row.intent),
            failures=_told(failures),
            general=self._settings["general"],
            seed=row.seed,
        )
        candidates = [(one.id, FAILURE_WEIGHT if one.task_completed is False else 1.0) for one in logged]
        pool = weighted_order(candidates, random.Random(f"{row.seed} pool"))
        if len(written.variants) < row.variant_count:
            self._notes.append(
                f"The model wrote {len(written.variants)} usable of {row.variant_count} variants. "
                + " ".join(written.problems)
            )
        experiment = experiment_of(row, variants=len(written.variants), prior_sd_points=_prior_sd(history))
        now = moment.now()
        arms: list[tuple[str, str, str | None]] = [("Original", self._prompt.content, None)]
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
        with self._database.write() as connection:
            self._run.keep(connection)
            optimizations.add_variants(connection, rows)
            columns = optimization_life.measured(
                connection, row, experiment, [one["id"] for one in rows], self._notes, ended=False
            )
            pool_text = orjson.dumps(pool).decode()
            optimizations.change(connection, row.id, {**columns, "pool": pool_text})
            return optimizations.variants(connection, row.id)

    def _experiment(self) -> Experiment:
        with self._database.read() as connection:
            row = optimizations.get(connection, self._row.id)
        if row.experiment is None or row.results is None:
            raise LostHold("The run has no state.")
        self._row = row
        self._notes = orjson.loads(row.results)["notes"]
        return Experiment.from_state(orjson.loads(row.experiment))

    # One pass

    def _hold_pass(self, step: Pass, texts: Sequence[str]) -> None:
        cells = self._cells(step)
        with self._database.read() as connection:
            kept = simulations.of_cells(connection, self._row.id, step.cells[0].number, step.cells[-1].number)
        there = {(row.cell, row.arm) for row in kept}
        todo = [
            SimulatedConversation(cell.number, arm, step.number, step.stage, texts[arm], *cells[cell.number])
            for cell in step.cells
            for arm in cell.order
            if (cell.number, arm) not in there
        ]
        if todo:
            self._rooms.hold_all(self._run, todo)

    def _cells(self, step: Pass) -> dict[int, tuple[Persona, Scenario]]:
        """Who talks about what in the cells of a pass; chosen once and kept."""
        with self._database.read() as connection:
            rows = simulations.cells(connection, self._row.id)
        there = {row.number: row for row in rows}
        if step.cells[0].number not in there:
            rows = [*rows, *self._fill(step, rows)]
            there = {row.number: row for row in rows}
        return {
            cell.number: (
                Persona(**orjson.loads(there[cell.number].persona)),
                _scenario(orjson.loads(there[cell.number].scenario)),
            )
            for cell in step.cells
        }

    def _fill(self, step: Pass, before: Sequence[AnyRow]) -> Sequence[AnyRow]:
        personas = self._personas(step)
        used = [orjson.loads(row.scenario) for row in before]
        scenarios = self._scenarios(len(step.cells), used, list(personas.values()))
        rows = [
            {
                "account_id": self._row.account_id,
                "optimization_id": self._row.id,
                "number": cell.number,
                "pass": step.number,
                "stage": step.stage,
                "persona": orjson.dumps(_document(personas[cell.persona])).decode(),
                "scenario": orjson.dumps(scenario).decode(),
            }
            for cell, scenario in zip(step.cells, scenarios, strict=True)
        ]
        with self._database.write() as connection:
            self._run.keep(connection)
            simulations.add_cells(connection, rows)
            return simulations.cells(connection, self._row.id)

    def _personas(self, step: Pass) -> dict[int, Persona]:
        """The personas of a pass by the number of their draw."""
        numbers = list(dict.fromkeys(cell.persona for cell in step.cells))
        row = self._row
        with self._database.read() as connection:
            if row.persona_ids is not None:
                ids = orjson.loads(row.persona_ids)
                panel = run_personas.named(connection, row.account_id, ids, before=row.created_at)
                return dict(zip(numbers, [panel[one] for one in ids], strict=True))
            everybody = run_personas.everybody(connection, row.account_id, before=row.created_at)
        drawn = draw(everybody, len(numbers), random.Random(f"{row.seed} personas {step.number}"))
        return dict(zip(numbers, drawn, strict=True))

    def _scenarios(
        self, count: int, used: Sequence[dict[str, Any]], personas: Sequence[Persona]
    ) -> list[dict[str, Any]]:
        """Scenarios that were not used yet: of logged conversations first, then of the model."""
        pool: list[str] = orjson.loads(self._row.pool or "[]")
        at = max((scenario["pool"] for scenario in used), default=0)
        known = {opening_key(scenario["opening"]) for scenario in used}
        found: list[dict[str, Any]] = []
        with self._database.read() as connection:
            while len(found) < count and at < len(pool):
                logged = conversations.find(connection, self._row.account_id, pool[at])
                at += 1
                scenario = None if logged is None else _real(logged)
                if scenario is not None and opening_key(scenario.opening) not in known:
                    known.add(opening_key(scenario.opening))
                    found.append({**_document(scenario), "pool": at, "conversationId": pool[at - 1]})
        if len(found) < count:
            every = [_scenario(one) for one in (*used, *found)]
            written = write_scenarios(
                self._calls,
                prompt=self._prompt,
                count=count - len(found),
                known=every,
                personas=personas,
                seed=self._row.seed + len(used),
            )
            found += [{**_document(one), "pool": at} for one in written.scenarios]
        return found

    def _record(self, experiment: Experiment, step: Pass) -> None:
        """Take what happened in a pass, decide, and keep both."""
        with self._database.read() as connection:
            rows = simulations.of_cells(connection, self._row.id, step.cells[0].number, step.cells[-1].number)
            cells = {
                row.number: orjson.loads(row.persona)["id"]
                for row in simulations.cells(connection, self._row.id)
            }
        arms = set(step.arms)
        experiment.record(
            Outcome(
                row.cell,
                row.arm,
                row.task_completed,
                row.sentiment_score,
                row.quality,
                cells[row.cell],
            )
            for row in rows
            if row.arm in arms
        )
        if experiment.next_pass() is None:
            return  # kept together with the end
        with self._database.write() as connection:
            self._run.keep(connection)
            ids = [variant.id for variant in optimizations.variants(connection, self._row.id)]
            columns = optimization_life.measured(
                connection, self._row, experiment, ids, self._notes, ended=False
            )
            optimizations.change(connection, self._row.id, columns)


def _told(failures: Sequence[dict[str, Any]]) -> list[str]:
    """What went wrong in logged conversations: the most frequent issues, and some whole stories."""
    titles = Counter(issue["title"] for one in failures for issue in one.get("issues") or [])
    told = [
        f"{title} ({count} of {len(failures)} failures)" for title, count in titles.most_common(ISSUES_SHOWN)
    ]
    told += [one["summary"] for one in failures if one.get("summary")][:SUMMARIES_SHOWN]
    return told


def _prior_sd(history: Sequence[dict[str, Any]]) -> float:
    """Spread of the account's own true effects, once there are enough results."""
    known = [
        (one["liftPoints"], one["standardErrorPoints"])
        for one in history
        if one.get("liftPoints") is not None and (one.get("standardErrorPoints") or 0.0) > 0.0
    ]
    return prior_sd_from(known)


def _real(logged: AnyRow) -> Scenario | None:
    insights = None if logged.document is None else orjson.loads(logged.document)
    return from_conversation(logged.content.decode(), insights)


def _document(value: Persona | Scenario) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _scenario(document: dict[str, Any]) -> Scenario:
    return Scenario(**{name: document[name] for name in Scenario.__slots__})
