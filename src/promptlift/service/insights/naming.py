"""Ask a model for names in the background, at the expense of the account."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel

from promptlift.service import clock
from promptlift.service.llm.port import Cancelled, LlmError
from promptlift.service.store import accounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.llm.port import ChatModel, Purpose
    from promptlift.service.store.database import Database

T = TypeVar("T", bound=BaseModel)

_LOG = logging.getLogger(__name__)

_ANSWER_TOKENS: Final = 4_000


def ask_for_names(
    client: ChatModel,
    database: Database,
    account_id: str,
    messages: Sequence[Mapping[str, str]],
    *,
    purpose: Purpose,
    model: str,
    schema: type[T],
) -> T | None:
    """Return a model's answer about data of an account; ``None`` if it does not answer, or the account has no tokens left."""
    with database.read() as connection:
        if accounts.token_limit_reached(connection, account_id, now=clock.now()) is not None:
            return None
    tokens = 0
    try:
        answer = client.chat(
            messages,
            purpose=purpose,
            model=model,
            temperature=0.0,
            max_tokens=_ANSWER_TOKENS,
            schema=schema,
        )
        tokens = answer.tokens
    except Cancelled:
        return None
    except LlmError as error:
        tokens = error.tokens
        _LOG.info("the model named no %s: %s", purpose, error)
        return None
    else:
        return answer.parsed
    finally:
        if tokens:
            with database.write() as connection:
                accounts.add_usage(connection, account_id, "tokens", tokens, now=clock.now())
