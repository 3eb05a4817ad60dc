"""Pure statistics over numbers and arrays: no tables, no model, no clock, no database."""

from __future__ import annotations

from promptlift.stats.intervals import check_level, mean_interval, wilson

__all__ = ["check_level", "mean_interval", "wilson"]
