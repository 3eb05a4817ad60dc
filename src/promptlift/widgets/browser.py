"""``ConversationBrowser``: find conversations, read them, and say what you think of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import traitlets

from promptlift.errors import ConfigError
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.widgets import browser_twin
from promptlift.widgets.catalogue import COMPLETIONS, PAGE_ROWS, Catalogue, Filters
from promptlift.widgets.labels import Labels, write_labels
from promptlift.widgets.twin import TwinWidget, front

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    from markupsafe import Markup
    from numpy.typing import NDArray

__all__ = ["ConversationBrowser"]

_TEXT_CHARS: Final = 500
_LABELLED: Final = ("yes", "no", "differs")


class ConversationBrowser(TwinWidget):
    """Browse conversations in a notebook, and label them with keys.

    Only what is looked at goes to the browser: fifty lines of the list and one transcript at a time. The widget changes
    nothing but the labels, and these only when somebody clicks or types.

    Keys: ↑ ↓ (or k j) move, Page Up and Page Down turn the page, / looks for text, y and n say whether the task was
    completed, 1 2 3 say negative, neutral, positive, Backspace takes the labels back, Enter goes to the next
    conversation without a label, ? shows the keys.

    Parameters
    ----------
    conversations
        Table with conversation_id, as ``lift.conversations(insights=True, content=True)`` gives it. Transcripts need
        the column content; filters need the columns of the insights.
    labels
        Labels to start with: a table that `labels` gave before, or a path (``.csv`` or ``.parquet``). With a path every
        label is written at once, so labels outlive the cell, the kernel and the day.
    blind
        Hide everything that the judge said. People who see a verdict tend to agree with it, so label blind what you
        hand to `promptlift.analysis.judge_agreement`. For an agreement that holds for all conversations, label a random
        sample: ``ConversationBrowser(df.sample(200, random_state=1), blind=True)``.

    Raises
    ------
    FrameError
        When the table has no conversation_id, or the labels lack a column.
    ConfigError
        When labels cannot be read.

    Examples
    --------
    >>> browser = ConversationBrowser(df, labels="labels.csv")  # doctest: +SKIP
    >>> browser  # doctest: +SKIP
    >>> analysis.judge_agreement(browser.labels, df)  # doctest: +SKIP
    """

    _esm = front("browser", "js")
    _css = front("browser", "css")

    # From Python to the front end.
    _about = traitlets.Dict().tag(sync=True)
    _view = traitlets.Dict().tag(sync=True)
    _opened = traitlets.Dict().tag(sync=True)
    _marks = traitlets.Dict().tag(sync=True)
    _answered = traitlets.Dict().tag(sync=True)
    # From the front end to Python: the latest question counts, but every wish does.
    _query = traitlets.Dict().tag(sync=True)
    _wishes: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(self, conversations: Any, *, labels: Any = None, blind: bool = False) -> None:
        self._catalogue = Catalogue(conversations, blind=blind)
        self._labels = Labels(labels)
        self._analyser = _analyser_of(conversations)
        self._places = self._catalogue.find(Filters())
        self._asked: Question | None = None
        self._notice = ""
        super().__init__(_about=self._describe(), **self._answer(Question()), _marks=self._marks_now())
        self.observe(self._on_query, "_query")
        self.observe(self._on_wishes, "_wishes")

    @property
    def labels(self) -> pd.DataFrame:
        """Labels given so far: conversation_id, task_completed, sentiment, labelled_at; one row a conversation."""
        return self._labels.table()

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the labels to a ``.csv`` or ``.parquet`` file.

        Parameters
        ----------
        path
            Where to; a file that is there is replaced.

        Raises
        ------
        ConfigError
            When the file cannot be written.
        """
        return write_labels(self.labels, path)

    # Questions of the front end.

    def _on_query(self, change: Mapping[str, Any]) -> None:
        question = Question.read(change["new"], self._catalogue)
        if question is None:
            return
        with self.hold_sync():
            for name, value in self._answer(question).items():
                setattr(self, name, value)
            self._marks = self._marks_now()

    def _answer(self, question: Question) -> dict[str, Any]:
        if self._asked is None or question.looks_again(self._asked):
            self._places = self._catalogue.find(question.filters, self._among(question.labelled))
        self._asked = question
        place = self._cursor(question)
        page = 0 if place is None else self._rank(place) // PAGE_ROWS
        shown = self._places[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
        self._shown = [int(one) for one in shown] + ([place] if place is not None else [])
        view = {
            "found": len(self._places),
            "page": page,
            "pages": -(-len(self._places) // PAGE_ROWS),
            "first": page * PAGE_ROWS,
            "rows": [asdict(self._catalogue.row(int(one))) for one in shown],
        }
        return {"_view": view, "_opened": {"number": question.number, **self._transcript(place)}}

    def _cursor(self, question: Question) -> int | None:
        """Give the place of the conversation to show, None when nothing was found."""
        if not len(self._places):
            return None
        here = question.place
        if question.move == "to" and here in self._places:
            return here
        rank = self._rank(here)
        last = len(self._places) - 1
        moves = {"last": last, "page": question.page * PAGE_ROWS, "by": rank + question.page}
        if question.move == "unlabelled":
            order = np.concatenate([self._places[rank + 1 :], self._places[: rank + 1]])
            return next((int(one) for one in order if self._labels.get(self._catalogue.ids[one]).empty), here)
        return int(self._places[min(max(0, moves.get(question.move, 0)), last)])

    def _rank(self, place: int) -> int:
        """Give the rank of a place among those found; of the next one after it when it is not among them."""
        return min(int(np.searchsorted(self._places, place)), max(0, len(self._places) - 1))

    def _among(self, labelled: str) -> NDArray[np.bool_] | None:
        if labelled not in _LABELLED:
            return None
        said = [self._labels.get(one) for one in self._catalogue.ids]
        if labelled == "differs":
            return np.array([self._differs(place, label) for place, label in enumerate(said)], dtype=bool)
        return np.array([label.empty == (labelled == "no") for label in said], dtype=bool)

    def _differs(self, place: int, label: Any) -> bool:
        judged, felt = self._catalogue.completions[place], self._catalogue.sentiments[place]
        said = {True: "yes", False: "no", None: None}[label.task_completed]
        return (said is not None and judged in {"yes", "no"} and said != judged) or (
            label.sentiment is not None and felt in SENTIMENTS and label.sentiment != felt
        )

    def _transcript(self, place: int | None) -> dict[str, Any]:
        if place is None:
            return {"place": None, "facts": [], "turns": [], "problem": ""}
        turns, problem = self._catalogue.turns(place)
        return {
            "place": place,
            "facts": self._catalogue.facts(place),
            "turns": [asdict(turn) for turn in turns],
            "problem": problem,
        }

    # Wishes of a person.

    def _on_wishes(self, change: Mapping[str, Any]) -> None:
        answered = dict(self._answered)
        problems = []
        for wish in change["new"] if isinstance(change["new"], list) else []:
            read = Wish.read(wish, len(self._catalogue))
            if read is None or read.number <= answered.get(read.client, 0):
                continue
            answered[read.client] = read.number
            try:
                self._labels.say(self._catalogue.ids[read.place], read.field, read.value)
            except ConfigError as error:
                problems.append(f"{error} The label is kept in browser.labels.")
        if answered == self._answered:
            return
        self._notice = one_line(problems[-1], 400) if problems else ""
        with self.hold_sync():
            self._marks = self._marks_now()
            self._answered = answered

    def _marks_now(self) -> dict[str, Any]:
        """What people said about the conversations that are shown, and how far they are."""
        said = {}
        for place in self._shown:
            label = self._labels.get(self._catalogue.ids[place])
            if not label.empty:
                said[str(place)] = [label.task_completed, label.sentiment]
        return {"said": said, "labelled": len(self._labels), "notice": self._notice}

    # What is said once.

    def _describe(self) -> dict[str, Any]:
        kept = self._labels.path
        return {
            "rows": len(self._catalogue),
            "page_rows": PAGE_ROWS,
            "blind": self._catalogue.blind,
            "judged": self._catalogue.has_judgements,
            "choices": self._catalogue.choices(),
            "kept": "" if kept is None else one_line(kept.name, 60),
            "note": browser_twin.note_of(self._analyser, self._catalogue),
        }

    def _static(self) -> Markup:
        return browser_twin.draw(
            self._catalogue, self._labels, self._places, self._opened.get("place"), self._analyser
        )

    def _plain(self) -> str:
        return f"ConversationBrowser({len(self._catalogue):,} conversations, {len(self._labels):,} labelled)"


@dataclass(frozen=True, slots=True)
class Question:
    """What the front end asks to see. Everything in it is checked: it comes from outside."""

    number: int = 0
    filters: Filters = field(default_factory=Filters)
    labelled: str = ""
    move: str = "first"
    place: int = 0
    page: int = 0

    def looks_again(self, before: Question) -> bool:
        """Tell whether other conversations may be found than before.

        A conversation that was labelled stays in the list until the next search.
        """
        again = self.move == "first" and bool(self.labelled)
        return again or (self.filters, self.labelled) != (before.filters, before.labelled)

    @classmethod
    def read(cls, given: Any, catalogue: Catalogue) -> Question | None:
        """Read a question; None when it is none."""
        if not isinstance(given, dict):
            return None
        issue = given.get("issue")
        known = isinstance(issue, int) and 0 <= issue < len(catalogue.issue_titles)
        sees = catalogue.has_judgements
        filters = Filters(
            sentiment=_chosen(given.get("sentiment"), (*SENTIMENTS, "none")) if sees else frozenset(),
            completion=_chosen(given.get("completion"), COMPLETIONS) if sees else frozenset(),
            issue=issue if sees and known else None,
            text=str(given.get("text") or "")[:_TEXT_CHARS],
        )
        labelled = str(given.get("labelled") or "")
        return cls(
            number=_whole(given.get("number")),
            filters=filters,
            labelled="" if labelled == "differs" and not sees else labelled,
            move=str(given.get("move") or "first"),
            place=_whole(given.get("place")),
            page=_whole(given.get("page")),
        )


@dataclass(frozen=True, slots=True)
class Wish:
    """One label that a person gave. Wishes are numbered by front end, so that none is carried out twice."""

    client: str
    number: int
    place: int
    field: Any
    value: Any

    @classmethod
    def read(cls, given: Any, rows: int) -> Wish | None:
        """Read a wish; None when it is none."""
        if not isinstance(given, dict):
            return None
        field, value = given.get("field"), given.get("value")
        allowed: dict[Any, tuple[Any, ...]] = {
            "task_completed": (True, False, None),
            "sentiment": (*SENTIMENTS, None),
            "both": (None,),
        }
        fits = isinstance(field, str) and any(
            value is one or (isinstance(one, str) and value == one) for one in allowed.get(field, ())
        )
        place, number = _whole(given.get("place"), -1), _whole(given.get("number"))
        if not fits or not 0 <= place < rows or number < 1:
            return None
        return cls(str(given.get("client"))[:40], number, place, field, value)


def _chosen(given: Any, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(one for one in given if one in names) if isinstance(given, list) else frozenset()


def _whole(given: Any, otherwise: int = 0) -> int:
    return int(given) if isinstance(given, int) and not isinstance(given, bool) else otherwise


def _analyser_of(table: Any) -> str | None:
    attrs = getattr(table, "attrs", None)
    said = attrs.get("promptlift") if isinstance(attrs, dict) else None
    return str(said["analyser"]) if isinstance(said, dict) and said.get("analyser") else None
