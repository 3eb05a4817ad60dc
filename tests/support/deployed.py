"""A database with an optimization that has completed, logged conversations, and what happened as events."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from promptlift.schema import events as schema
from promptlift.schema.experiments import Resolution
from promptlift.schema.limits import PLANS
from promptlift.schema.naming import SCHEMES
from promptlift.schema.optimizations import ApplyRequest, Variant
from promptlift.schema.queries import ResolveQuery
from promptlift.schema.results import OptimizationResults
from promptlift.service import clock
from promptlift.service.actions.experiments import resolve
from promptlift.service.actions.logging.entries import assigned_columns
from promptlift.service.actions.versions import apply
from promptlift.service.deployments import transitions, watch
from promptlift.service.identifiers import new_id
from promptlift.service.store import (
    accounts,
    conversation_counts,
    conversations,
    optimizations,
    prompts,
    runs,
)
from promptlift.service.store import deployments as rows
from promptlift.service.store.rows import Rows, newest
from promptlift.service.store.tables import events, insights
from promptlift.service.store.tables.prompts import VersionRow
from promptlift.service.store.tables.runs import KeptResults, OptimizationRow, VariantRow
from support.asking import ask
from support.stored_rows import conversation_row, insights_row, prompt_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.service.call import AnyCall
    from promptlift.service.store.database import Database

PROMPT = SCHEMES["prompt"]
# Of every variant, in percent, with its interval.
EXPECTED = (12.0, 4.0, 20.0)
EXPECTED_POINTS = 10.0
ORIGINAL = "You help.\n"
TEXTS = (ORIGINAL, "You help a lot.\r\n  ☎ \u202e{{name}} ", "You hardly help.")
MANUAL = {"deploymentMode": "manual", "autoDeploy": {"enabled": False, "requireRegressionPass": True}}
STAGED = {**MANUAL, "deploymentMode": "semi-automatic"}
TESTED = {"deploymentMode": "manual", "autoDeploy": {"enabled": True, "requireRegressionPass": True}}
AT_ONCE = {"deploymentMode": "manual", "autoDeploy": {"enabled": True, "requireRegressionPass": False}}


@dataclass(frozen=True)
class Logged:
    """One judged conversation."""

    completed: bool
    sentiment: float = 0.5
    quality: float | None = None
    status: str = "completed"
    response_seconds: float | None = None
    messages: int = 2
    issue: str | None = "No answer"
    answer: str = "answer"
    basis: str = "model"
    # The metadata of whoever got the text.
    metadata: Mapping[str, str] | None = None


@dataclass
class World:
    """One account with one prompt."""

    database: Database
    account: str = ""
    prompt_id: str = ""
    started: int = field(default_factory=lambda: clock.now() - 10 * clock.DAY)

    def __post_init__(self) -> None:
        with self.database.write() as connection:
            self.account = accounts.create(connection, name="A", email="a@example.test", plan="enterprise")
        self.prompt_id = self.add_prompt()

    @property
    def caller(self) -> accounts.Caller:
        return accounts.Caller(self.account, PLANS["enterprise"], "key")

    def ask(
        self, action: Callable[[AnyCall], Any], identifier: str = "", body: Any = None, query: Any = None
    ) -> Any:
        """Answer a call of this account, as JSON."""
        return ask(action, self.database, self.caller, identifier, body, query)

    def add_prompt(self, content: str = ORIGINAL) -> str:
        prompt_id = new_id("prm")
        with self.database.write() as connection:
            row = prompt_row(prompt_id, self.account, clock.now(), content=content, objective="Help.")
            prompts.add(Rows(connection), row)
        return prompt_id

    def optimization(
        self,
        settings: dict[str, Any] = MANUAL,
        *,
        winner: int | None = 1,
        status: str = "completed",
        rehearsal: bool = False,
        texts: tuple[str, ...] = TEXTS,
    ) -> str:
        """Add an optimization; a completed one ends as the service ends it."""
        optimization_id, now = new_id("opt"), clock.now()
        ids = [new_id("var") for _ in texts]
        prompt = {
            "content": texts[0],
            "llm_model": "gpt-4o",
            "temperature": None,
            "max_tokens": None,
            "objective": None,
        }
        general = {"excludedDataAndTopics": ""}
        won = OptimizationResults(
            winner_selected=winner is not None, winning_variant_id=None if winner is None else ids[winner]
        )
        expected = dict(
            zip(("lift_expected", "lift_expected_low", "lift_expected_high"), EXPECTED, strict=True)
        )
        expected["lift_points_expected"] = EXPECTED_POINTS
        measured = [Variant(id=one, number=number, **expected) for number, one in enumerate(ids) if number]
        with self.database.write() as connection:
            runs.add(
                connection,
                OptimizationRow(
                    id=optimization_id,
                    account_id=self.account,
                    prompt_id=self.prompt_id,
                    status=status,
                    mode="exploratory",
                    variant_count=len(texts) - 1,
                    settings={**settings, "maxTurns": 2, "general": general},
                    prompt=prompt,
                    seed=7,
                    rehearsal=rehearsal,
                    results=KeptResults(results=won, variants=measured),
                    created_at=clock.to_datetime(now),
                    completed_at=clock.to_datetime(now),
                ),
            )
            Rows(connection).insert(
                *(
                    VariantRow(
                        id=ids[number],
                        account_id=self.account,
                        optimization_id=optimization_id,
                        number=number,
                        name="Original" if number == 0 else f"Variant {number}",
                        content=text,
                        rationale=None,
                        created_at=clock.to_datetime(now),
                    )
                    for number, text in enumerate(texts)
                ),
            )
            if status == "completed":
                variants = optimizations.variants(connection, optimization_id)
                transitions.on_completed(
                    connection,
                    optimizations.get(connection, optimization_id),
                    winner=None if winner is None else variants[winner],
                    now=now,
                )
        return optimization_id

    def variant(self, optimization_id: str, number: int) -> str:
        with self.database.read() as connection:
            return optimizations.variants(connection, optimization_id)[number].id

    def apply(self, optimization_id: str, number: int | None = None, **wanted: Any) -> dict[str, Any]:
        variant = None if number is None else self.variant(optimization_id, number)
        return self.apply_variant(optimization_id, variant, **wanted)

    def apply_variant(self, optimization_id: str, variant_id: str | None, **wanted: Any) -> dict[str, Any]:
        """Apply whatever is said to be a variant."""
        body = ApplyRequest.model_construct(variant_id=variant_id, **wanted)
        answer: dict[str, Any] = self.ask(apply, optimization_id, body)
        return answer

    def deployment(self, optimization_id: str) -> dict[str, Any] | None:
        with self.database.read() as connection:
            found = transitions.shown(connection, optimization_id)
            return None if found is None else found.to_wire()

    def row(self, optimization_id: str) -> Any:
        with self.database.read() as connection:
            return rows.of_optimization(connection, optimization_id)[0]

    def states(self, optimization_id: str) -> list[str]:
        """States of all deployments of an optimization, newest first."""
        with self.database.read() as connection:
            return [row.state for row in rows.of_optimization(connection, optimization_id)]

    @property
    def text(self) -> str:
        with self.database.read() as connection:
            found = prompts.find(connection, self.account, self.prompt_id)
        assert found is not None
        return found.content

    def versions(self) -> list[tuple[str, str]]:
        """Origin and text of every version, oldest first."""
        with self.database.read() as connection:
            found = Rows(connection).all(newest(VersionRow, prompt_id=self.prompt_id))
        return [(row.origin, row.content) for row in found][::-1]

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Kind and payload of every event, oldest first; each is valid for the specification."""
        with self.database.read() as connection:
            found = connection.execute(
                select(events).where(events.c.account_id == self.account).order_by(events.c.seq)
            ).all()
        for row in found:
            told = {
                "id": row.id,
                "type": row.type,
                "timestamp": row.created_at.isoformat(),
                "data": json.loads(row.data),
            }
            assert not schema.read(json.dumps(told)).data.model_extra
            if row.type.startswith("deployment."):
                # A number in all kinds but one, which has none.
                percent = told["data"].get("reductionPercent", "none")
                assert (
                    (percent == "none") if row.type == "deployment.confounded" else isinstance(percent, float)
                )
        return [(row.type, json.loads(row.data)) for row in found]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events()]

    def log(
        self,
        count: int,
        *,
        failed: int = 0,
        at: int,
        sentiment: float = 0.5,
        answer: str = "answer",
        prompt_id: str | None = None,
        **fields: Any,
    ) -> None:
        """Log judged conversations that started at a time, one millisecond apart; the first ones failed."""
        logged = [
            Logged(n >= failed, sentiment + 0.001 * (n % 7), answer=f"{answer} {n}", **fields)
            for n in range(count)
        ]
        self.log_each(logged, at=at, prompt_id=prompt_id)

    def log_each(
        self, logged: Sequence[Logged], *, at: int, apart: int = 1, prompt_id: str | None = None
    ) -> None:
        """Log judged conversations that started at a time, ``apart`` milliseconds apart."""
        ids = [new_id("cnv") for _ in logged]
        with self.database.write() as connection:
            conversations.add(
                connection,
                [
                    conversation_row(
                        one,
                        self.account,
                        prompt_id or self.prompt_id,
                        at + n * apart,
                        status=each.status,
                        created_at=clock.now(),
                        message_count=each.messages,
                        response_seconds=each.response_seconds,
                        has_insights=True,
                        judging="done",
                        **assigned_columns({"metadata": each.metadata}),
                    )
                    for n, (one, each) in enumerate(zip(ids, logged, strict=True))
                ],
                {
                    one: f"User: question {n}\nAssistant: {each.answer}".encode()
                    for n, (one, each) in enumerate(zip(ids, logged, strict=True))
                },
            )
            with conversation_counts.following(connection, ids):
                connection.execute(
                    insights.insert(),
                    [
                        insights_row(
                            one,
                            document,
                            sentiment="positive",
                            sentiment_score=each.sentiment,
                            task_completed=each.completed,
                            basis=each.basis,
                            **conversation_counts.counted_of(document),
                        )
                        for one, each in zip(ids, logged, strict=True)
                        for document in [json.dumps(_document(each))]
                    ],
                )

    def resolve(self, unit: str) -> Resolution:
        """Return the text for a unit."""
        query = ResolveQuery.model_validate({"unit": unit})
        return Resolution.from_wire(self.ask(resolve, self.prompt_id, query=query))


def _document(logged: Logged) -> dict[str, Any]:
    issues = []
    if logged.issue and not logged.completed:
        issues.append({"title": logged.issue, "severity": "high", "evidence": None})
    return {"issues": issues, "summary": "s", "topics": [], "quality": logged.quality}


def look(world: World) -> int:
    """Do what the watcher does, and return how many checks were due."""
    rows = watch.due(world.database)
    watch.look(world.database)
    return len(rows)


def verdicts(world: World) -> list[str]:
    """Return the kinds of the events of deployments, in order."""
    return [kind for kind in world.kinds() if kind.startswith("deployment.")]


def later(seconds: float = 0) -> int:
    """Return a moment so many seconds from now, as the store keeps it."""
    return clock.now() + seconds * clock.SECOND
