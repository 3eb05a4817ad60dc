"""A ``ChatModel`` that answers by itself, from a seed and the request."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, overload

from promptlift.service.llm.answers import parse_answer
from promptlift.service.llm.failures import LlmBadAnswer
from promptlift.service.llm.hostile_text import read_records
from promptlift.service.llm.port import ChatAnswer, check_purpose
from promptlift.service.rehearsal.conversation import answer_as_assistant, answer_as_person
from promptlift.service.rehearsal.judgement import judge
from promptlift.service.rehearsal.rewrites import rewrite
from promptlift.service.rehearsal.shapes import fill
from promptlift.service.rehearsal.situations import write_situations
from promptlift.service.rehearsal.truth import Truth
from promptlift.service.simulations.conversation_request import END

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel

    from promptlift.service.llm.port import Parsed, Purpose

__all__ = ["MODEL_NAME", "RehearsalModel"]

MODEL_NAME: Final = "rehearsal"

_WANTED: Final = re.compile(r"^Write (\d{1,4}) ", re.MULTILINE)
# A line with number, name and task of a strategy.
_STRATEGY: Final = re.compile(r"^\d{1,3}\. ([^:\n]{1,80}): ", re.MULTILINE)
_RATIONALE: Final = (
    "Rehearsal: {why}. The built-in stand-in wrote this, so it says nothing about a real prompt."
)


class RehearsalModel:
    """Answer like a language model without one: played, deterministic, and of no meaning for a real prompt.

    How its truth is made stands in the package's description. Safe from many threads; keeps no state.

    Parameters
    ----------
    seed
        Of the run. The same seed and request give the same answer.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._truth = Truth(seed)

    def __repr__(self) -> str:
        return f"RehearsalModel({self.seed})"

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: None = None,
        check: None = None,
    ) -> ChatAnswer[None]: ...

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: type[Parsed],
        check: Callable[[Parsed], None] | None = None,
    ) -> ChatAnswer[Parsed]: ...

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,  # noqa: ARG002 - it is always the same one
        temperature: float | None = None,  # noqa: ARG002 - the seed decides
        max_tokens: int | None = None,  # noqa: ARG002 - its answers are short
        schema: type[BaseModel] | None = None,
        check: Callable[[Any], None] | None = None,
    ) -> ChatAnswer[Any]:
        """Answer; see ``ChatModel``. No tokens are counted.

        Raises
        ------
        LlmBadAnswer
            The answer does not fit a shape that it does not know.
        """
        check_purpose(purpose)
        if purpose == "agent" and schema is None:
            return _said(answer_as_assistant(messages, self._truth))
        if purpose == "persona" and schema is None:
            text, is_last = answer_as_person(messages, self._truth)
            return _said(f"{text} {END}".strip() if is_last else text)
        document = self._document(messages, purpose)
        text = json.dumps(document, ensure_ascii=False)
        if schema is None:
            return _said(text)
        try:
            parsed = parse_answer(text, schema, check)
        except ValueError:
            text = json.dumps(fill(schema.model_json_schema(by_alias=True)), ensure_ascii=False)
            try:
                parsed = parse_answer(text, schema, check)
            except ValueError as error:
                raise LlmBadAnswer(f"The rehearsal model has no answer that fits: {error}") from None
        return ChatAnswer(text, parsed, 0, 0, MODEL_NAME)

    def _document(self, messages: Sequence[Mapping[str, str]], purpose: Purpose) -> dict[str, Any]:
        if purpose == "judge":
            return judge(messages, self.seed)
        if purpose == "variants":
            return {"variants": self._variants(messages)}
        if purpose == "scenarios":
            return {"scenarios": write_situations(messages, self.seed, _wanted(messages))}
        return {}

    def _variants(self, messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        records = read_records(messages)
        prompt = next((str(one.get("content", "")) for one in records if one.get("kind") == "prompt"), "")
        # What stands behind the data; the data themselves hold lines with numbers, too.
        asked = messages[-1]["content"].rpartition("\nEND ")[2] if messages else ""
        names = _STRATEGY.findall(asked) or [f"Rewrite {n}" for n in range(1, _wanted(messages) + 1)]
        written = []
        for name in names:
            avoid = [
                str(words)
                for one in records
                if one.get("kind") == "draft" and one.get("strategy") == name
                for words in one.get("words", ())
            ]
            content, why = rewrite(name, prompt, records=records, avoid=avoid)
            written.append(
                {
                    "name": f"Rehearsal: {name[:1].lower()}{name[1:]}",
                    "content": content,
                    "rationale": _RATIONALE.format(why=why),
                }
            )
        return written


def _said(text: str) -> ChatAnswer[None]:
    return ChatAnswer(text, None, 0, 0, MODEL_NAME)


def _wanted(messages: Sequence[Mapping[str, str]]) -> int:
    found = _WANTED.search(messages[-1]["content"].rpartition("\nEND ")[2]) if messages else None
    return int(found.group(1)) if found else 1
