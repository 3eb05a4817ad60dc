"""Optimizations for the agreement cases: one that found a winner, and some that end at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.answering_model import PROMPT, AnsweringModel
from support.service_process import wait_until
from support.wire import Wire, open_account

if TYPE_CHECKING:
    from promptlift.service.store.database import Database
    from support.service_process import ServiceProcess

ENDED = ("completed", "failed", "stopped")
# What a list says of an optimization, beside its deployment.
LISTED = (
    "id", "promptId", "agentId", "status", "mode", "variantCount", "rehearsal", "results", "createdAt", "startedAt", "completedAt",
)  # fmt: skip
# One conversation with each text: ends at once, without a winner.
TINY = {"maxIterations": 1, "simulation": {"personaCount": 1, "scenariosPerSimulation": 1, "maxTurns": 1}}


def make_tiny(wire: Wire) -> None:
    """Let the optimizations of an account end at once."""
    assert wire.ask("PATCH", "/settings", {"optimization": TINY}).status == 200


def start(wire: Wire, prompt_id: str, **body: Any) -> Any:
    """Start an optimization; gives the answer."""
    answer = wire.ask("POST", "/optimizations", {wire.scheme.link: prompt_id, "seed": 7, **body})
    assert answer.status == 201, answer
    return answer.body


def ended(wire: Wire, optimization_id: str) -> Any:
    """Wait until an optimization has ended; gives it."""
    path = f"/optimizations/{optimization_id}"
    wait_until(lambda: wire.get(path)["status"] in ENDED, what="the optimization ends")
    return wire.get(path)


def brief(whole: Any) -> Any:
    """What a list says of an optimization."""
    deployment = whole["deployment"]
    shown = None if deployment is None else {name: deployment[name] for name in ("id", "state")}
    return {name: whole[name] for name in LISTED} | {"deployment": shown}


def tiny(wire: Wire, prompt_id: str | None = None) -> Any:
    """A completed optimization without a winner."""
    make_tiny(wire)
    made = start(wire, prompt_id or wire.add_prompt(), variantCount=1)
    found = ended(wire, made["id"])
    assert (found["status"], found["results"]["winnerSelected"]) == ("completed", False)
    return found


@dataclass
class Answering:
    """A service over a model that a test can hold, break and mend."""

    service: ServiceProcess
    database: Database
    model: AnsweringModel

    def account(self, scheme: Any = "prompt", plan: Any = "enterprise") -> Wire:
        """A fresh account of this service."""
        return open_account(self.service.base_url, self.database, plan=plan, scheme=scheme)


@dataclass
class Won:
    """An optimization that found a winner."""

    wire: Wire
    prompt_id: str
    id: str
    variants: list[Any]

    @property
    def path(self) -> str:
        return f"/optimizations/{self.id}"

    @property
    def winner(self) -> Any:
        return self.variants[1]


def win(wire: Wire) -> Won:
    """Run an optimization whose first variant is much better, with one answer a conversation."""
    short = {"optimization": {"simulation": {"maxTurns": 1}}}
    assert wire.ask("PATCH", "/settings", short).status == 200
    prompt_id = wire.add_prompt(name="Parcels", content=PROMPT, objective="Find parcels")
    made = start(wire, prompt_id, mode="exploratory", variantCount=2)
    found = ended(wire, made["id"])
    assert found["results"]["winnerSelected"], found
    variants = wire.get(f"/optimizations/{made['id']}/variants")["data"]
    assert variants[1]["isWinner"]
    return Won(wire, prompt_id, made["id"], variants)
