"""A span as it was received, whichever encoding brought it."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ERROR", "EVENT_BODY", "LogRecord", "Span", "SpanEvent"]

# Status code of a span that failed.
ERROR: Final = 2


# The attribute that holds what an event says, where its attributes do not.
EVENT_BODY: Final = "gen_ai.event.content"


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """One operation of an application.

    Attributes
    ----------
    trace_id, span_id
        In lowercase hexadecimal.
    started_at, ended_at
        Milliseconds since 1970, UTC.
    attributes, resource
        What is known about the operation, and about the application; values are plain Python values.
    failed
        Whether the operation ended with an error.
    """

    trace_id: str
    span_id: str
    started_at: int
    ended_at: int
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    failed: bool = False

    @property
    def known(self) -> Mapping[str, Any]:
        """What is known about the operation, or else about the application; the resource, which many spans share, is not copied."""
        return ChainMap(cast("dict[str, Any]", self.attributes), cast("dict[str, Any]", self.resource))


@dataclass(frozen=True, slots=True)
class LogRecord:
    """An event of a span that was logged instead of being kept on the span.

    Attributes
    ----------
    trace_id, span_id
        The span, in lowercase hexadecimal.
    at
        Milliseconds since 1970, UTC; 0 where it is not known.
    event
        What happened.
    resource
        What is known about the application.
    """

    trace_id: str
    span_id: str
    at: int
    event: SpanEvent
    resource: Mapping[str, Any] = field(default_factory=dict)
