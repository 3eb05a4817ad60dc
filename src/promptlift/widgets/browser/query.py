"""What a person filters and sorts by. It comes from outside, so every field is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from promptlift.schema.insights import SENTIMENTS
from promptlift.widgets.browser.catalogue import COMPLETIONS, Filters
from promptlift.widgets.browser.marks import search_words
from promptlift.widgets.tree_widget import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.widgets.browser.catalogue import Catalogue

__all__ = ["LABELLED", "Query"]

_TEXT_CHARS: Final = 500
LABELLED: Final = ("yes", "no", "differs")


@dataclass(frozen=True, slots=True)
class Query:
    """Filters, and the order of what they find."""

    filters: Filters = field(default_factory=Filters)
    labelled: str = ""
    order: int = 0

    @property
    def words(self) -> list[str]:
        """The words that are searched for."""
        return search_words(self.filters.text)

    @classmethod
    def parse(cls, given: Mapping[str, str], catalogue: Catalogue) -> Query:
        """Read the values of the fields by name; one that makes no sense is no filter."""
        sees = catalogue.has_judgements
        issue, order, labelled = (
            whole(given.get("issue")),
            whole(given.get("order")),
            given.get("labelled", ""),
        )
        chosen = {facet.key: whole(given.get(f"facet {facet.key}")) for facet in catalogue.facets}
        sizes = {facet.key: len(facet.values) for facet in catalogue.facets}
        filters = Filters(
            sentiment=_chosen(given.get("sentiment"), (*SENTIMENTS, "none")) if sees else frozenset(),
            completion=_chosen(given.get("completion"), COMPLETIONS) if sees else frozenset(),
            issue=issue if sees and issue is not None and issue < len(catalogue.issue_titles) else None,
            text=given.get("text", "")[:_TEXT_CHARS],
            facets=frozenset((key, at) for key, at in chosen.items() if at is not None and at < sizes[key]),
            since=_day(given.get("since", "")),
            until=_day(given.get("until", "")),
        )
        known = labelled in LABELLED and (labelled != "differs" or sees)
        return cls(
            filters, labelled if known else "", order if order and order < len(catalogue.orders) else 0
        )


def _chosen(given: str | None, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(one for one in names if one == given)


def _day(given: str) -> date | None:
    try:
        day = date.fromisoformat(given)
    except ValueError:
        return None
    # Times with nanoseconds end in 1677 and 2262; nobody logged conversations beyond.
    return day if 1700 <= day.year <= 2200 else None
