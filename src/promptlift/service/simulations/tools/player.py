"""What the tools of a simulated conversation give: what the same call gave in a log, else what a model makes in its likeness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.service.llm.failures import LlmBadAnswer
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.simulations.tools.calls import RESULT_CHARS, LoggedCall
from promptlift.service.simulations.tools.request import ToolRequest

if TYPE_CHECKING:
    from promptlift.service.simulations.tasks import PromptText, Scenario, SimulationTasks
    from promptlift.service.simulations.tools.calls import ToolCall
    from promptlift.service.simulations.tools.toolbox import Toolbox

__all__ = ["Given", "How", "ToolPlayer"]

How = Literal["replayed", "likeness", "unknown"]

NO_SUCH_TOOL: Final = "Error: there is no tool named {name}."
NO_RESULT: Final = "Error: the tool gave no result."


class Given(NamedTuple):
    """What a tool gave, and whether it was replayed from a log, made in its likeness, or is no tool of the agent."""

    result: str
    how: How


class ToolPlayer:
    """The tools of one conversation.

    Parameters
    ----------
    prompt
        The original: what is shown of it does not depend on the arm.
    seed
        The same for both arms of a pair, so that the same calls give the same.
    """

    def __init__(
        self, tasks: SimulationTasks, tools: Toolbox, *, prompt: PromptText, scenario: Scenario, seed: int
    ) -> None:
        self._tasks = tasks
        self._tools = tools
        self._prompt = prompt
        self._scenario = scenario
        self._seed = seed
        self._before: list[LoggedCall] = []

    def give(self, call: ToolCall) -> Given:
        """Return what a call gives.

        Raises
        ------
        LlmUnavailable, LlmRefused
            The model cannot be asked.
        """
        given = self._given(call)
        self._before.append(LoggedCall(call, given.result))
        return given

    def _given(self, call: ToolCall) -> Given:
        if not self._tools.knows(call.name):
            return Given(NO_SUCH_TOOL.format(name=call.name), "unknown")
        replayed = self._tools.replayed(call, seed=self._seed)
        if replayed is not None:
            return Given(storable_text(replayed), "replayed")
        request = ToolRequest(
            call=call,
            prompt=self._prompt.content,
            scenario=self._scenario,
            examples=self._tools.examples(call),
            error_share=self._tools.error_share(call.name),
            before=tuple(self._before),
            seed=self._seed,
        )
        try:
            result = storable_text(self._tasks.play_tool(request)).strip()[:RESULT_CHARS]
        except LlmBadAnswer:
            result = ""
        return Given(result or NO_RESULT, "likeness")
