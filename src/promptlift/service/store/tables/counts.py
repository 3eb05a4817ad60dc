"""The tables of counts of conversations, updated by `conversation_counts` in the transaction that affects them.

They are derived from conversations and have no foreign keys, which would be checked for every count.
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
    """Return integer columns."""
    return [Column(name, BigInteger, nullable=False) for name in names]


def day_of_prompt() -> list[Column[Any]]:
    """Return the columns by which conversations are counted: their prompt, and the start of their day, or ALL_TIME."""
    names = ("account_id", "prompt_id")
    return [*(Column(name, Text, nullable=False) for name in names), *integers("start")]


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

# Sums over the conversations that started on a day.
conversation_sums = Table(
    "conversation_sums",
    metadata,
    *day_of_prompt(),
    *integers("total", "completed", "abandoned", "messages", "responses"),
    # Whole seconds, and the remainder in units of FRACTION: a single column would overflow.
    *integers("response_seconds", "response_fractions"),
    # Ended and with a verdict, those of them with a completed task, and those whose verdict is based on the
    # log's outcome, on a judge that learned from labels, or on the words of the built-in rules.
    *integers("judged", "task_completed", "by_outcome", "by_learned", "by_words"),
    # With insights, ended or not, and those with insights from the built-in rules. The sums of the scores and
    # of their squares are in units of FRACTION.
    *integers("positive", "neutral", "negative", "scored_by_words", "sentiment_fractions"),
    Column("sentiment_squares", BigInteger, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("account_id", "prompt_id", "start"),
    sqlite_with_rowid=False,
)

# Ended conversations with a verdict by their user turns.
conversation_turns = Table(
    "conversation_turns",
    metadata,
    *day_of_prompt(),
    Column("user_turns", Integer, nullable=False),
    *integers("judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "start", "user_turns"),
    sqlite_with_rowid=False,
)

# Conversations with insights by their set of issues, so that titles can be grouped in any way and no
# conversation is counted twice; and by their model and first topic, so that only conversations of one stratum
# are compared. The issues are their titles as JSON, empty for a conversation without any. Titles can be long
# and can contain a NUL character, so the key is a hash of all three, and the JSON is bytes.
conversation_issue_sets = Table(
    "conversation_issue_sets",
    metadata,
    *day_of_prompt(),
    Column("issue_set", Text, nullable=False),
    Column("issues", LargeBinary, nullable=False),
    Column("llm_model", Text, nullable=False),
    Column("topic", Text, nullable=False),
    # All of them, those that ended with a verdict, and those that ended without a completed task.
    *integers("scored", "judged", "failed"),
    PrimaryKeyConstraint("account_id", "prompt_id", "start", "issue_set"),
    sqlite_with_rowid=False,
)
