"""The public GEPA package (https://github.com/gepa-ai/gepa) at the endpoint of a world, and our confirmation after it."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import gepa
import httpx
from gepa.core.adapter import EvaluationBatch

from benchmarks.prompt_world.model import PURPOSE
from promptlift.stats.experiment import Experiment, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.prompt_world.world import World

__all__ = ["CALLS", "confirmed", "optimize_with_gepa"]

# Conversations that GEPA may spend: what our modes spend on average.
CALLS: Final = {"exploratory": 200, "validation": 450}
TRAINED: Final = 60
VALIDATED: Final = 15
COMPONENT: Final = "prompt"
# Around a transcript, as the service sets data apart.
MARK: Final = "0" * 32


class Silent:
    """A logger of GEPA's that says nothing."""

    def log(self, _message: str) -> None:
        """Say nothing."""


class Model:
    """The endpoint, as an optimizer without a service asks it."""

    def __init__(self, base_url: str) -> None:
        # Loopback, so never over the proxy that the environment may name.
        self._http = httpx.Client(base_url=base_url, timeout=60.0, trust_env=False)
        self._tosses = itertools.count(1)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(self, messages: Sequence[Mapping[str, str]], purpose: str | None = None, **options: Any) -> str:
        """Return what the model answers."""
        headers = {} if purpose is None else {PURPOSE: purpose}
        body = {"model": "stub", "messages": list(messages), **options}
        answer = self._http.post("chat/completions", json=body, headers=headers)
        answer.raise_for_status()
        return str(answer.json()["choices"][0]["message"]["content"])

    def converse(self, prompt: str, opening: str) -> dict[str, Any]:
        """Hold a conversation, and return it with what the judge says of it."""
        asked = [{"role": "system", "content": prompt}, {"role": "user", "content": opening}]
        reply = self.ask(asked, "agent", seed=next(self._tosses))
        turns = [{"role": "user", "content": opening}, {"role": "assistant", "content": reply}]
        lines = "\n".join(json.dumps(turn) for turn in turns)
        shown = f"BEGIN {MARK}\n{lines}\nEND {MARK}"
        judged = self.ask(
            [{"role": "system", "content": "Judge."}, {"role": "user", "content": shown}], "judge"
        )
        return {"opening": opening, "reply": reply, "judged": json.loads(judged)}


class Adapter:
    """What GEPA needs to know of the world: scores of conversations, and the conversations themselves."""

    propose_new_texts = None

    def __init__(self, model: Model) -> None:
        self._model = model

    def evaluate(
        self,
        batch: list[str],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002 - GEPA's own signature
    ) -> EvaluationBatch:
        """Hold a conversation with each opening."""
        held = [self._model.converse(candidate[COMPONENT], opening) for opening in batch]
        scores = [float(one["judged"]["taskCompleted"]) for one in held]
        return EvaluationBatch(
            outputs=held, scores=scores, trajectories=list(held) if capture_traces else None
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: EvaluationBatch, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Show the conversations with what the judge says of them."""
        del candidate
        shown = [
            {
                "Inputs": one["opening"],
                "Generated Outputs": one["reply"],
                "Feedback": "It was settled." if one["judged"]["taskCompleted"] else one["judged"]["summary"],
            }
            for one in eval_batch.trajectories or []
        ]
        return dict.fromkeys(components_to_update, shown)


def optimize_with_gepa(world: World, base_url: str, mode: str, seed: int) -> str | None:
    """Return the best candidate of a run with GEPA's defaults; ``None`` when that is the seed prompt."""
    model = Model(base_url)
    openings = [one.opening for one in world.log]
    try:
        result = gepa.optimize(
            seed_candidate={COMPONENT: world.seed_prompt},
            trainset=openings[VALIDATED : VALIDATED + TRAINED],
            valset=openings[:VALIDATED],
            adapter=Adapter(model),
            reflection_lm=lambda prompt: model.ask([{"role": "user", "content": str(prompt)}]),
            max_metric_calls=CALLS[mode],
            logger=Silent(),
            seed=seed,
        )
    finally:
        model.close()
    best = result.best_candidate[COMPONENT]
    return None if best == world.seed_prompt else best


def confirmed(world: World, text: str, base_url: str, mode: str, seed: int) -> bool:
    """Whether the confirmation that our service uses calls a text better than the seed prompt."""
    model = Model(base_url)
    experiment = Experiment(1, mode, seed=seed)  # type: ignore[arg-type]
    texts = (world.seed_prompt, text)
    try:
        while (step := experiment.next_pass()) is not None:
            experiment.record(
                Outcome(
                    cell.number,
                    arm,
                    completed=model.converse(
                        texts[arm], world.opening("confirmation", seed, cell.scenario, cell.number)
                    )["judged"]["taskCompleted"],
                )
                for cell in step.cells
                for arm in cell.order
            )
    finally:
        model.close()
    return experiment.verdict().winner is not None
