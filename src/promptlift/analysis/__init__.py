"""Tables in, small tables out: the numbers behind every picture and report.

Every function takes whatever narwhals accepts (pandas, Polars, PyArrow, DuckDB, PySpark, Ibis) and returns a small
pandas table: an engine counts, and only the counts come here. Rates and shares are fractions; ``…_low`` and ``…_high`` are the ends of a Wilson interval.
"""

from __future__ import annotations

# Imported here and not on first use: a module that has the name of its function would otherwise hide it.
from promptlift.analysis.atlas import atlas, why
from promptlift.analysis.benchmark import benchmark
from promptlift.analysis.changes import changes
from promptlift.analysis.compare import compare
from promptlift.analysis.completion import completion, completion_trend
from promptlift.analysis.corrected_lift import corrected_lift
from promptlift.analysis.drill_down import conversations_of
from promptlift.analysis.headroom import headroom
from promptlift.analysis.judge_agreement import judge_agreement
from promptlift.analysis.label_plan import label_plan
from promptlift.analysis.labeller_agreement import labeller_agreement
from promptlift.analysis.measures import measures
from promptlift.analysis.mentions import issues, topics
from promptlift.analysis.prompt_overview import prompt_overview
from promptlift.analysis.search import search
from promptlift.analysis.segments import segments
from promptlift.analysis.sentiments import sentiment_distribution, sentiment_trend
from promptlift.analysis.service_views import production_metrics, targets
from promptlift.analysis.variants import variant_confidence, variant_lift
from promptlift.analysis.versions import prompt_timeline
from promptlift.analysis.where_it_differs import where_it_differs

__all__ = [
    "atlas",
    "benchmark",
    "changes",
    "compare",
    "completion",
    "completion_trend",
    "conversations_of",
    "corrected_lift",
    "headroom",
    "issues",
    "judge_agreement",
    "label_plan",
    "labeller_agreement",
    "measures",
    "production_metrics",
    "prompt_overview",
    "prompt_timeline",
    "search",
    "segments",
    "sentiment_distribution",
    "sentiment_trend",
    "targets",
    "topics",
    "variant_confidence",
    "variant_lift",
    "where_it_differs",
    "why",
]
