"""The tables of prompts, and of what people do with them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    true,
)

from promptlift.service.store.tables.columns import (
    ID,
    SEQUENCE,
    account,
    integers,
    metadata,
    numbered,
    reference,
)

prompts = Table(
    "prompts",
    metadata,
    *numbered(),
    account(),
    Column("name", Text, nullable=False),
    Column("content", Text, nullable=False),
    # Whether the content is the prompt's text; False where an import made the prompt and its text was never given.
    Column("content_known", Boolean, nullable=False, server_default=true()),
    Column("llm_model", Text, nullable=False),
    Column("description", Text),
    Column("tags", Text, nullable=False),
    Column("temperature", Float),
    Column("max_tokens", Integer),
    Column("objective", Text),
    Column("status", String(20), nullable=False),
    *integers("created_at", "updated_at"),
    Column("deleted_at", BigInteger),
    Index("ix_prompts_account_id_seq", "account_id", "seq"),
)

prompt_versions = Table(
    "prompt_versions",
    metadata,
    Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    account(),
    Column("prompt_id", ID, ForeignKey("prompts.id"), nullable=False, index=True),
    Column("content", Text, nullable=False),
    Column("content_known", Boolean, nullable=False, server_default=true()),
    # How the text came: created, updated, applied, auto_deployed, rolled_back, restored.
    Column("origin", String(20), nullable=False),
    Column("optimization_id", ID),
    Column("variant_id", ID),
    Column("created_at", BigInteger, nullable=False),
)

personas = Table(
    "personas",
    metadata,
    *numbered(),
    account(index=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger),
)

# What people think of a variant: one verdict and one note each.
variant_reviews = Table(
    "variant_reviews",
    metadata,
    account(),
    reference("optimizations"),
    Column("variant_id", ID, nullable=False),
    Column("verdict", String(10)),
    Column("note", Text),
    Column("updated_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("optimization_id", "variant_id"),
)

# What people did: apply, stop, restore, undo. A row is written in the transaction of the action, and only undoing the action changes it.
actions = Table(
    "actions",
    metadata,
    *numbered(),
    account(),
    reference("prompts"),
    Column("optimization_id", ID),
    Column("variant_id", ID),
    Column("kind", String(10), nullable=False),
    Column("from_version_seq", BigInteger),
    Column("to_version_seq", BigInteger),
    Column("note", Text),
    Column("undoes", ID),
    Column("undone_by", ID),
    Column("undone_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_actions_account_id_seq", "account_id", "seq"),
    Index("ix_actions_prompt_id_seq", "prompt_id", "seq"),
)
