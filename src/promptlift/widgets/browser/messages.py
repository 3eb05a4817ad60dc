"""What the front end of a browser asks for. It comes from outside, so every field is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.insights import SENTIMENTS
from promptlift.widgets.browser.catalogue import COMPLETIONS, Filters
from promptlift.widgets.browser.marks import search_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.widgets.browser.catalogue import Catalogue

__all__ = ["LabelCommand", "Query"]

_TEXT_CHARS: Final = 500
_NOTE_CHARS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Query:
    """A request of the front end for what to show. It comes from outside, so every field is checked."""

    number: int = 0
    filters: Filters = field(default_factory=Filters)
    labelled: str = ""
    move: str = "first"
    place: int = 0
    page: int = 0
    order: int = 0

    @property
    def words(self) -> list[str]:
        """The words that are searched for."""
        return search_words(self.filters.text)

    def searches_again(self, before: Query) -> bool:
        """Return whether the results may differ from those before.

        A conversation stays in the list after it was labelled, until the next search.
        """
        again = self.move == "first" and bool(self.labelled)
        asked = (self.filters, self.labelled, self.order)
        return again or asked != (before.filters, before.labelled, before.order)

    @classmethod
    def parse(cls, message: Any, catalogue: Catalogue) -> Query | None:
        """Read a query from a message of the front end; None when the message is not a query."""
        if not isinstance(message, dict):
            return None
        issue = message.get("issue")
        known = isinstance(issue, int) and 0 <= issue < len(catalogue.issue_titles)
        sees = catalogue.has_judgements
        filters = Filters(
            sentiment=_chosen(message.get("sentiment"), (*SENTIMENTS, "none")) if sees else frozenset(),
            completion=_chosen(message.get("completion"), COMPLETIONS) if sees else frozenset(),
            issue=issue if sees and known else None,
            text=str(message.get("text") or "")[:_TEXT_CHARS],
            facets=_chosen_facets(message.get("facets"), catalogue),
            since=_day(message.get("since")),
            until=_day(message.get("until")),
        )
        order = _whole(message.get("order"))
        labelled = str(message.get("labelled") or "")
        return cls(
            number=_whole(message.get("number")),
            filters=filters,
            labelled="" if labelled == "differs" and not sees else labelled,
            move=str(message.get("move") or "first"),
            place=_whole(message.get("place")),
            page=_whole(message.get("page")),
            order=order if 0 <= order < len(catalogue.orders) else 0,
        )


@dataclass(frozen=True, slots=True)
class LabelCommand:
    """One label from a person. Each front end numbers its commands, so that none runs twice."""

    client: str
    number: int
    place: int
    field: Any
    value: Any

    @classmethod
    def parse(cls, message: Any, rows: int, sets: Mapping[str, Sequence[str]]) -> LabelCommand | None:
        """Read a command from a message of the front end; None when the message is not a command.

        ``sets`` are the values of the label sets that people brought, by name.
        """
        if not isinstance(message, dict):
            return None
        field, value = message.get("field"), message.get("value")
        allowed: dict[Any, tuple[Any, ...]] = {
            "task_completed": (True, False, None),
            "sentiment": (*SENTIMENTS, None),
            "both": (None,),
            "learn": (None,),
            **{name: (*values, None) for name, values in sets.items()},
        }
        valid = isinstance(field, str) and any(
            value is one or (isinstance(one, str) and value == one) for one in allowed.get(field, ())
        )
        if field == "note" and isinstance(value, str):
            valid, value = True, value[:_NOTE_CHARS]
        place, number = _whole(message.get("place"), -1), _whole(message.get("number"))
        if not valid or not 0 <= place < rows or number < 1:
            return None
        return cls(str(message.get("client"))[:40], number, place, field, value)


def _chosen(given: Any, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(one for one in given if one in names) if isinstance(given, list) else frozenset()


def _chosen_facets(given: Any, catalogue: Catalogue) -> frozenset[tuple[str, int]]:
    sizes = {facet.key: len(facet.values) for facet in catalogue.facets}
    chosen = given.items() if isinstance(given, dict) else ()
    return frozenset(
        (key, index)
        for key, index in chosen
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < sizes.get(key, 0)
    )


def _day(given: Any) -> date | None:
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return None
    # Times with nanoseconds end in 1677 and 2262; nobody logged conversations beyond.
    return day if day is not None and 1700 <= day.year <= 2200 else None


def _whole(given: Any, otherwise: int = 0) -> int:
    return int(given) if isinstance(given, int) and not isinstance(given, bool) else otherwise
