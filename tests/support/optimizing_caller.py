"""One account of a running service, asked in the plainest way."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from support.answering_model import PROMPT, AnsweringModel, serving
from support.service_process import ServiceProcess, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ENDED = ("completed", "failed", "stopped")


class Caller:
    """One account of one service."""

    def __init__(self, service: ServiceProcess) -> None:
        self.service = service
        self.http = httpx.Client(
            headers={"Authorization": f"Bearer {service.key}"}, timeout=30, trust_env=False
        )

    def close(self) -> None:
        self.http.close()

    def ask(self, method: str, path: str, body: Any = None, *, expect: int = 200, **query: Any) -> Any:
        answer = self.http.request(method, self.service.base_url + path, json=body, params=query)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def prompt(self, **fields: Any) -> str:
        body = {"name": "Parcels", "content": PROMPT, "llmModel": "gpt-4o", "objective": "Find parcels"}
        return self.ask("POST", "/prompts", {**body, **fields}, expect=201)["id"]

    def log(self, prompt_id: str, contents: Iterable[str]) -> list[str]:
        """Log conversations and wait until all of the prompt are judged; returns their ids."""
        bodies = [{"promptId": prompt_id, "content": one} for one in contents]
        ids = [self.ask("POST", "/conversations", body, expect=201)["id"] for body in bodies]
        wait_until(
            lambda: self.ask("GET", f"/prompts/{prompt_id}/status")["insights"]["waiting"] == 0,
            what="all conversations have insights",
            seconds=120,
        )
        return ids

    def settings(self, **simulation: Any) -> None:
        top = {
            name: simulation.pop(name)
            for name in ("maxIterations", "verificationPasses", "deploymentMode", "autoDeploy")
            if name in simulation
        }
        self.ask("PATCH", "/settings", {"optimization": {**top, "simulation": simulation}})

    def start(self, prompt_id: str, *, expect: int = 201, **body: Any) -> Any:
        return self.ask("POST", "/optimizations", {"promptId": prompt_id, "seed": 7, **body}, expect=expect)

    def get(self, optimization_id: str) -> Any:
        return self.ask("GET", f"/optimizations/{optimization_id}")

    def ended(self, optimization_id: str, *, seconds: float = 60) -> Any:
        wait_until(
            lambda: self.get(optimization_id)["status"] in ENDED,
            what="the optimization ends",
            seconds=seconds,
        )
        return self.get(optimization_id)

    def variants(self, optimization_id: str) -> Any:
        return self.ask("GET", f"/optimizations/{optimization_id}/variants")["data"]

    def simulations(self, optimization_id: str, **query: Any) -> list[Any]:
        found: list[Any] = []
        while True:
            page = self.ask(
                "GET", f"/optimizations/{optimization_id}/simulations", limit=100, offset=len(found), **query
            )
            found += page["data"]
            if len(found) >= page["pagination"]["total"]:
                return found

    def usage(self) -> Any:
        return self.ask("GET", "/usage")

    def final_state(self, optimization_id: str) -> dict[str, Any]:
        """Everything that a completed optimization leaves behind, without ids and times."""
        found = self.get(optimization_id)
        assert found["status"] == "completed", found["failure"]
        variants = self.variants(optimization_id)
        numbers = {one["id"]: one["number"] for one in variants}
        results = found["results"]
        for name in ("winningVariantId", "finalistVariantId"):
            results[name] = numbers.get(results[name])
        for one in variants:
            del one["id"]
        held = self.simulations(optimization_id, includeContent="true")
        for one in held:
            for name in ("id", "optimizationId", "variantId", "createdAt"):
                del one[name]
        return {"results": results, "variants": variants, "simulations": held}


@contextmanager
def calling(
    model: AnsweringModel | None, folder: Path, *, plan: str = "enterprise", **env: str
) -> Iterator[Caller]:
    """Start a service over a model, or without any, for one account."""
    with ExitStack() as stack:
        variables = {"PROMPTLIFT_LLM_PATIENCE": "0", **env}
        if model is not None:
            variables |= stack.enter_context(serving(model))
        service = ServiceProcess(folder / "data", plan=plan, env=variables).start()
        stack.callback(service.stop)
        caller = Caller(service)
        stack.callback(caller.close)
        yield caller
