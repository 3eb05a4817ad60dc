"""An account of the embedded service with a completed optimization whose names, texts and talks are what a test wants."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from promptlift.schema.optimizations import Variant
from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.optimizations import lifecycle
from promptlift.service.store import accounts, optimizations, runs
from promptlift.service.store.database import Database
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables import metadata, prompts
from promptlift.service.store.tables.runs import CellRow, SimulationRow
from support.deployed import World

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from promptlift.service.store.rows import Base
    from promptlift.stats import Experiment

optimization_variants = metadata.tables["optimization_variants"]


class ReviewedWorld(World):
    """``key`` opens the account; ``database`` is to be closed."""

    key: str

    @classmethod
    def beside(cls, data: Path) -> ReviewedWorld:
        """An account in the database of a running service."""
        world = cls(Database(f"sqlite:///{data / 'promptlift.db'}"))
        world.key = f"test_{secrets.token_urlsafe(32)}"
        with world.database.write() as connection:
            accounts.add_key(connection, world.account, world.key, name="test")
        return world

    def optimization(self, *arguments: Any, **options: Any) -> str:
        """Add an optimization; what was measured is given, so that no experiment has to be there to compute it."""
        made = super().optimization(*arguments, **options)
        with self.database.write() as connection:
            kept = optimizations.get(connection, made).results
            assert kept is not None
            kept.variants = [Variant(id=self.variant(made, 0), number=0, n=0)]
            runs.change(connection, optimizations.get(connection, made), results=kept)
        return made

    def measured(self, optimization_id: str, experiment: Experiment) -> None:
        """Keep an experiment as that of a running optimization which no process takes up."""
        with self.database.write() as connection:
            row = optimizations.get(connection, optimization_id)
            lifecycle.keep(connection, row, experiment, [], worker="elsewhere")

    def rename(self, optimization_id: str, names: Sequence[str]) -> None:
        """Give the prompt and the variants these names."""
        with self.database.write() as connection:
            connection.execute(
                update(prompts).where(prompts.c.id == self.prompt_id).values(name=names[0][:200])
            )
            for number, name in enumerate(names):
                connection.execute(
                    update(optimization_variants)
                    .where(
                        optimization_variants.c.optimization_id == optimization_id,
                        optimization_variants.c.number == number,
                    )
                    .values(name=name)
                )

    def talk(
        self,
        optimization_id: str,
        texts: Sequence[str],
        *,
        arm: int = 1,
        first: int = 0,
        after: Sequence[dict[str, str]] = (),
    ) -> None:
        """Let the original fail and a variant succeed in a cell for each text, which stands wherever a text can.

        Parameters
        ----------
        after
            Messages of each conversation after the first.
        """
        shared = {
            "account_id": self.account,
            "optimization_id": optimization_id,
            "stage": "confirm",
            "pass_number": 1,
        }
        found: list[Base] = []
        for number, text in enumerate(texts, first):
            persona = {"id": "p", "name": text, "description": text}
            scenario = {"title": text, "opening": text, "goal": text, "source": "model"}
            found.append(CellRow(**shared, number=number, persona=persona, scenario=scenario))
            content: Any = {"messages": [{"role": "user", "content": text or "-"}, *after]}
            found += [
                SimulationRow(
                    **shared,
                    id=new_id("sim"),
                    cell=number,
                    arm=who,
                    status="completed",
                    task_completed=who != 0,
                    sentiment="neutral",
                    sentiment_score=0.0,
                    quality=50.0,
                    turns=1,
                    ended_by="persona",
                    content=json.dumps(content).encode(),
                    created_at=clock.moment(),
                )
                for who in (0, arm)
            ]
        with self.database.write() as connection:
            Rows(connection).insert(*found)
            assert optimizations.get(connection, optimization_id)
