"""Asking for insights again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service import clock
from promptlift.service.store import judging

if TYPE_CHECKING:
    from promptlift.service.context import AppContext


def ask_again(
    context: AppContext, account_id: str, *, prompt_id: str | None = None, conversation_id: str | None = None
) -> int:
    """Queue conversations to be judged again in the background, and return how many."""
    with context.database.write() as connection:
        count = judging.ask_again(
            connection, account_id, prompt_id=prompt_id, conversation_id=conversation_id, now=clock.now()
        )
    if count:
        context.jobs.look()
    return count
