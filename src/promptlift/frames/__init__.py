"""Tables: the columns and dtypes of each, built from decoded JSON of the API."""

from __future__ import annotations

from promptlift.frames.columns import Parts
from promptlift.frames.optimizations import (
    OPTIMIZATIONS,
    PERSONAS,
    SIMULATIONS,
    VERSIONS,
    optimizations_table,
    personas_table,
    simulations_table,
    versions_table,
)
from promptlift.frames.records import records_from
from promptlift.frames.tables import (
    CONTENT,
    CONVERSATIONS,
    INSIGHT_VALUES,
    INSIGHTS,
    MESSAGES,
    PROMPTS,
    analyser_of,
    conversations_table,
    insights_errors,
    insights_table,
    messages_table,
    prompts_table,
    usage_table,
)
from promptlift.frames.variants import VARIANTS, facts_of, variants_table

__all__ = [
    "CONTENT",
    "CONVERSATIONS",
    "INSIGHTS",
    "INSIGHT_VALUES",
    "MESSAGES",
    "OPTIMIZATIONS",
    "PERSONAS",
    "PROMPTS",
    "SIMULATIONS",
    "VARIANTS",
    "VERSIONS",
    "Parts",
    "analyser_of",
    "conversations_table",
    "facts_of",
    "insights_errors",
    "insights_table",
    "messages_table",
    "optimizations_table",
    "personas_table",
    "prompts_table",
    "records_from",
    "simulations_table",
    "usage_table",
    "variants_table",
    "versions_table",
]
