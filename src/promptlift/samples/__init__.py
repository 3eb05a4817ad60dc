"""The bundled sample conversations: an invented shop's help desk, two versions of its prompt, 60 days.

Everything in them is made up, including the outcome: ``resolved`` in the metadata records whether the request
was solved, as in a good log, and the prompts use it as the verdict. It equals the built-in analyser's
verdict, so the samples are no evidence of the analyser's accuracy. The data file stores days before the last
one, so that the sample is always recent.

>>> from promptlift import samples
>>> [prompt["name"] for prompt in samples.prompts()]
['Support assistant v1', 'Support assistant v2']
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from typing import Any, Final

from promptlift.schema.transcript import Message, Transcript, dump_content

__all__ = ["conversations", "prompt_keys", "prompts"]

_ROLES: Final = {"u": "user", "a": "assistant"}


def prompt_keys() -> list[str]:
    """Return the keys of the two prompts, in the order of :func:`prompts`."""
    return [prompt["key"] for prompt in _stored_prompts()]


def prompts() -> list[dict[str, Any]]:
    """Return bodies for ``POST /prompts``: the two versions of the prompt, the older one first."""
    return [{name: value for name, value in prompt.items() if name != "key"} for prompt in _stored_prompts()]


def conversations(prompt_key: str, *, ending: date | None = None) -> list[dict[str, Any]]:
    """Return the conversations of one of the prompts, oldest first.

    Parameters
    ----------
    prompt_key
        One of :func:`prompt_keys`.
    ending
        The conversations end on the day before this one. By default today (UTC).

    Returns
    -------
    list of dict
        ``content`` (structured), ``status``, ``llmModel``, ``companyName`` (or ``None``) and ``idempotencyKey``: the
        body of ``POST /conversations`` without the prompt.

    Raises
    ------
    ValueError
        No sample prompt has this key.
    """
    known = prompt_keys()
    if prompt_key not in known:
        raise ValueError(f"there is no sample prompt {prompt_key!r}; there are {', '.join(known)}")
    last = (ending or datetime.now(UTC).date()) - timedelta(days=1)
    midnight = datetime.combine(last, time(), tzinfo=UTC)
    return [
        _conversation(line, midnight)
        for line in _stored_conversations()
        if line["key"].startswith(f"{prompt_key}-")
    ]


def _conversation(line: dict[str, Any], midnight: datetime) -> dict[str, Any]:
    start = midnight + timedelta(days=line["day"])
    messages = [
        Message(
            role=_ROLES[role],
            content=text,
            timestamp=start + timedelta(seconds=second),
            model=line["model"] if role == "a" else None,
            tokens=tokens[0] if tokens else None,
        )
        for role, second, text, *tokens in line["turns"]
    ]
    return {
        "content": dump_content(Transcript(messages=messages, metadata=dict(line["metadata"]))),
        "status": line["status"],
        "llmModel": line["model"],
        "companyName": line["company"],
        "idempotencyKey": f"sample-{line['key']}",
    }


@cache
def _stored_prompts() -> list[dict[str, Any]]:
    stored: list[dict[str, Any]] = json.loads(_read("prompts.json"))
    return stored


@cache
def _stored_conversations() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _read("conversations.jsonl").splitlines()]


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
