"""The optimizers that are measured: each gets a world and its endpoint, and names a better prompt or none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest.mock import patch

import promptlift
from promptlift.local import wait_for_insights
from support.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.prompt_world.model import WorldModel
    from benchmarks.prompt_world.world import World
    from promptlift.schema.optimizations import Optimization, Variant
    from support.stub_endpoint import StubEndpoint

__all__ = ["ENGINES", "Named", "run_engine", "told_headroom"]

CALLS_AT_A_TIME: Final = 16
# Of one optimization; far above what one takes.
DEADLINE_SECONDS: Final = 600.0


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


def today(world: World, model: WorldModel, endpoint: StubEndpoint, mode: str, seed: int) -> Named:
    """Optimize with the real service without a search, as before there was one."""
    return _service(world, model, endpoint, mode, seed, search="off")


def search(world: World, model: WorldModel, endpoint: StubEndpoint, mode: str, seed: int) -> Named:
    """Optimize with the real service and its search."""
    return _service(world, model, endpoint, mode, seed, search="on")


def search_low(world: World, model: WorldModel, endpoint: StubEndpoint, mode: str, seed: int) -> Named:
    """Search in an account that asks for little confidence."""
    return _service(world, model, endpoint, mode, seed, search="on", confidence="low")


def search_high(world: World, model: WorldModel, endpoint: StubEndpoint, mode: str, seed: int) -> Named:
    """Search in an account that asks for much confidence."""
    return _service(world, model, endpoint, mode, seed, search="on", confidence="high")


def _service(
    world: World,
    model: WorldModel,
    endpoint: StubEndpoint,
    mode: str,
    seed: int,
    *,
    search: str,
    confidence: str = "moderate",
) -> Named:
    """Do as users of the service do: logged conversations first, then ``lift.optimize``."""
    settings = endpoint.settings
    environment = {
        "PROMPTLIFT_LLM_BASE_URL": settings.base_url,
        "PROMPTLIFT_LLM_API_KEY": settings.api_key or "",
        "PROMPTLIFT_LLM_MODEL": settings.model,
        "PROMPTLIFT_LLM_CONCURRENCY": str(CALLS_AT_A_TIME),
    }
    with (
        tempfile.TemporaryDirectory(prefix="promptlift-world-") as folder,
        patch.dict(os.environ, {"PROMPTLIFT_DATA": str(Path(folder) / "client")}),
    ):
        service = ServiceProcess(Path(folder) / "service", env=environment).start()
        try:
            lift = promptlift.connect(service.base_url, service.key, progress=False)
            prompt = lift.client.prompts.create(
                name="Support assistant", content=world.seed_prompt, llm_model=settings.model
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
            wanted = {"search": search, "simulation": {"confidenceMode": confidence}}
            lift.client.settings.update(optimization=wanted)
            model.forget()
            done = lift.optimize(prompt.id, mode=mode, seed=seed, wait=False).wait(timeout=DEADLINE_SECONDS)
            found = lift.client.optimizations.variants(done.id).data
            winner = next((one for one in found if one.is_winner), None)
            if winner is None:
                return Named(None, told_headroom(done))
            return Named(winner.content, told_headroom(done), without_cause(winner))
        finally:
            service.stop()


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


def gepa(world: World, model: WorldModel, endpoint: StubEndpoint, mode: str, seed: int) -> Named:
    """Optimize with the public GEPA package, which tests its best candidate no further."""
    from benchmarks.prompt_world.gepa_engine import optimize_with_gepa  # it need not be installed

    del model
    return Named(optimize_with_gepa(world, endpoint.settings.base_url, mode, seed))


def gepa_confirmed(world: World, model: WorldModel, endpoint: StubEndpoint, mode: str, seed: int) -> Named:
    """Optimize with GEPA, and name its best candidate only when our confirmation does."""
    from benchmarks.prompt_world.gepa_engine import confirmed

    found = gepa(world, model, endpoint, mode, seed)
    if found.text is None or not confirmed(world, found.text, endpoint.settings.base_url, mode, seed):
        return Named(None)
    return found


ENGINES: Final[dict[str, Callable[..., Named]]] = {
    "today": today,
    "search": search,
    "search-low": search_low,
    "search-high": search_high,
    "gepa": gepa,
    "gepa-confirmed": gepa_confirmed,
}


def run_engine(
    name: str, world: World, model: WorldModel, endpoint: StubEndpoint, *, mode: str, seed: int
) -> Named:
    """Run one optimizer in one world."""
    return ENGINES[name](world, model, endpoint, mode, seed)
