"""A language model that says what a test tells it, through the same parsing as the real client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptlift.service.llm.answers import parse_answer
from promptlift.service.llm.port import ChatAnswer, LlmBadAnswer
from promptlift.service.optimizations.tasks import ModelTasks

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Request:
    """One request as it came."""

    messages: list[dict[str, str]]
    purpose: str
    model: str | None
    temperature: float | None
    max_tokens: int | None

    @property
    def system(self) -> str:
        return self.messages[0]["content"]

    @property
    def last(self) -> str:
        return self.messages[-1]["content"]


@dataclass
class ScriptedModel:
    """Answers with what ``say`` gives; an exception is raised."""

    say: Callable[[Request], Any]
    asked: list[Request] = field(default_factory=list)

    def chat(
        self,
        messages,
        *,
        purpose,
        model=None,
        temperature=None,
        max_tokens=None,
        schema=None,
        check=None,
    ) -> ChatAnswer[Any]:
        request = Request([dict(one) for one in messages], purpose, model, temperature, max_tokens)
        self.asked.append(request)
        said = self.say(request)
        if isinstance(said, Exception):
            raise said
        if schema is None:
            return ChatAnswer(said, None, 10, 5, "scripted")
        try:
            parsed = parse_answer(said, schema, check)
        except ValueError as error:
            raise LlmBadAnswer(f"did not fit twice: {error}", tokens=30) from None
        return ChatAnswer(said, parsed, 10, 5, "scripted")

    def of(self, purpose: str) -> list[Request]:
        return [request for request in self.asked if request.purpose == purpose]


def in_turn(*answers: Any) -> Callable[[Request], Any]:
    """Give the answers one after the other; the last one again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def model_tasks(model: Any, **names: Any) -> ModelTasks:
    """The tasks of a run, carried out by a model."""
    return ModelTasks(model, **{"judge_model": "scripted", **names})
