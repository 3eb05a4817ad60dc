"""Metadata of a conversation: a flat object of short values, which become columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from promptlift.schema import limits
from promptlift.schema.model import storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MetadataValue = str | bool | int | float | None

# Prefix of metadata columns.
METADATA_PREFIX: Final = "metadata."
# Prefix of the keys of scores, rewards, feedback and flags; their columns have the same names.
SCORE_PREFIX: Final = "score."

# Keys in the metadata of structured content that have their own columns.
SOURCE_FIELD: Final = "sourceId"
_JOINED_BY: Final = ", "
_CUT: Final = "…"


def _checked_value(value: Any) -> MetadataValue:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = _JOINED_BY.join(value)
    if isinstance(value, str):
        if len(value) > limits.METADATA_TEXT_CHARS:
            raise ValueError(f"must have at most {limits.METADATA_TEXT_CHARS} characters")
        return storable(value)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("must be a string, a number, a boolean, null or a list of strings")


def _check_keys(metadata: dict[str, Any]) -> dict[str, Any]:
    for key in metadata:
        if not 1 <= len(key) <= limits.METADATA_KEY_CHARS:
            raise ValueError(f"a key must have 1 to {limits.METADATA_KEY_CHARS} characters")
        storable(key)
    return metadata


_VALUE_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string", "maxLength": limits.METADATA_TEXT_CHARS},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "array", "items": {"type": "string"}},
    ]
}
Metadata = Annotated[
    dict[str, Annotated[Any, AfterValidator(_checked_value), WithJsonSchema(_VALUE_SCHEMA)]],
    Field(max_length=limits.METADATA_KEYS),
    AfterValidator(_check_keys),
]


def column_of_key(key: str) -> str:
    """Return the column of a key of the metadata: ``metadata.channel``, but ``score.reward``."""
    return key if key.startswith(SCORE_PREFIX) else f"{METADATA_PREFIX}{key}"


def key_of_column(column: str) -> str:
    """Return the key of a column of metadata."""
    return column.removeprefix(METADATA_PREFIX)


def is_metadata_column(column: str) -> bool:
    """Return whether a column of a table is a metadata column."""
    return column.startswith((METADATA_PREFIX, SCORE_PREFIX))


def flat_metadata(found: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return metadata of any shape in the form accepted by the API.

    Objects inside are flattened (``{"user": {"plan": "pro"}}`` becomes ``user.plan``), lists of plain values
    are joined with ", ", and texts over the limit are cut. Values without a short form (lists of objects,
    overlong keys, null, keys beyond the limit) are left out, and so is ``sourceId``, which has its own field.
    Outcomes of a conversation (a reward, score, feedback or flag, however nested) are named ``score.NAME``,
    and their texts become truth values or numbers if possible.

    >>> flat_metadata({"tags": ["a", "b"], "user": {"plan": "pro"}, "rows": [{}]})
    {'tags': 'a, b', 'user.plan': 'pro'}
    >>> flat_metadata({"reward": 1.0, "scores": {"polite": {"value": "True"}}})
    {'score.reward': 1.0, 'score.polite': True}
    """
    flat: dict[str, MetadataValue] = {}
    for path, value in _leaves(found, ""):
        key, short = path, _short(value)
        if (name := _score_name(path)) is not None:
            key, short = f"{SCORE_PREFIX}{name}", _typed(short)
        if short is not None and 1 <= len(key) <= limits.METADATA_KEY_CHARS and key != SOURCE_FIELD:
            flat[_clean(key)] = short
            if len(flat) == limits.METADATA_KEYS:
                break
    return flat


# Objects that contain scores, keys that are scores, and the keys of a score's value.
_HOLD_SCORES: Final = frozenset(
    {"score", "scores", "assessment", "assessments", "feedback_scores", "evaluation", "evaluations"}
)
_SCORES: Final = frozenset(
    {
        "reward",
        "score",
        "feedback",
        "feedback_rating",
        "rating",
        "satisfaction",
        "resolved",
        "solved",
        "success",
    }
)
_VALUES: Final = frozenset({"value", "score", "label"})


def scores_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that say how the conversation ended, for its metadata."""
    return {name: value for name, value in record.items() if name in _SCORES | _HOLD_SCORES}


def _score_name(key: str) -> str | None:
    """Return the name of a score by its metadata key; ``None`` if it is not a score."""
    if key in _SCORES:
        return key.removesuffix("_rating")
    first, _, rest = key.partition(".")
    if first not in _HOLD_SCORES or not rest:
        return None
    name, _, last = rest.rpartition(".")
    return name if name and last in _VALUES else rest


def _typed(value: MetadataValue) -> MetadataValue:
    """Return a score as a truth value or a number, if its text represents one."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    try:
        number = float(text)
    except ValueError:
        return value
    return (int(number) if text.lstrip("+-").isdecimal() else number) if math.isfinite(number) else value


def _leaves(found: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in found.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _short(value: Any) -> MetadataValue:
    if isinstance(value, list | tuple) and value and not any(isinstance(one, dict | list) for one in value):
        value = _JOINED_BY.join(str(one) for one in value if one is not None)
    if isinstance(value, str):
        text = _clean(value)
        most = limits.METADATA_TEXT_CHARS
        return text if len(text) <= most else text[: most - len(_CUT)] + _CUT
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else None


def _clean(text: str) -> str:
    """Remove characters that databases cannot store."""
    text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
