"""Model calls in the records of a tracing tool: for each field of a call, its possible paths in the record.

A path is, for example, ``usage.output``; each part of it may be JSON text, and a key may itself contain dots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from promptlift.schema.metadata import scores_in
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.sessions import Call, Step
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, drop_parameters, first, whole_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.transcripts.collector import Collector

__all__ = ["CallFields", "known_only"]

Paths = tuple[str, ...]
# Of the table, what is not about the fields of a call.
_NO_FIELDS = ("metadata", "calls", "tools", "parent", "error", "status", "run_title")


def known_only(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the non-empty values."""
    return {name: value for name, value in values.items() if is_something(value)}


@dataclass(frozen=True, kw_only=True)
class CallFields:
    """The paths of a tool for the fields of a call; the first non-empty one is used.

    Attributes
    ----------
    asked, answered
        The input of a call, and its answer.
    kind, calls, tools
        The kind of a record, and which kinds are model calls and tools. Other records that no record encloses are
        runs.
    parent
        The enclosing record.
    error, status
        Whether a tool failed: an error, or a status that ends with ERROR.
    run_title
        The title of a run.
    user, tags
        Stored in the metadata, with session, prompt and version.
    metadata
        Other metadata, by name.
    others
        Names of a record that are read elsewhere or uninformative.
    """

    asked: Paths
    answered: Paths
    trace: Paths
    session: Paths = ()
    span: Paths = ("id",)
    started: Paths = ()
    ended: Paths = ()
    model: Paths = ()
    input_tokens: Paths = ()
    output_tokens: Paths = ()
    cost: Paths = ()
    prompt_name: Paths = ()
    prompt_version: Paths = ()
    title: Paths = ()
    user: Paths = ()
    tags: Paths = ()
    metadata: Mapping[str, Paths] = field(default_factory=dict)
    others: Paths = ()
    kind: Paths = ()
    calls: Paths = ()
    tools: Paths = ()
    parent: Paths = ()
    error: Paths = ()
    status: Paths = ()
    run_title: Paths = ()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of a record that are read."""
        return self._paths | {path.partition(".")[0] for path in self._paths}

    @cached_property
    def _paths(self) -> frozenset[str]:
        own = [getattr(self, one.name) for one in fields(self) if one.name not in _NO_FIELDS]
        return frozenset(chain.from_iterable([*own, *self.metadata.values()]))

    @cached_property
    def _nested(self) -> frozenset[str]:
        return frozenset(path.partition(".")[0] for path in self._paths if "." in path)

    def _scores(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return how the conversation ended, as far as no other reader knows it better."""
        return {name: value for name, value in scores_in(record).items() if name not in self.names}

    def drop_others(self, record: dict[str, Any], collector: Collector) -> None:
        """Count the other fields of a record, and the parameters of its request."""
        collector.drop_unknown(record, self.names | self._scores(record).keys())
        drop_parameters(decoded(first(record, self.asked)), collector, self.asked[0])

    def take(
        self, record: dict[str, Any], collector: Collector, kind: str, **more: Any
    ) -> Call | Step | None:
        """Return the call of a record, the run around calls, or a step of it; ``None`` for an enclosed record.

        Parameters
        ----------
        record, collector, more
            As for `call`.
        kind
            Kind of the record.
        """
        if kind in self.calls:
            self.drop_others(record, collector)
            return self.call(record, collector, **more)
        collector.drop(f"records of type {kind}")
        if kind in self.tools:
            ended_badly = str(first(record, self.status)).upper().endswith("ERROR")
            return Step(
                first(record, self.trace), failed=ended_badly or is_something(first(record, self.error))
            )
        if is_something(first(record, self.parent)) or not is_something(
            decoded(first(record, self.answered))
        ):
            return None
        if self.run_title:
            more["title"] = first(record, self.run_title)
        return self.call(record, collector, whole=True, **more)

    def call(
        self,
        record: dict[str, Any],
        collector: Collector,
        *,
        whole: bool = False,
        metadata: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Call:
        """Return the call of a record.

        Parameters
        ----------
        record
            The record.
        collector
            Counts invalid times and numbers.
        whole
            Whether it is not a call but the run around it.
        metadata
            Additional metadata, preceding those of the fields.
        more
            Fields of the call without a path in the record.
        """
        # JSON text is decoded once, however many fields are in it.
        texts = {name: record[name] for name in self._nested if isinstance(record.get(name), str)}
        record = record | {name: decoded(text) for name, text in texts.items()}
        if "history" not in more:
            more["history"] = chat_messages(first(record, self.asked), "user")
            more["answer"] = chat_messages(first(record, self.answered), "assistant")
        if whole:
            more["history"], more["answer"] = whole_run(more["history"], more["answer"])
        found = {
            name: first(record, getattr(self, name))
            for name in ("trace", "span", "model", "prompt_name", "prompt_version", "title")
        }
        session = first(record, self.session)
        own = {
            "userId": first(record, self.user),
            "sessionId": session,
            "tags": decoded(first(record, self.tags)),
            "promptName": found["prompt_name"],
            "promptVersion": found["prompt_version"],
            **{name: first(record, paths) for name, paths in self.metadata.items()},
        }
        return Call(
            **found
            | {
                "session": found["trace"] if session is None else session,
                "started": collector.time(*_named(record, self.started)),
                "ended": collector.time(*_named(record, self.ended)),
                "input_tokens": collector.tokens(*_named(record, self.input_tokens)),
                "tokens": collector.tokens(*_named(record, self.output_tokens)),
                "cost": amount(first(record, self.cost)),
                "metadata": {**self._scores(record), **(metadata or {}), **known_only(own)},
                "whole": whole,
            }
            | more
        )


def _named(record: dict[str, Any], paths: Paths) -> tuple[Any, str]:
    """Return a value, and the name under which it is reported if it is unusable."""
    return first(record, paths), next(iter(paths), "")
