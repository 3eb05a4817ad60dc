"""The account and its usage against the plan."""

from __future__ import annotations

from typing import Annotated

from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, UtcTime


class PlanLimits(ApiModel):
    """Quotas of the plan; ``None`` means unlimited."""

    prompts: int | None = None
    optimizations_per_month: int | None = None
    conversations_per_month: int | None = None


class PlanView(ApiModel):
    """The plan of the account."""

    name: str
    limits: PlanLimits


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
    """The most that the plan allows; ``None`` where nothing is limited."""


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
