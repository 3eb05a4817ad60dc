"""The account and its usage against the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from promptlift.schema.columns import Column
from promptlift.schema.limits import request_rate
from promptlift.schema.model import ApiModel, UtcTime

if TYPE_CHECKING:
    from collections.abc import Mapping


class PlanLimits(ApiModel):
    """Quotas of the account, from its plan or its own; ``None`` means unlimited."""

    # unspecified: how a missing limit is represented, as an enterprise account may have none.
    prompts: int | None = None
    """Active prompts; ``None`` if unlimited (unspecified)."""
    optimizations_per_month: int | None = None
    """Optimizations of a billing period; ``None`` if unlimited (unspecified)."""
    conversations_per_month: int | None = None
    """Conversations of a billing period; ``None`` if unlimited (unspecified)."""
    requests_per_minute: int | None = None
    """Requests per minute; ``None`` if unlimited. A field of ours."""
    tokens_per_month: int | None = None
    """LLM tokens of a billing period; ``None`` if unlimited. A field of ours."""


class PlanView(ApiModel):
    """The plan of the account."""

    name: str
    limits: PlanLimits


def account_rate(plan: Mapping[str, Any]) -> int | None:
    """Return the requests per minute of a plan in its API form: the account's own limit, or else that of the plan's name.

    >>> account_rate({"name": "enterprise", "limits": {"requestsPerMinute": 90}}), account_rate({"name": "Pro"})
    (90, 300)
    """
    limits, name = plan.get("limits"), plan.get("name")
    own = limits.get("requestsPerMinute") if isinstance(limits, dict) else None
    if isinstance(own, int) and not isinstance(own, bool) and own > 0:
        return own
    return request_rate(name) if isinstance(name, str) else None


class Account(ApiModel):
    """Answer of ``GET /account``."""

    id: str
    name: str | None = None
    email: str | None = None
    plan: PlanView
    created_at: UtcTime | None = None


class BillingPeriod(ApiModel):
    """The current billing period."""

    start: Annotated[UtcTime, Column(name="period_start")]
    """Start of the billing period."""
    end: Annotated[UtcTime, Column(name="period_end")]
    """End of the billing period."""


class Used(ApiModel):
    """Usage of one resource; ``limit`` is ``None`` when unlimited."""

    used: Annotated[int, Column()]
    """Used in the billing period so far."""
    limit: Annotated[int | None, Column()] = None
    """The maximum that the plan allows; ``None`` if unlimited (unspecified, but for tokens)."""


class OptimizationsUsed(Used):
    """Optimizations of the period."""

    running: Annotated[int, Column()] = 0
    """Running now."""


class Usage(ApiModel):
    """Answer of ``GET /usage``."""

    period: BillingPeriod
    prompts: Used
    optimizations: OptimizationsUsed
    conversations: Used
    tokens: Used
