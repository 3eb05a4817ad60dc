"""The conversations of a browser: searched, filtered and read by their place in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, names_of, require
from promptlift.analysis.sentiments import is_by_score
from promptlift.display.turn import Turn
from promptlift.errors import TranscriptError
from promptlift.frames import insights_errors
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.metadata import is_metadata_column, key_of_column
from promptlift.schema.model import from_wire_time
from promptlift.schema.transcript import messages_of
from promptlift.widgets.browser.facets import NOT_JUDGED, facets_in, orders_in, titles_in
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from promptlift.widgets.browser.search import Query

    Message = dict[str, Any]

__all__ = ["MESSAGE_CHARS", "PAGE_ROWS", "Catalogue", "Row", "turns_of"]

PAGE_ROWS: Final = 50
MESSAGE_CHARS: Final = 20_000
_TITLE_CHARS: Final = 90
_OF_CONVERSATIONS: Final = (
    *("status", "created_at", "started_at", "llm_model", "content", "prompt", "title"),
    *("n_turns", "tokens", "cost", "latency_ms"),
)
_OF_THE_JUDGE: Final = (
    *("has_insights", "insights_error", "analyser", "sentiment", "sentiment_score", "task_completed"),
    *("topics", "summary", "issues", "quality"),
)
_COMPLETED: Final = {True: "completed", False: "not completed"}


class Row(NamedTuple):
    """One row of the list; without verdicts where there are none or they are hidden."""

    title: str
    when: str = ""
    completed: str = ""
    sentiment: str = ""
    n_issues: int = 0
    prompt: str = ""


class Catalogue:
    """Conversations of a table by their place in it.

    Parameters
    ----------
    conversations
        Any table that narwhals accepts, with conversation_id.
    blind
        Whether to leave out what the judge says.

    Raises
    ------
    FrameError
        When the table has no conversation_id.
    """

    # Whether the ids of conversations may be shown.
    names_ids = True

    def __init__(self, conversations: Any, *, blind: bool = False) -> None:
        require(conversations, ["conversation_id"])
        known = _OF_CONVERSATIONS if blind else (*_OF_CONVERSATIONS, *_OF_THE_JUDGE)
        wanted = [one for one in names_of(conversations) if one in known or is_metadata_column(str(one))]
        self.frame = collect(conversations, ["conversation_id", *wanted]).reset_index(drop=True)
        self.blind = blind
        self.ids = [str(one) for one in self.frame["conversation_id"]]
        self.is_judged = bool({"sentiment", "task_completed", "issues"} & set(self.frame.columns))
        self.completions = self._verdicts("task_completed", _COMPLETED)
        # The labels of a word list say nothing; its scores sort the conversations.
        by_score = is_by_score(conversations)
        self.sentiments = None if by_score else self._verdicts("sentiment", {one: one for one in SENTIMENTS})
        self.times = _times(self.frame)
        self.facets = facets_in(self.frame, self.completions, self.sentiments)
        self.orders = orders_in(self.frame, self.times)
        self._several_prompts = any(facet.key == "prompt" for facet in self.facets)
        self._texts: pd.Series[str] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def _verdicts(self, column: str, words: dict[Any, str]) -> list[str] | None:
        if column not in self.frame:
            return None
        return [NOT_JUDGED if is_missing(one) else words.get(one, NOT_JUDGED) for one in self.frame[column]]

    @property
    def days(self) -> list[str]:
        """The first and the last day of the conversations; nothing where no time is known."""
        known = self.times.dropna()
        return [] if known.empty else [f"{day:%Y-%m-%d}" for day in (known.min(), known.max())]

    # Search.

    def find(self, query: Query, among: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Return the places of the conversations that match, in the order of the table; ``among`` all or only some."""
        keep = np.ones(len(self), dtype=bool) if among is None else among.copy()
        for facet in self.facets:
            if facet.key in query.chosen:
                keep &= np.isin(np.arange(len(self)), facet.places[query.chosen[facet.key]])
        if query.since:
            keep &= (self.times >= pd.Timestamp(query.since, tz="UTC")).to_numpy(dtype=bool, na_value=False)
        if query.until:
            end = pd.Timestamp(query.until, tz="UTC") + pd.Timedelta(days=1)
            keep &= (self.times < end).to_numpy(dtype=bool, na_value=False)
        for word in query.words:
            if self._texts is None:
                self._texts = pd.Series(self._searchable(), dtype="str")
            keep &= self._texts.str.contains(_storable(word), regex=False).to_numpy(dtype=bool)
        return np.flatnonzero(keep)

    def _searchable(self) -> list[str]:
        """Return everything that is shown of each conversation, case-folded; built at the first search."""
        parts = [[one] for one in self.ids]
        readers: dict[str, Callable[[Any], str]] = {
            "content": _words_of,
            "summary": _string,
            "issues": lambda value: "\n".join(titles_in(value)),
            "topics": lambda value: "\n".join(titles_in(value)),
        }
        for name, read in readers.items():
            for own, value in zip(parts, self.frame.get(name, ()), strict=False):
                own.append(read(value))
        return [_storable("\n".join(own).casefold()) for own in parts]

    # Content.

    def row(self, place: int) -> Row:
        """Return the row of one conversation."""
        values = self.frame.iloc[place]
        return Row(
            self._title(values) or one_line(self.ids[place], _TITLE_CHARS) or "(no text)",
            self._when(place),
            "" if self.completions is None else self.completions[place],
            "" if self.sentiments is None else self.sentiments[place].replace(NOT_JUDGED, ""),
            len(titles_in(values.get("issues"))),
            one_line(_string(values.get("prompt")), 60) if self._several_prompts else "",
        )

    def _title(self, values: pd.Series[Any]) -> str:
        """Return what the user said first, or else what is known of the conversation."""
        messages = _messages(values.get("content"))[0]
        first = next((one["content"][:2000] for one in messages if one["role"] == "user"), "")
        given = (first, values.get("title"), values.get("summary"))
        return next((words for one in given if (words := one_line(_string(one), _TITLE_CHARS))), "")

    def _when(self, place: int) -> str:
        time = self.times.iloc[place]
        return "" if is_missing(time) else f"{time:%Y-%m-%d %H:%M}"

    def facts(self, place: int) -> list[tuple[str, str]]:
        """Return the known facts about one conversation as names and values."""
        values = self.frame.iloc[place]

        def said(name: str, limit: int) -> str:
            return one_line(_string(values.get(name)), limit)

        def titles(name: str, limit: int, between: str) -> str:
            return between.join(one_line(one, limit) for one in titles_in(values.get(name))[:8])

        known = [
            ("Title", said("title", 200)),
            ("Started", self._when(place)),
            ("Status", said("status", 40).replace("_", " ")),
            ("Prompt", said("prompt", 120)),
            ("Model", said("llm_model", 60)),
            ("Tokens", _figure(values.get("tokens"), ",.0f")),
            ("Cost", _figure(values.get("cost"), ",.4g")),
            ("Summary", said("summary", 600)),
            ("Score", _figure(values.get("sentiment_score"), "+.2f").replace("-", "−")),
            ("Issues", titles("issues", 120, "; ")),
            ("Topics", titles("topics", 60, ", ")),
            ("Judged by", said("analyser", 60)),
            ("No insights", said("insights_error", 300)),
            *(
                (one_line(key_of_column(name), 40), one_line(_string(values[name]), 200))
                for name in map(str, self.frame.columns)
                if is_metadata_column(name)
            ),
            ("Id", one_line(self.ids[place], 80)),
        ]
        return [(name, value) for name, value in known if value]

    def turns(self, place: int, limit: int = MESSAGE_CHARS) -> tuple[list[Turn], str]:
        """Return the messages of one conversation, each cut to a number of characters, or why there are none."""
        if "content" not in self.frame:
            return [], "No transcript: read the table with lift.conversations(insights=True, content=True)."
        return turns_of(self.frame["content"].iloc[place], limit)

    def unjudged(self) -> tuple[int, str]:
        """Return how many conversations lack insights for a known reason, and the most frequent reason."""
        errors = insights_errors(self.frame)
        return sum(errors.values()), one_line(next(iter(errors), ""), 300)


def turns_of(
    content: Any, limit: int, *, shown: Callable[[Message], Message | None] = dict
) -> tuple[list[Turn], str]:
    """Return the messages of a transcript, or why there are none.

    Parameters
    ----------
    content
        The transcript; anything, because it comes from outside.
    limit
        Number of characters after which a message is cut.
    shown
        Returns what may be shown of a message; None leaves it out.
    """
    messages, problem = _messages(content)
    return [_turn(one, limit) for one in map(shown, messages) if one is not None], problem


def _messages(content: Any) -> tuple[list[Message], str]:
    if not isinstance(content, str) or not content.strip():
        return [], "This conversation has no transcript."
    try:
        return messages_of(content), ""
    except TranscriptError as error:
        return [], f"The transcript cannot be read: {one_line(error, 300)}"


def _turn(message: Message, limit: int) -> Turn:
    tokens: Any = message.get("tokens")
    # A comparison with NaN is false.
    counts = isinstance(tokens, int | float) and not isinstance(tokens, bool) and abs(tokens) < 2**53
    length = f"{int(tokens):,} tokens" if counts else ""
    about = (_time_of(message.get("timestamp")), length, one_line(_string(message.get("model")), 60))
    role, detail = one_line(message["role"], 30), " · ".join(filter(None, about))
    return Turn.said(role, message["content"], limit, how=message.get("toolResult"), detail=detail)


def _time_of(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    try:
        return f"{from_wire_time(value):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return one_line(value, 30)


def _storable(text: str) -> str:
    """Replace lone surrogates, which Arrow cannot store."""
    return text.encode("utf-8", "replace").decode()


def _string(value: Any) -> str:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    return "" if is_missing(plain) else str(plain)


def _figure(value: Any, form: str) -> str:
    return "" if is_missing(value) or isinstance(value, bool | str) else format(float(value), form)


def _words_of(content: Any) -> str:
    if not isinstance(content, str):
        return ""
    try:
        return "\n".join(message["content"] for message in messages_of(content))
    except TranscriptError:
        return content


def _times(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return when each conversation started, or was logged, in UTC."""
    times = pd.Series(pd.NaT, index=frame.index, dtype="datetime64[us, UTC]")
    for name in ("started_at", "created_at"):
        if name in frame:
            found = pd.to_datetime(frame[name], utc=True, errors="coerce").astype("datetime64[us, UTC]")
            times = times.fillna(found)
    return times
