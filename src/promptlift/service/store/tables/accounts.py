"""The tables of accounts, and of what they use."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

from promptlift.service.store.tables.columns import ID, account, metadata

accounts = Table(
    "accounts",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("plan", String(20), nullable=False),
    # Limits of its own in place of those of the plan, as JSON.
    Column("limits", Text, nullable=False, server_default="{}"),
    Column("settings", Text, nullable=False),
    # When it was last changed what insights must not say: all that have been read since are others now.
    Column("exclusions_at", BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", BigInteger, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ID, primary_key=True),
    account(index=True),
    Column("name", Text, nullable=False),
    Column("prefix", String(20), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
)

usage_counters = Table(
    "usage_counters",
    metadata,
    account(),
    Column("period_start", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("used", BigInteger, nullable=False),
    PrimaryKeyConstraint("account_id", "period_start", "kind"),
)

rate_windows = Table(
    "rate_windows",
    metadata,
    Column("account_id", ID, ForeignKey("accounts.id"), primary_key=True),
    Column("window", BigInteger, nullable=False),
    Column("used", Integer, nullable=False),
)
