"""The public GEPA package (https://github.com/gepa-ai/gepa) in a world, and our confirmation after it.

Its conversations are held and judged as the service does it, so they cost the same calls and tokens.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import gepa
from gepa.core.adapter import EvaluationBatch

from benchmarks.prompt_world.engines import Limits
from benchmarks.prompt_world.service import MODEL, WorldClient
from promptlift.schema.transcript import Message, Transcript, dump_content
from promptlift.service.llm.calls import Calls
from promptlift.service.optimizations.tasks import ModelTasks
from promptlift.service.simulations.conversation import simulate
from promptlift.service.simulations.personas import library
from promptlift.service.simulations.tasks import PromptText, Scenario
from promptlift.service.simulations.tools import Toolbox
from promptlift.stats.experiment import Experiment, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.prompt_world.model import WorldModel
    from benchmarks.prompt_world.world import World

__all__ = ["CALLS", "confirmed", "optimize_with_gepa"]

# Conversations that GEPA may spend where no other optimizer's spending is given: what our modes spend on average.
CALLS: Final = {"exploratory": 350, "validation": 550}
TRAINED: Final = 60
VALIDATED: Final = 15
COMPONENT: Final = "prompt"
TURNS_MOST: Final = 10
GOAL: Final = "Have everything settled."


class Silent:
    """A logger of GEPA's that says nothing."""

    def log(self, _message: str) -> None:
        """Say nothing."""


class Assistant:
    """The assistant of a world, its users and its judge, as the service asks them."""

    def __init__(self, world: World, model: WorldModel) -> None:
        self._client = WorldClient(model)
        self._tasks = ModelTasks(Calls(self._client), judge_model=MODEL)
        self._tosses = itertools.count(1)
        self._prompt = PromptText(world.seed_prompt, llm_model=MODEL)
        logged = (
            Transcript(messages=[Message(role=role, content=text) for role, text in one.messages])
            for one in world.log
        )
        self._tools = Toolbox.of(world.seed_prompt, map(dump_content, logged))

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def write(self, request: str) -> str:
        """Return what the model answers."""
        asked = [{"role": "user", "content": request}]
        return self._tasks.model.chat(asked, purpose="other", max_tokens=None).text  # type: ignore[arg-type]

    def converse(self, prompt: str, opening: str) -> dict[str, Any]:
        """Hold a conversation, and return it with what the judge says of it."""
        toss = next(self._tosses)
        people = library()
        held = simulate(
            self._tasks,
            prompt=self._prompt,
            content=prompt,
            persona=people[toss % len(people)],
            scenario=Scenario("Order", opening, GOAL, "conversation"),
            max_turns=TURNS_MOST,
            seed=toss,
            tools=self._tools,
        ).transcript
        judged = self._tasks.judge(held)
        turns = [{"role": one.role, "content": one.content} for one in held.messages]
        return {"turns": turns, "completed": judged.task_completed, "summary": judged.summary}


class Adapter:
    """What GEPA needs to know of the world: scores of conversations, and the conversations themselves."""

    propose_new_texts = None

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant

    def evaluate(
        self,
        batch: list[str],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002 - GEPA's own signature
    ) -> EvaluationBatch:
        """Hold a conversation with each opening."""
        held = [self._assistant.converse(candidate[COMPONENT], opening) for opening in batch]
        scores = [float(one["completed"]) for one in held]
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
                "Inputs": one["turns"][0]["content"],
                "Generated Outputs": "\n".join(json.dumps(turn) for turn in one["turns"][1:]),
                "Feedback": "It was settled." if one["completed"] else one["summary"],
            }
            for one in eval_batch.trajectories or []
        ]
        return dict.fromkeys(components_to_update, shown)


def optimize_with_gepa(
    world: World, model: WorldModel, mode: str, seed: int, limits: Limits | None = None
) -> str | None:
    """Return the best candidate of a run with GEPA's defaults; ``None`` when that is the seed prompt."""
    limits = limits or Limits(conversations=CALLS[mode])
    openings = [one.opening for one in world.log]
    assistant = Assistant(world, model)
    try:
        result = gepa.optimize(
            seed_candidate={COMPONENT: world.seed_prompt},
            trainset=openings[VALIDATED : VALIDATED + TRAINED],
            valset=openings[:VALIDATED],
            adapter=Adapter(assistant),
            reflection_lm=lambda prompt: assistant.write(str(prompt)),
            max_metric_calls=limits.conversations,
            stop_callbacks=lambda _state: limits.tokens is not None and model.tokens >= limits.tokens,
            logger=Silent(),
            seed=seed,
        )
    finally:
        assistant.close()
    best = result.best_candidate[COMPONENT]
    return None if best == world.seed_prompt else best


def confirmed(world: World, model: WorldModel, text: str, mode: str, seed: int) -> bool:
    """Whether the confirmation that our service uses calls a text better than the seed prompt."""
    assistant = Assistant(world, model)
    experiment = Experiment(1, mode, seed=seed)  # type: ignore[arg-type]
    texts = (world.seed_prompt, text)
    try:
        while (step := experiment.next_pass()) is not None:
            experiment.record(
                Outcome(
                    cell.number,
                    arm,
                    completed=assistant.converse(
                        texts[arm], world.opening("confirmation", seed, cell.scenario, cell.number)
                    )["completed"],
                )
                for cell in step.cells
                for arm in cell.order
            )
    finally:
        assistant.close()
    return experiment.verdict().winner is not None
