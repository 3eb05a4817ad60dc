"""The current version of a prompt: text, version and event change together, and only here."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from promptlift.schema.events import PromptUpdated
from promptlift.service import clock
from promptlift.service.store import events, prompts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from promptlift.service.store.tables.prompts import PromptRow

_VERSION_START = "ver_"
# How an origin is called in events, where it is not called the same.
_UPDATE_TYPES = {"rolled_back": "rollback", "updated": "manual"}


def version_id(seq: int | None) -> str | None:
    """Return the API id of a version."""
    return None if seq is None else f"{_VERSION_START}{seq}"


def version_seq(given: str) -> int | None:
    """Read the sequence number from an API id; ``None`` for anything else."""
    digits = given.removeprefix(_VERSION_START)
    known = digits != given and digits.isascii() and digits.isdecimal() and len(digits) <= 18
    return int(digits) if known and version_id(int(digits)) == given else None


def replace(
    connection: Connection,
    prompt: PromptRow,
    content: str,
    *,
    origin: str,
    now: int,
    optimization_id: str | None = None,
    variant_id: str | None = None,
    expected: Mapping[str, float | None] = MappingProxyType({}),
) -> int:
    """Make a text the current version and return its sequence number.

    The caller holds the lock of the prompt and has seen that the text is another one.

    Parameters
    ----------
    origin
        ``applied``, ``auto_deployed``, ``rolled_back``, ``restored``, or ``updated`` for a text from a person.
    expected
        What to expect of a variant that is applied.
    """
    known = prompts.is_known(connection, prompt, content)
    prompts.change(
        connection,
        prompt.account_id,
        prompt.id,
        {"content": content, "content_known": known, "updated_at": now},
    )
    seq = prompts.add_version(
        connection,
        prompt.account_id,
        prompt.id,
        content,
        origin,
        now=now,
        content_known=known,
        optimization_id=optimization_id,
        variant_id=variant_id,
    )
    record_update(connection, prompt, origin, now=now, variant_id=variant_id, expected=expected)
    return seq


def record_update(
    connection: Connection,
    prompt: PromptRow,
    update_type: str,
    *,
    now: int,
    variant_id: str | None = None,
    expected: Mapping[str, float | None] = MappingProxyType({}),
) -> None:
    """Write the event of a changed text."""
    payload = PromptUpdated(
        prompt_id=prompt.id,
        prompt_name=prompt.name,
        # unspecified: values of updateType. How the text came; "manual" is an edit by a person or program over the API.
        update_type=_UPDATE_TYPES.get(update_type, update_type),
        applied_at=clock.to_datetime(now),
        **expected,
    )
    if variant_id is not None:
        payload.variant_id = variant_id
    row = events.row("prompt.updated", prompt.account_id, prompt.id, payload.to_wire(), now=now)
    events.write(connection, [row])
