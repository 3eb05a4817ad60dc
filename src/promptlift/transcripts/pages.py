"""API answers with a page of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.transcripts.sources import Record

__all__ = ["page_of", "unpaged"]

_LISTS: Final = ("data", "runs", "traces", "examples", "feedback")
# Names next to the records of a page, in snake and camel case alike.
_PAGING: Final = frozenset(
    {
        *("meta", "object", "error", "hasmore", "firstid", "lastid", "page", "limit", "offset", "links"),
        *("cursor", "cursors", "nextcursor", "nextpagetoken", "total", "totalcount", "totalitems"),
        "count",
    }
)


def page_of(value: Any) -> list[Any] | None:
    """Return the records of a page, ``None`` if the value is not a page."""
    if not isinstance(value, dict):
        return None
    name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
    others = {str(other).replace("_", "").lower() for other in value if other != name}
    if name is None or not others <= _PAGING or not all(isinstance(one, dict) for one in value[name]):
        return None
    found: list[Any] = value[name]
    return found


def unpaged(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, those of pages one by one."""
    for record in records:
        page = page_of(record.value)
        if page is None:
            yield record
        else:
            for value in page:
                yield record._replace(value=value)
