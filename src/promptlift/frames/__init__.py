"""Tables: the columns and dtypes of each, built from the API's decoded JSON.

``personas_table`` and the like make every table of ``layouts.TABLES`` from the rows that the service sends.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from promptlift.frames import layouts
from promptlift.frames.benchmarks import benchmark_arms_table
from promptlift.frames.columns import Parts
from promptlift.frames.conversations.tables import (
    ConversationParts,
    conversation_prompts,
    conversations_table,
    issues_table,
    messages_table,
    topics_table,
)
from promptlift.frames.edits import edits_table
from promptlift.frames.layouts import describe_columns
from promptlift.frames.records import records_from
from promptlift.frames.tables import (
    analyser_of,
    basis_of,
    insights_errors,
    make_table,
    usage_table,
    with_prompt_names,
)
from promptlift.frames.variants import facts_of, variants_table

__all__ = [
    "ConversationParts",
    "Parts",
    "analyser_of",
    "basis_of",
    "benchmark_arms_table",
    "conversation_prompts",
    "conversations_table",
    "describe_columns",
    "edits_table",
    "facts_of",
    "insights_errors",
    "issues_table",
    "messages_table",
    "records_from",
    "topics_table",
    "usage_table",
    "variants_table",
    "with_prompt_names",
]


def __getattr__(name: str) -> Any:
    """Return the maker of a table, or the columns of one."""
    table = name.removesuffix("_table")
    if name != table and table in layouts.TABLES:
        return partial(make_table, table)
    if name in ("CONVERSATIONS", "INSIGHT_VALUES"):
        return getattr(layouts, name)
    if name.isupper() and name.lower() in layouts.TABLES:
        return layouts.TABLES[name.lower()]
    raise AttributeError(name)
