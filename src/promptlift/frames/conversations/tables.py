"""The tables of conversations and their messages, and the long tables of issues and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.errors import TranscriptError
from promptlift.frames.columns import InvalidCounts, Parts, build, series, values_of
from promptlift.frames.conversations.contents import first_times, message_values, source_ids
from promptlift.frames.conversations.metadata_columns import MetadataColumns
from promptlift.frames.layouts import IDS, ISSUES, MESSAGES, TOPICS, conversation_columns
from promptlift.frames.tables import prompt_names
from promptlift.schema.columns import TableColumn
from promptlift.schema.insights import issue_record
from promptlift.schema.model import to_wire_time
from promptlift.schema.transcript import answer_seconds, content_facts, parse_content

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = dict[str, Any]

_COMPUTED: Final = ("prompt", "duration_s", "tokens")
# Extracted together with the columns, although they are not columns.
_ENDED_AT: Final = TableColumn("ended_at", "time", path=("endedAt",))
_METADATA: Final = TableColumn("metadata", "record", path=("metadata",))
_JUDGED: Final = TableColumn("insights", "record", path=("insights",))
# Metadata with the version of the prompt, best first.
_VERSIONS: Final = ("metadata.promptVersion", "metadata.prompt_version")


def conversations_table(
    rows: Sequence[Row],
    *,
    insights: bool = False,
    content: bool = False,
    prompts: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of conversations, one row each.

    Parameters
    ----------
    rows
        Conversations as decoded JSON.
    insights, content
        Whether the table has their columns.
    prompts
        Names of prompts by id; the id is used for a prompt without a name.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    table = ConversationParts(insights=insights, content=content)
    table.add(list(rows))
    return table.whole(prompts or {})


class ConversationParts:
    """The table of conversations, built part by part.

    ``started_at`` is the service's ``startedAt``, or else the earliest message time if the content is
    included, or else ``created_at``. ``source_id`` is the service's ``sourceId``, or else that in the
    content's metadata. Likewise for turns, tokens, tools, times and metadata of a service that does not store
    them.

    Parameters
    ----------
    insights, content
        Whether the table has their columns.
    """

    def __init__(self, *, insights: bool, content: bool) -> None:
        self._insights, self._content = insights, content
        self._columns = conversation_columns(insights=insights, content=content)
        self._metadata = MetadataColumns()
        self._parts = Parts(self._make)

    def add(self, rows: list[Row]) -> None:
        """Add further conversations."""
        self._parts.add(rows)

    def whole(self, prompts: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, int]]:
        """Return the table, with prompt names and a column per metadata key, and the counts."""
        frame, counts = self._parts.whole()
        found = self._metadata.columns()
        if found:
            frame = pd.concat([frame, pd.DataFrame(found, copy=False)], axis=1)
        frame["prompt"] = conversation_prompts(frame, prompts)
        return ids_last(frame), counts

    def _make(self, rows: list[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
        invalid = InvalidCounts()
        if self._content:
            rows = [with_content_facts(row) for row in rows]
        given = tuple(column for column in self._columns if column.name not in _COMPUTED)
        values = values_of((*given, _ENDED_AT, _METADATA, _JUDGED), rows)
        if self._content:
            values["started_at"] = first_times(rows, values["started_at"])
            values["source_id"] = source_ids(rows, values["source_id"])
        if self._insights and not set(map(type, values["insights"])) <= {dict, type(None)}:
            invalid.counts["insights"] += sum(not isinstance(one, dict | None) for one in values["insights"])
        frame = build(given, values, invalid)
        duration = series(_ENDED_AT, values["ended_at"], InvalidCounts()) - frame["started_at"]
        seconds = duration.dt.total_seconds()
        if frame["started_at"].hasnans:
            frame["started_at"] = frame["started_at"].fillna(frame["created_at"])
        self._metadata.add(values["metadata"])
        computed = {
            "prompt": frame["prompt_id"],
            # The service gives the same time for both ends if messages have none.
            "duration_s": seconds.where(seconds > 0),
            "tokens": frame["input_tokens"] + frame["output_tokens"],
        }
        for place, column in enumerate(self._columns):
            if column.name in computed:
                frame.insert(place, column.name, computed[column.name])
        return frame, invalid.as_dict()


def with_content_facts(row: Row) -> Row:
    """Return a conversation, completed with facts from its content that the service does not report."""
    content = row.get("content")
    if "messageCount" in row or not isinstance(content, str):
        return row
    try:
        transcript = parse_content(content)
    except TranscriptError:
        return row
    facts = content_facts(transcript)
    seconds = answer_seconds(transcript.messages)
    said = {
        "messageCount": len(transcript.messages),
        "endedAt": None if transcript.ended_at is None else to_wire_time(transcript.ended_at),
        "latencyMs": None if seconds is None else seconds * 1000,
        "inputTokens": facts.get("input_tokens"),
        "outputTokens": facts.get("output_tokens"),
        "toolCalls": facts.get("tool_calls"),
        "toolErrors": facts.get("tool_errors"),
        "metadata": facts.get("metadata"),
    }
    return {**said, **row}


def ids_last(frame: pd.DataFrame) -> pd.DataFrame:
    """Move the ids of conversations behind all other columns, those of metadata included."""
    return frame[[*(name for name in frame if name not in IDS), *IDS]]


def conversation_prompts(frame: pd.DataFrame, prompts: Mapping[str, str]) -> pd.Series[Any]:
    """Return the name of each row's prompt, with the version if the rows contain several of one prompt."""
    ids = frame["prompt_id"]
    named = prompt_names(ids, prompts)
    column = next((name for name in _VERSIONS if name in frame), None)
    if column is None:
        return named
    versions = frame[column].astype("str")
    several = versions.groupby(ids).transform("nunique") > 1
    told = several & versions.notna()
    marked = named + " · " + versions.where(~versions.str.fullmatch(r"[0-9.]+").fillna(False), "v" + versions)
    return named.where(~told, marked)


def messages_table(rows: Iterable[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of messages, one row each, from conversations with content.

    Unreadable content gives no rows and is counted under ``unreadable_content``.
    """
    invalid = InvalidCounts()
    values = message_values(rows, invalid)
    return build(MESSAGES, values, invalid), invalid.as_dict()


def issues_table(conversations: pd.DataFrame) -> pd.DataFrame:
    """Make the long table of issues, one row per mention, from a table of conversations with insights."""
    places, found = _mentions(conversations["issues"])
    records = [issue_record(one) for one in found]
    values = {name: [record[name] for record in records] for name in ("kind", "title", "severity", "quote")}
    return _long(conversations, places, ISSUES, values)


def topics_table(conversations: pd.DataFrame) -> pd.DataFrame:
    """Make the long table of topics, one row per mention, from a table of conversations with insights."""
    places, found = _mentions(conversations["topics"])
    return _long(conversations, places, TOPICS, {"topic": [str(one) for one in found]})


def _mentions(cells: pd.Series[Any]) -> tuple[list[int], list[Any]]:
    found = [(place, one) for place, cell in enumerate(cells) for one in _listed(cell)]
    return [place for place, _ in found], [one for _, one in found]


def _listed(cell: Any) -> Iterator[Any]:
    if isinstance(cell, list):
        yield from (one for one in cell if one is not None)


def _long(
    conversations: pd.DataFrame,
    places: list[int],
    columns: Sequence[TableColumn],
    values: dict[str, list[Any]],
) -> pd.DataFrame:
    """Repeat the rows with mentions, one for each, and add the mentions."""
    shared = [column.name for column in columns if column.name not in values]
    frame = conversations[shared].take(places).reset_index(drop=True)
    for column in columns:
        if column.name in values:
            frame[column.name] = series(column, values[column.name], InvalidCounts())
    return frame
