"""The tables of counts of conversations, kept by `conversation_counts` in the transaction that moves them.

They are derived from conversations, so nothing refers to them, and they refer to nothing: a foreign key would be checked
for every count.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text, text

from promptlift.service.store.tables.mapping import Base

metadata = Base.metadata

# The column of a block that counts a status, without and with insights.
BLOCK_COLUMNS = {
    (status, has_insights): f"{status}_with_insights" if has_insights else status
    for status in ("completed", "abandoned", "in_progress")
    for has_insights in (False, True)
}


def integers(*names: str) -> list[Column[Any]]:
    """Return columns of whole numbers."""
    return [Column(name, BigInteger, nullable=False) for name in names]


def span_of_prompt() -> list[Column[Any]]:
    """Return what conversations are counted by: their prompt, the length of a span of time, and when it begins."""
    names = ("account_id", "prompt_id")
    return [*(Column(name, Text, nullable=False) for name in names), *integers("span", "start")]


# Conversations in blocks of sequence numbers, for totals of lists and for finding a page. The rows with an empty
# prompt_id count all prompts of the account.
conversation_blocks = Table(
    "conversation_blocks",
    metadata,
    Column("account_id", Text, nullable=False),
    Column("prompt_id", Text, nullable=False),
    Column("block", BigInteger, nullable=False),
    *(Column(name, Integer, nullable=False) for name in BLOCK_COLUMNS.values()),
    PrimaryKeyConstraint("account_id", "prompt_id", "block"),
    sqlite_with_rowid=False,
)

# Sums over the conversations that started in a span of time; ``span`` is its length, ``start`` when it begins.
conversation_sums = Table(
    "conversation_sums",
    metadata,
    *span_of_prompt(),
    *integers("total", "completed", "abandoned", "messages", "responses"),
    # Whole seconds and the rest in units of FRACTION apart: together they would not fit.
    *integers("response_seconds", "response_fractions"),
    # Ended and with a verdict, those of them with a completed task, and those whose verdict rests on the log's outcome, on labels that a
    # judge learned from, or on the words of the built-in rules.
    *integers("judged", "task_completed", "by_outcome", "by_learned", "by_words"),
    # With insights, ended or not, and those whose insights are of the built-in rules. The sums of the scores and of their squares are in units of FRACTION.
    *integers("positive", "neutral", "negative", "scored_by_words", "sentiment_fractions"),
    Column("sentiment_squares", BigInteger, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("account_id", "prompt_id", "span", "start"),
    sqlite_with_rowid=False,
)

# Ended conversations with a verdict by their user turns.
conversation_turns = Table(
    "conversation_turns",
    metadata,
    *span_of_prompt(),
    Column("user_turns", Integer, nullable=False),
    *integers("judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "span", "start", "user_turns"),
    sqlite_with_rowid=False,
)

# Conversations with insights by the issues that they have together, so that titles can be grouped in any way and no
# conversation is counted twice. The issues are their titles as JSON; titles can be long and can hold a NUL
# character, so a hash is the key and the JSON is bytes.
conversation_issue_sets = Table(
    "conversation_issue_sets",
    metadata,
    *span_of_prompt(),
    Column("issue_set", Text, nullable=False),
    Column("issues", LargeBinary, nullable=False),
    # All of them, those that have ended with a verdict, and those that ended with the task not completed.
    *integers("scored", "judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "span", "start", "issue_set"),
    sqlite_with_rowid=False,
)
