"""The four tables of conversations and prompts: rows as decoded JSON in, DataFrames out.

No model object is made a row: ten thousand rows are a moment's work. Fields that nobody knows yet stay out of the
tables; the models of the client keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.frames.columns import Column, Doubts, build
from promptlift.frames.contents import first_times, message_values, source_ids
from promptlift.schema.conversations import CONVERSATION_STATUSES
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.naming import LINKS, link_of
from promptlift.schema.prompts import PROMPT_STATUSES
from promptlift.schema.transcript import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

Row = dict[str, Any]

CONVERSATIONS: Final = (
    Column("conversation_id", "text"),
    Column("prompt_id", "text"),
    Column("status", "category", CONVERSATION_STATUSES),
    Column("has_insights", "boolean"),
    Column("created_at", "time"),
    Column("started_at", "time"),
    Column("llm_model", "text"),
    Column("company_name", "text"),
    Column("source_id", "text"),
    Column("insights_error", "text"),
)
CONTENT: Final = (Column("content", "text"),)
INSIGHT_VALUES: Final = (
    Column("sentiment", "category", SENTIMENTS),
    Column("sentiment_score", "float"),
    Column("task_completed", "boolean"),
    Column("topics", "texts"),
    Column("summary", "text"),
    Column("issues", "records"),
    Column("insights_at", "time"),
    Column("analyser", "text"),
)
INSIGHTS: Final = (Column("conversation_id", "text"), *INSIGHT_VALUES)
MESSAGES: Final = (
    Column("conversation_id", "text"),
    Column("turn", "integer"),
    Column("role", "category", ROLES),
    Column("content", "text"),
    Column("sent_at", "time"),
    Column("model", "text"),
    Column("tokens", "integer"),
)
PROMPTS: Final = (
    Column("prompt_id", "text"),
    Column("name", "text"),
    Column("status", "category", PROMPT_STATUSES),
    Column("llm_model", "text"),
    Column("description", "text"),
    Column("tags", "texts"),
    Column("temperature", "float"),
    Column("max_tokens", "integer"),
    Column("objective", "text"),
    Column("content", "text"),
    Column("created_at", "time"),
    Column("updated_at", "time"),
)

USAGE: Final = (
    Column("resource", "text"),
    Column("used", "integer"),
    Column("limit", "integer"),
    Column("running", "integer"),
    Column("period_start", "time"),
    Column("period_end", "time"),
)

# Names in the tables that are not the API's in snake_case.
_WIRE_NAMES: Final = {
    "conversation_id": "id",
    "llm_model": "llmModel",
    "has_insights": "hasInsights",
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "company_name": "companyName",
    "source_id": "sourceId",
    "max_tokens": "maxTokens",
    "sentiment_score": "sentimentScore",
    "task_completed": "taskCompleted",
    "insights_at": "createdAt",
    "insights_error": "insightsError",
}


def conversations_table(
    rows: Sequence[Row], *, insights: bool = False, content: bool = False
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of conversations, one row each.

    ``started_at`` is the service's ``startedAt``, else the earliest message time where the content is there, else
    ``created_at``. ``source_id`` is the service's ``sourceId``, else that of the metadata where the content is there.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    doubts = Doubts()
    columns = (*CONVERSATIONS, *(CONTENT if content else ()), *(INSIGHT_VALUES if insights else ()))
    values = _columns_of(rows, (*CONVERSATIONS, *(CONTENT if content else ())))
    values["prompt_id"] = _links(rows)
    values["started_at"] = [row.get("startedAt") for row in rows]
    if content:
        values["started_at"] = first_times(rows, values["started_at"])
        values["source_id"] = source_ids(rows, values["source_id"])
    if insights:
        values |= _insight_values(rows, doubts)
    frame = build(columns, values, doubts)
    if frame["started_at"].hasnans:
        frame["started_at"] = frame["started_at"].fillna(frame["created_at"])
    return frame, doubts.as_dict()


def insights_table(rows: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of insights, one row a conversation that has them."""
    doubts = Doubts()
    judged = [row for row in rows if isinstance(row.get("insights"), dict)]
    values: dict[str, list[Any]] = {"conversation_id": [row.get("id") for row in judged]}
    frame = build(INSIGHTS, values | _insight_values(judged, doubts), doubts)
    return frame, doubts.as_dict()


def messages_table(rows: Iterable[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of messages, one row each, from conversations with content.

    Content that cannot be read gives no rows and is counted under ``unreadable_content``.
    """
    doubts = Doubts()
    values = message_values(rows, doubts)
    return build(MESSAGES, values, doubts), doubts.as_dict()


def prompts_table(rows: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of prompts, one row each; ``content`` is missing where only a placeholder stands for it."""
    doubts = Doubts()
    values = _columns_of(rows, PROMPTS)
    values["prompt_id"] = [row.get("id") for row in rows]
    values["content"] = [None if row.get("contentKnown") is False else row.get("content") for row in rows]
    return build(PROMPTS, values, doubts), doubts.as_dict()


def usage_table(usage: Row) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the table of usage, one row a resource; ``limit`` is missing where nothing is limited."""
    doubts = Doubts()
    names = [name for name in usage if name != "period" and isinstance(usage[name], dict)]
    period = usage.get("period") or {}
    values: dict[str, list[Any]] = {"resource": [*names]}
    for field in ("used", "limit", "running"):
        values[field] = [usage[name].get(field) for name in names]
    values["period_start"] = [period.get("start")] * len(names)
    values["period_end"] = [period.get("end")] * len(names)
    return build(USAGE, values, doubts), doubts.as_dict()


def analyser_of(frame: pd.DataFrame) -> str | None:
    """Tell who judged the conversations of a table: ``lexicon``, ``llm``, ``mixed`` or nobody known."""
    if "analyser" not in frame:
        return None
    kinds = {str(name).split(":", 1)[0] for name in frame["analyser"].dropna().unique()}
    return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else None


def insights_errors(frame: pd.DataFrame) -> dict[str, int]:
    """Count why conversations of a table have no insights, the most frequent reason first.

    Counted are conversations without insights for which the service says why.
    """
    if "insights_error" not in frame:
        return {}
    said = frame["insights_error"]
    if "has_insights" in frame:
        said = said[~frame["has_insights"].astype("boolean").fillna(value=False)]
    return {str(reason): int(count) for reason, count in said.dropna().value_counts().items()}


def _columns_of(rows: Sequence[Mapping[str, Any]], columns: Iterable[Column]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for column in columns:
        name = _WIRE_NAMES.get(column.name, column.name)
        values[column.name] = [row.get(name) for row in rows]
    return values


def _links(rows: Sequence[Row]) -> list[Any]:
    links = [row.get(LINKS[0]) for row in rows]
    return [link_of(row) for row in rows] if None in links else links


def _insight_values(rows: Sequence[Row], doubts: Doubts) -> dict[str, list[Any]]:
    views: list[Row] = []
    nothing: Row = {}
    for row in rows:
        view = row.get("insights")
        if view is not None and not isinstance(view, dict):
            doubts.counts["insights"] += 1
        views.append(view if isinstance(view, dict) else nothing)
    return _columns_of(views, INSIGHT_VALUES)
