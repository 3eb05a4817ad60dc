"""The numbers that the specification fixes."""

from __future__ import annotations

from typing import get_args

import pytest

from promptlift.schema import limits


@pytest.mark.parametrize(
    ("plan", "prompts", "optimizations", "conversations", "requests"),
    [("free", 5, 10, 500, 60), ("pro", 100, 50, 10_000, 300), ("enterprise", None, None, None, None)],
)
def test_plans_have_the_quotas_and_rates_of_the_specification(
    plan, prompts, optimizations, conversations, requests
):
    limited = limits.PLANS[plan]
    assert limited.name == plan
    assert limited.prompts == prompts
    assert limited.optimizations_per_month == optimizations
    assert limited.conversations_per_month == conversations
    assert limited.requests_per_minute == requests
    assert limited.tokens_per_month is None


def test_lists_have_the_defaults_of_the_specification():
    assert limits.LIST_LIMIT_MAX == 100
    assert limits.LIST_LIMIT_DEFAULT == 20
    assert limits.OPTIMIZATIONS_LIMIT_DEFAULT == 10
    assert get_args(limits.InsightsDays) == ("7", "30", "90", "all")
    assert limits.INSIGHTS_DAYS_DEFAULT == "30"


def test_bounds_and_retry_delays_are_those_of_the_specification():
    assert (limits.VARIANTS_MIN, limits.VARIANTS_MAX, limits.VARIANTS_DEFAULT) == (1, 5, 3)
    assert (limits.TEMPERATURE_MIN, limits.TEMPERATURE_MAX) == (0, 2)
    assert limits.CONCURRENT_OPTIMIZATIONS == 10
    assert limits.WEBHOOK_DELAYS_SECONDS == (0, 60, 5 * 60, 30 * 60, 2 * 3600)
    assert len(limits.WEBHOOK_DELAYS_SECONDS) == limits.WEBHOOK_ATTEMPTS
