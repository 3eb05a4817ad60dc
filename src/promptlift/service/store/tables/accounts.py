"""Accounts, their usage, and the processes that work for them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Mapped, mapped_column

from promptlift.service.store.rows import Account, Base, Id, Json, Key, Seq, Small, reference


class AccountRow(Base):
    """An account."""

    __tablename__ = "accounts"

    id: Mapped[Key]
    name: Mapped[str]
    email: Mapped[str]
    plan: Mapped[str]
    # Its own limits, which replace those of the plan.
    limits: Mapped[dict[str, int]] = mapped_column(Json, server_default="{}")
    settings: Mapped[dict[str, Any]] = mapped_column(Json)
    # When something last changed that all insights are read with: the exclusions, or a topic's name.
    insights_at: Mapped[int] = mapped_column(server_default=text("0"))
    created_at: Mapped[datetime]


class ApiKeyRow(Base):
    """An API key; only its hash is stored."""

    __tablename__ = "api_keys"

    id: Mapped[Key]
    account_id: Mapped[Account] = mapped_column(index=True)
    name: Mapped[str]
    prefix: Mapped[str]
    hash: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[int]
    last_used_at: Mapped[int | None]
    revoked_at: Mapped[int | None]


class UsageRow(Base):
    """An account's usage of one kind in a billing period."""

    __tablename__ = "usage_counters"

    account_id: Mapped[Account] = mapped_column(primary_key=True)
    period_start: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[Key]
    used: Mapped[int]


class RateWindowRow(Base):
    """The requests of an account in the current minute."""

    __tablename__ = "rate_windows"

    account_id: Mapped[str] = reference("accounts", primary_key=True)
    window: Mapped[int]
    used: Mapped[Small]


class WorkerRow(Base):
    """A background worker. Rows name their worker; a row whose worker is gone is taken over by another."""

    __tablename__ = "workers"

    id: Mapped[Key]
    lease_until: Mapped[int]
    # Why rows that it could work on are waiting.
    problem: Mapped[str | None]


class SingletonJobRow(Base):
    """A job that one worker at a time does for all, and its current worker."""

    __tablename__ = "singleton_jobs"

    seq: Mapped[Seq]
    id: Mapped[Id]
    worker: Mapped[str | None]
