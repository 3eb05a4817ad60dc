"""The cells of a run: who talks about what, chosen once and kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service.simulations.personas import SimulatedPersona
from promptlift.service.simulations.scenarios import from_conversation, opening_key
from promptlift.service.simulations.tasks import Scenario
from promptlift.service.store import conversations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow
    from promptlift.service.store.tables.runs import OptimizationRow

__all__ = ["SimulatedCell", "logged_scenarios"]


@dataclass(frozen=True, slots=True)
class SimulatedCell:
    """A persona with a scenario, which talks once with every arm that is compared.

    Attributes
    ----------
    pass_number, stage
        The part of the run that the cell belongs to.
    """

    number: int
    pass_number: int
    stage: str
    persona: SimulatedPersona
    scenario: Scenario

    @classmethod
    def from_row(cls, row: AnyRow) -> SimulatedCell:
        """Read a cell as it was kept."""
        scenario = orjson.loads(row.scenario)
        return cls(
            row.number,
            row.pass_number,
            row.stage,
            SimulatedPersona(**orjson.loads(row.persona)),
            Scenario(**{name: scenario[name] for name in Scenario.__slots__}),
        )

    def to_row(self, optimization: OptimizationRow, **details: Any) -> dict[str, Any]:
        """Return the columns that keep the cell; ``details`` are kept with its scenario."""
        return {
            "account_id": optimization.account_id,
            "optimization_id": optimization.id,
            "number": self.number,
            "pass_number": self.pass_number,
            "stage": self.stage,
            "persona": orjson.dumps(asdict(self.persona)).decode(),
            "scenario": orjson.dumps({**asdict(self.scenario), **details}).decode(),
        }


def logged_scenarios(
    connection: Connection, account_id: str, ids: Sequence[str], *, known: set[str], exclusions: str | None
) -> Iterator[tuple[str, Scenario]]:
    """Read the scenarios of logged conversations, each with the id of its conversation.

    Parameters
    ----------
    ids
        Conversations in the order in which they are read; one that was deleted, has lost its transcript or has no
        scenario is passed over.
    known
        Keys of the openings that exist already; those of the scenarios that are returned are added.
    exclusions
        Data and topics that must not appear in a goal, as the account's owner wrote them.
    """
    for conversation_id in ids:
        logged = conversations.find(connection, account_id, conversation_id)
        if logged is None or logged.content is None:
            continue
        insights = None if logged.document is None else orjson.loads(logged.document)
        scenario = from_conversation(
            logged.content.decode("utf-8", "replace"), insights, exclusions=exclusions
        )
        if scenario is not None and (key := opening_key(scenario.opening)) not in known:
            known.add(key)
            yield conversation_id, scenario
