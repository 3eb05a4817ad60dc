"""The optimizers that are measured: each gets a world and its endpoint, and names a better prompt or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest.mock import patch

import promptlift
from benchmarks.prompt_world.service import MODEL, service_in
from promptlift.local import wait_for_insights

if TYPE_CHECKING:
    from benchmarks.prompt_world.model import WorldModel
    from benchmarks.prompt_world.world import World
    from promptlift.schema.optimizations import Optimization, Variant

__all__ = ["ENGINES", "Limits", "Named", "told_headroom"]

# Of one optimization; far above what one takes.
DEADLINE_SECONDS: Final = 600.0


class Limits(NamedTuple):
    """What an optimizer may spend where it can be told: conversations or tokens; ``None`` for as many as it likes."""

    conversations: int | None = None
    tokens: int | None = None


class Named(NamedTuple):
    """What an optimizer said.

    Attributes
    ----------
    text
        The prompt that it called better; ``None`` when it named none.
    told_headroom
        Whether it said before spending anything that there is nothing to gain.
    without_cause
        The text without the edit that it says is worth most; ``None`` where it names none.
    """

    text: str | None
    told_headroom: bool = False
    without_cause: str | None = None


Engine = Callable[["World", "WorldModel", str, int, "Limits | None"], Named]


def _service(search: str, confidence: str = "moderate") -> Engine:
    """Make an engine that does as users of the service do: logged conversations first, then ``lift.optimize``."""

    def optimize(world: World, model: WorldModel, mode: str, seed: int, limits: Limits | None) -> Named:
        del limits
        with (
            tempfile.TemporaryDirectory(prefix="promptlift-world-") as folder,
            patch.dict(os.environ, {"PROMPTLIFT_DATA": str(Path(folder) / "client")}),
            service_in(Path(folder) / "service", model) as (address, key),
        ):
            lift = promptlift.connect(address, key, progress=False)
            prompt = lift.client.prompts.create(
                name="Support assistant", content=world.seed_prompt, llm_model=MODEL
            )
            records = [
                {
                    "messages": [{"role": role, "content": text} for role, text in one.messages],
                    "source_id": f"{world.name} {number}",
                }
                for number, one in enumerate(world.log)
            ]
            logged = lift.log(records, prompt_id=prompt.id)
            if logged.logged != len(records):
                raise RuntimeError(f"Not all conversations could be logged: {logged}")
            wait_for_insights(lift, [prompt.id], progress=False)
            wanted = {
                "search": search,
                "simulation": {"confidenceMode": confidence, "simulateTools": world.tools},
            }
            lift.client.settings.update(optimization=wanted)
            model.forget()
            done = lift.optimize(prompt.id, mode=mode, seed=seed, wait=False).wait(timeout=DEADLINE_SECONDS)
            found = lift.client.optimizations.variants(done.id).data
            winner = next((one for one in found if one.is_winner), None)
            if winner is None:
                return Named(None, told_headroom(done))
            return Named(winner.content, told_headroom(done), without_cause(winner))

    return optimize


def without_cause(winner: Variant) -> str | None:
    """Undo the edit of a winner that its service says is worth most; ``None`` where it names no edits."""
    kept = [one for one in winner.edits or [] if one.state == "kept"]
    if not kept or winner.content is None:
        return None
    best = max(kept, key=lambda one: one.effect or 0.0)
    if best.operation == "delete":
        return f"{winner.content}\n{best.anchor}"
    return winner.content.replace(best.text, best.anchor if best.operation == "replace" else "")


def told_headroom(optimization: Optimization) -> bool:
    """Whether an optimization says that nothing could be gained; engines without a search never do."""
    # unspecified: the field is headroom, of the optimization or its results, and says enough: false.
    for answer in (optimization, optimization.results):
        said = {} if answer is None else answer.model_dump(by_alias=True).get("headroom")
        if isinstance(said, dict) and said.get("enough") is False:
            return True
    return False


def gepa(world: World, model: WorldModel, mode: str, seed: int, limits: Limits | None) -> Named:
    """Optimize with the public GEPA package, which tests its best candidate no further."""
    from benchmarks.prompt_world.gepa_engine import optimize_with_gepa  # it need not be installed

    return Named(optimize_with_gepa(world, model, mode, seed, limits))


def gepa_confirmed(world: World, model: WorldModel, mode: str, seed: int, limits: Limits | None) -> Named:
    """Optimize with GEPA, and name its best candidate only when our confirmation does."""
    from benchmarks.prompt_world.gepa_engine import confirmed

    found = gepa(world, model, mode, seed, limits)
    if found.text is None or not confirmed(world, model, found.text, mode, seed):
        return Named(None)
    return found


ENGINES: Final[dict[str, Engine]] = {
    "today": _service("off"),
    "search": _service("on"),
    "search-low": _service("on", "low"),
    "search-high": _service("on", "high"),
    "gepa": gepa,
    "gepa-tokens": gepa,
    "gepa-confirmed": gepa_confirmed,
}
