"""An optimization with a search: a prompt whose conversations were logged in a prompt world, and what it leaves behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.prompt_world.world import World
    from support.optimizing_caller import Caller

# Few conversations: 3 variants, and passes of 6 pairs.
SMALL = {"maxIterations": 10, "personaCount": 2, "scenariosPerSimulation": 3, "maxTurns": 2}


def world_prompt(caller: Caller, world: World, *, logged: int = 40, extra: Iterable[str] = ()) -> str:
    """Make the prompt of a world with its logged conversations, judged; returns its id."""
    prompt_id = caller.prompt(content=world.seed_prompt, objective=None, llmModel="stub")
    contents = [
        json.dumps({"messages": [{"role": role, "content": text} for role, text in one.messages]})
        for one in world.log[:logged]
    ]
    caller.log(prompt_id, [*contents, *extra])
    return prompt_id


def without_ids(state: dict[str, Any]) -> dict[str, Any]:
    """Take ids of candidates and simulated conversations from a final state."""
    for one in state["variants"]:
        for name in ("parentVariantId", "otherParentVariantId"):
            one[name] = one[name] is not None
        for edit in one["edits"]:
            edit["evidence"] = [found["quote"] for found in edit["evidence"]]
    return state
