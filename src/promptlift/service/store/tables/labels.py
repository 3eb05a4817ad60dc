"""The table of labels."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Table, Text, UniqueConstraint

from promptlift.service.store.tables.columns import ID, account, integers, metadata, numbered

# What people say of conversations. No foreign key to the conversation: a simulated one is in another table.
labels = Table(
    "labels",
    metadata,
    *numbered(),
    account(),
    Column("prompt_id", ID, nullable=False),
    Column("conversation_id", ID, nullable=False),
    # Only where the conversation is a simulated one.
    Column("optimization_id", ID),
    *(Column(name, Text, nullable=False) for name in ("question", "labeller", "value")),
    Column("chance", Float),
    Column("draw_id", Text),
    *integers("labelled_at"),
    UniqueConstraint("account_id", "conversation_id", "question", "labeller", name="uq_labels_answer"),
    Index("ix_labels_account_id_seq", "account_id", "seq"),
    Index("ix_labels_account_id_prompt_id_seq", "account_id", "prompt_id", "seq"),
    Index("ix_labels_conversation_id", "conversation_id"),
)
