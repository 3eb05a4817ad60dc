"""The conversations of a browser: searched, filtered and read by their place in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, names_of, require
from promptlift.analysis.sentiments import is_by_score
from promptlift.display.turn import Turn
from promptlift.errors import TranscriptError
from promptlift.frames import insights_errors
from promptlift.frames.conversations.contents import messages_of
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.metadata import is_metadata_column, key_of_column
from promptlift.schema.model import from_wire_time
from promptlift.widgets.browser.facets import between, facets_in, orders_in, titles_in
from promptlift.widgets.browser.marks import search_words
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from numpy.typing import NDArray

__all__ = ["COMPLETIONS", "PAGE_ROWS", "Catalogue", "Filters", "Row"]

PAGE_ROWS: Final = 50
COMPLETIONS: Final = ("yes", "no", "unknown")
NOT_JUDGED: Final = "none"
_MESSAGE_CHARS: Final = 20_000
_TITLE_CHARS: Final = 90
_ISSUES_OFFERED: Final = 100
_KNOWN: Final = (
    "status", "has_insights", "insights_error", "created_at", "started_at", "llm_model", "content", "sentiment", "sentiment_score", "task_completed",
    "topics", "summary", "issues", "analyser", "prompt", "title", "n_turns", "tokens", "cost", "latency_ms", "quality",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of a search; a conversation must match all of them.

    ``sentiment`` and ``completion`` are sets of accepted values, ``issue`` is the index of a title in
    `Catalogue.issue_titles`, ``text`` are words that must all occur (quoted words as a phrase). ``facets`` are indices of
    values by the key of a facet in `Catalogue.facets`; ``since`` and ``until`` are days in UTC, both included.
    """

    sentiment: frozenset[str] = frozenset()
    completion: frozenset[str] = frozenset()
    issue: int | None = None
    text: str = ""
    facets: frozenset[tuple[str, int]] = frozenset()
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the list."""

    place: int
    title: str
    when: str
    sentiment: str | None
    completed: str
    issue_count: int
    prompt: str = ""


class Catalogue:
    """Conversations of a table by their place in it.

    Parameters
    ----------
    conversations
        Any table that narwhals accepts, with conversation_id.
    blind
        Whether to hide the judge's verdicts; the text search then covers the transcripts only.

    Raises
    ------
    FrameError
        When the table has no conversation_id.
    """

    # Whether the ids of conversations may be shown.
    names_ids = True

    def __init__(self, conversations: Any, *, blind: bool = False) -> None:
        require(conversations, ["conversation_id"])
        present = names_of(conversations)
        metadata = [name for name in present if is_metadata_column(str(name))]
        known = [name for name in _KNOWN if name in present]
        frame = collect(conversations, ["conversation_id", *known, *metadata])
        self.frame = frame.reset_index(drop=True)
        self.blind = blind
        self.ids = [str(one) for one in self.frame["conversation_id"]]
        self.has_content = "content" in self.frame
        self.has_judgements = not blind and bool(
            {"sentiment", "task_completed", "issues"} & set(self.frame.columns)
        )
        # The labels of a word list say nothing; its scores sort the conversations.
        self.sentiments = self._sentiments(labelled=not is_by_score(conversations))
        self.completions = self._completions()
        self.issue_titles, self.issue_counts, self._issues_of = self._issues()
        self.times = _times(self.frame)
        self.facets = facets_in(self.frame, blind=blind)
        self.orders = orders_in(self.frame, self.times, blind=blind)
        self._several_prompts = any(facet.key == "prompt" for facet in self.facets)
        self._texts: pd.Series[str] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    # Search.

    def find(self, filters: Filters, among: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Return the places of the matching conversations, in the order of the table.

        Parameters
        ----------
        filters
            The filters.
        among
            Which conversations to search; None is all.
        """
        keep = np.ones(len(self), dtype=bool) if among is None else among.copy()
        if filters.sentiment:
            keep &= np.isin(self.sentiments, sorted(filters.sentiment))
        if filters.completion:
            keep &= np.isin(self.completions, sorted(filters.completion))
        if filters.issue is not None:
            keep &= np.isin(np.arange(len(self)), self._issues_of[filters.issue])
        for key, index in filters.facets:
            facet = next(one for one in self.facets if one.key == key)
            keep &= np.isin(np.arange(len(self)), facet.places[index])
        if filters.since or filters.until:
            keep &= between(self.times, filters.since, filters.until)
        for word in search_words(filters.text):
            keep &= self._contains(word)
        return np.flatnonzero(keep)

    def _contains(self, words: str) -> NDArray[np.bool_]:
        if self._texts is None:
            self._texts = pd.Series(self._searchable(), dtype="str")
        return self._texts.str.contains(_storable(words), regex=False).to_numpy(dtype=bool)

    def _searchable(self) -> list[str]:
        """Return everything that is shown of each conversation, case-folded; built at the first search."""
        parts = [[one] for one in self.ids]
        if self.has_content:
            for own, content in zip(parts, self.frame["content"], strict=True):
                own.append(_words_of(content))
        if not self.blind:
            for name in ("summary", "issues", "topics"):
                for own, value in zip(parts, self.frame.get(name, ()), strict=False):
                    own.append("\n".join(titles_in(value)) if name != "summary" else _string(value))
        return [_storable("\n".join(own).casefold()) for own in parts]

    # Content.

    def row(self, place: int) -> Row:
        """Return the row of one conversation."""
        values = self.frame.iloc[place]
        title = self._title(values) or one_line(self.ids[place], _TITLE_CHARS) or "(no text)"
        return Row(
            place=place,
            title=title,
            prompt=one_line(_string(values.get("prompt")), 60) if self._several_prompts else "",
            when=_started_at(values),
            sentiment=None
            if self.blind or self.sentiments[place] == NOT_JUDGED
            else str(self.sentiments[place]),
            completed="" if self.blind else str(self.completions[place]),
            issue_count=0 if self.blind else len(titles_in(values.get("issues"))),
        )

    def _title(self, values: pd.Series[Any]) -> str:
        given = one_line(_string(values.get("title")), _TITLE_CHARS)
        if given:
            return given
        for message in self._messages(values.get("content"))[0]:
            if message["role"] == "user":
                return one_line(message["content"][:2000], _TITLE_CHARS)
        return "" if self.blind else one_line(_string(values.get("summary")), _TITLE_CHARS)

    def facts(self, place: int) -> list[tuple[str, str]]:
        """Return the known facts about one conversation as names and values."""
        values = self.frame.iloc[place]
        known = [
            ("Id", one_line(self.ids[place], 80)),
            ("Started", _started_at(values)),
            ("Status", one_line(_string(values.get("status")), 40).replace("_", " ")),
            ("Prompt", one_line(_string(values.get("prompt")), 120)),
            ("Model", one_line(_string(values.get("llm_model")), 60)),
            ("Tokens", _figure(values.get("tokens"), ",.0f")),
            ("Cost", _figure(values.get("cost"), ",.4g")),
        ]
        if not self.blind:
            score: Any = values.get("sentiment_score")
            known += [
                ("Summary", one_line(_string(values.get("summary")), 600)),
                ("Score", "" if is_missing(score) else f"{float(score):+.2f}".replace("-", "−")),
                ("Issues", "; ".join(one_line(one, 120) for one in titles_in(values.get("issues"))[:8])),
                ("Topics", ", ".join(one_line(one, 60) for one in titles_in(values.get("topics"))[:8])),
                ("Judged by", one_line(_string(values.get("analyser")), 60)),
                ("No insights", one_line(_string(values.get("insights_error")), 300)),
            ]
        known += [
            (one_line(key_of_column(str(name)), 40), one_line(_metadata(values[name]), 200))
            for name in self.frame.columns
            if is_metadata_column(str(name))
        ]
        return [(name, value) for name, value in known if value]

    def turns(self, place: int) -> tuple[list[Turn], str]:
        """Return the messages of one conversation, or why there are none."""
        if not self.has_content:
            return [], "No transcript: read the table with lift.conversations(insights=True, content=True)."
        messages, problem = self._messages(self.frame["content"].iloc[place])
        return [self._turn(message) for message in messages], problem

    @staticmethod
    def _turn(message: dict[str, Any]) -> Turn:
        return _turn(message)

    @staticmethod
    def _messages(content: Any) -> tuple[list[dict[str, Any]], str]:
        if not isinstance(content, str) or not content.strip():
            return [], "This conversation has no transcript."
        try:
            return messages_of(content), ""
        except TranscriptError as error:
            return [], f"The transcript cannot be read: {one_line(error, 300)}"

    def unjudged(self) -> tuple[int, str]:
        """Return how many conversations lack insights for a known reason, and the most frequent reason."""
        errors = insights_errors(self.frame)
        return sum(errors.values()), one_line(next(iter(errors), ""), 300)

    # Choices.

    def _sentiments(self, *, labelled: bool) -> NDArray[np.object_]:
        if "sentiment" not in self.frame or not labelled:
            return np.full(len(self), NOT_JUDGED, dtype=object)
        given = self.frame["sentiment"].astype("object")
        return given.where(given.isin(SENTIMENTS), NOT_JUDGED).to_numpy(dtype=object)

    def _completions(self) -> NDArray[np.object_]:
        if "task_completed" not in self.frame:
            return np.full(len(self), "unknown", dtype=object)
        given = self.frame["task_completed"].astype("object")
        known = {True: "yes", False: "no"}
        return np.array(
            [known.get(one, "unknown") if not is_missing(one) else "unknown" for one in given], dtype=object
        )

    def _issues(self) -> tuple[list[str], list[int], list[NDArray[np.intp]]]:
        places: dict[str, list[int]] = {}
        for place, value in enumerate(self.frame.get("issues", ())):
            for title in set(titles_in(value)):
                places.setdefault(title, []).append(place)
        kept = sorted(places, key=lambda title: (-len(places[title]), title))[:_ISSUES_OFFERED]
        return (
            kept,
            [len(places[one]) for one in kept],
            [np.array(places[one], dtype=np.intp) for one in kept],
        )

    def choices(self) -> dict[str, Any]:
        """Return the choices of each filter by verdict, with counts over the whole table."""
        if not self.has_judgements:
            return {"sentiment": [], "completion": [], "issues": []}
        return {
            "sentiment": _counted(self.sentiments, (*SENTIMENTS[::-1], NOT_JUDGED)),
            "completion": _counted(self.completions, COMPLETIONS),
            "issues": [
                [one_line(title, 120) or "(no title)", count]
                for title, count in zip(self.issue_titles, self.issue_counts, strict=True)
            ],
        }

    def other_choices(self) -> dict[str, Any]:
        """Return the choices of the other filters, with counts over the whole table, and the ways to sort."""
        return {
            "facets": [[facet.key, facet.label, facet.choices()] for facet in self.facets],
            "orders": [order.words for order in self.orders],
            "dates": self._days(),
        }

    def _days(self) -> list[str]:
        """Return the first and the last day of the conversations; nothing where no time is known."""
        known = self.times.dropna()
        return [] if known.empty else [day.strftime("%Y-%m-%d") for day in (known.min(), known.max())]


def _counted(values: NDArray[np.object_], names: Sequence[str]) -> list[list[Any]]:
    found = {name: int(np.count_nonzero(values == name)) for name in names}
    return [[name, count] for name, count in found.items() if count]


def _storable(text: str) -> str:
    """Replace lone surrogates, which Arrow cannot store."""
    return text.encode("utf-8", "replace").decode()


def _string(value: Any) -> str:
    return "" if is_missing(value) else str(value)


def _figure(value: Any, form: str) -> str:
    if is_missing(value) or isinstance(value, bool | str):
        return ""
    return format(float(value), form)


def _metadata(value: Any) -> str:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(plain, list | dict):
        return str(plain)
    return "" if is_missing(plain) else str(plain)


def _words_of(content: Any) -> str:
    if not isinstance(content, str) or not content.strip():
        return ""
    try:
        return "\n".join(message["content"] for message in messages_of(content))
    except TranscriptError:
        return content


def _times(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return when each conversation started, or was logged, in UTC."""
    known = [
        pd.to_datetime(frame[name], utc=True, errors="coerce").astype("datetime64[us, UTC]")
        for name in ("started_at", "created_at")
        if name in frame
    ]
    if not known:
        return pd.Series(pd.NaT, index=frame.index, dtype="datetime64[us, UTC]")
    return known[0] if len(known) == 1 else known[0].fillna(known[1])


def _started_at(values: pd.Series[Any]) -> str:
    for name in ("started_at", "created_at"):
        value: Any = values.get(name)
        if not is_missing(value):
            try:
                return _utc(pd.Timestamp(value))
            except (TypeError, ValueError):
                return one_line(value, 30)
    return ""


def _utc(time: pd.Timestamp) -> str:
    aware = time.tz_localize("UTC") if time.tzinfo is None else time.tz_convert("UTC")
    return aware.strftime("%Y-%m-%d %H:%M")


def _turn(message: dict[str, Any]) -> Turn:
    tokens: Any = message.get("tokens")
    # A comparison with NaN is false.
    counts = isinstance(tokens, int | float) and not isinstance(tokens, bool) and abs(tokens) < 2**53
    length = f"{int(tokens):,} tokens" if counts else ""
    about = (_time_of(message.get("timestamp")), length, one_line(_string(message.get("model")), 60))
    role, detail = one_line(message["role"], 30), " · ".join(filter(None, about))
    how = message.get("toolResult")
    return Turn.said(role, message["content"], _MESSAGE_CHARS, how=how, detail=detail)


def _time_of(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    try:
        return str(from_wire_time(value).strftime("%Y-%m-%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return one_line(value, 30)
