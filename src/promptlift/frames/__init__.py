"""Tables: the columns and dtypes of each, built from decoded JSON of the API."""

from __future__ import annotations

from promptlift.frames.columns import Parts
from promptlift.frames.events import deliveries_table, events_table, webhooks_table
from promptlift.frames.layouts import (
    CONTENT,
    CONVERSATIONS,
    DELIVERIES,
    EVENTS,
    INSIGHT_VALUES,
    INSIGHTS,
    MESSAGES,
    OPTIMIZATIONS,
    PERSONAS,
    PRODUCTION_METRICS,
    PROMPTS,
    SIMULATIONS,
    VARIANTS,
    VERSIONS,
    WEBHOOKS,
    describe_columns,
)
from promptlift.frames.optimizations import (
    actions_table,
    optimizations_table,
    personas_table,
    production_metrics_table,
    review_table,
    simulations_table,
    targets_table,
    versions_table,
)
from promptlift.frames.records import records_from
from promptlift.frames.tables import (
    analyser_of,
    conversations_table,
    insights_errors,
    insights_table,
    messages_table,
    prompts_table,
    usage_table,
)
from promptlift.frames.variants import facts_of, variants_table

__all__ = [
    "CONTENT",
    "CONVERSATIONS",
    "DELIVERIES",
    "EVENTS",
    "INSIGHTS",
    "INSIGHT_VALUES",
    "MESSAGES",
    "OPTIMIZATIONS",
    "PERSONAS",
    "PRODUCTION_METRICS",
    "PROMPTS",
    "SIMULATIONS",
    "VARIANTS",
    "VERSIONS",
    "WEBHOOKS",
    "Parts",
    "actions_table",
    "analyser_of",
    "conversations_table",
    "deliveries_table",
    "describe_columns",
    "events_table",
    "facts_of",
    "insights_errors",
    "insights_table",
    "messages_table",
    "optimizations_table",
    "personas_table",
    "production_metrics_table",
    "prompts_table",
    "records_from",
    "review_table",
    "simulations_table",
    "targets_table",
    "usage_table",
    "variants_table",
    "versions_table",
    "webhooks_table",
]
