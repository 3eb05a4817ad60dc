"""Texts that a client may send: visible, storable and bounded before anything is done with them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from promptlift.schema import limits


def not_blank(text: str) -> str:
    """Reject a text that is blank or cannot be stored."""
    if not text.strip():
        raise ValueError("must not be blank")
    return storable(text)


def storable(text: str) -> str:
    """Reject a NUL character, which no database stores as text, and half of a surrogate pair."""
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("must not contain half of a surrogate pair") from None
    return text


def _within_bytes(text: str) -> str:
    if len(text.encode("utf-8", "surrogatepass")) > limits.PROMPT_CONTENT_BYTES:
        raise ValueError(f"must be at most {limits.PROMPT_CONTENT_BYTES} bytes")
    return text


Name = Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(not_blank)]
ModelName = Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(not_blank)]
PromptText = Annotated[str, AfterValidator(not_blank), AfterValidator(_within_bytes)]
ShortText = Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(storable)]
LinkText = Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(storable)]
SourceId = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.SOURCE_ID_CHARS), AfterValidator(storable)
]
LongText = Annotated[str, StringConstraints(max_length=limits.DESCRIPTION_CHARS), AfterValidator(storable)]
Tag = Annotated[str, StringConstraints(max_length=limits.TAG_CHARS), AfterValidator(not_blank)]
