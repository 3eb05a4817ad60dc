"""The dialect of an endpoint: where it differs from the reference, learned from the text of its refusals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = ["Dialect", "names_the_shape", "request_body"]

Shape = Literal["schema", "instruction"]
LimitName = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parameters that an endpoint accepts.

    Attributes
    ----------
    shape
        ``schema``: it takes ``response_format`` with a JSON schema. ``instruction``: it does not, and the schema is
        written into the system message.
    limit_name
        Field for the longest answer.
    temperature
        Whether it takes a temperature.
    """

    shape: Shape = "schema"
    limit_name: LimitName = "max_tokens"
    temperature: bool = True

    def after_refusal(self, text: str, body: dict[str, Any]) -> Dialect | None:
        """Return the dialect to try next after a 400 or 422, ``None`` when nothing is left to try.

        Parameters
        ----------
        text
            The endpoint's error message.
        body
            The refused request.
        """
        said = text.lower()
        if "max_tokens" in body and "max_tokens" in said and "max_completion_tokens" in said:
            return replace(self, limit_name="max_completion_tokens")
        if "temperature" in body and "temperature" in said:
            return replace(self, temperature=False)
        # Servers word this in many ways, and some only say that the request is bad.
        if "response_format" in body:
            return replace(self, shape="instruction")
        return None


def names_the_shape(text: str, body: dict[str, Any] | None) -> bool:
    """Whether an error is about the requested answer format: some servers answer 500 where they mean 400."""
    said = text.lower()
    return bool(body and "response_format" in body) and any(
        word in said for word in ("response_format", "json_schema", "json schema", "grammar")
    )


def request_body(
    dialect: Dialect,
    messages: list[dict[str, str]],
    *,
    model: str,
    temperature: float | None,
    max_tokens: int | None,
    schema: tuple[str, dict[str, Any]] | None,
) -> dict[str, Any]:
    """Write the body of one chat-completions request; ``schema`` is a name and a JSON schema."""
    body: dict[str, Any] = {"model": model, "messages": messages}
    if temperature is not None and dialect.temperature:
        body["temperature"] = temperature
    if max_tokens is not None:
        body[dialect.limit_name] = max_tokens
    if schema is None:
        return body
    name, shape = schema
    if dialect.shape == "schema":
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": name, "strict": True, "schema": shape},
        }
    return body
