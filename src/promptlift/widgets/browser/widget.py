"""``ConversationBrowser``: find conversations, read them and label them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import traitlets

from promptlift.analysis.reading import facts_of
from promptlift.errors import ConfigError, NotFound, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.judges import LABELS_MIN
from promptlift.widgets.browser import static_fallback
from promptlift.widgets.browser.catalogue import PAGE_ROWS, Catalogue, Filters
from promptlift.widgets.browser.kept_labels import KeptLabels, answers_by_conversation, keeps_labels
from promptlift.widgets.browser.labels import Labels, checked_sets, write_labels
from promptlift.widgets.browser.marks import marked
from promptlift.widgets.browser.messages import LabelCommand, Query
from promptlift.widgets.browser.plan import COMPLETED, BlindCatalogue, Plan, is_plan
from promptlift.widgets.fallback import WidgetWithHtml, front_end

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from markupsafe import Markup
    from numpy.typing import NDArray

    from promptlift.display.turn import Turn

__all__ = ["ConversationBrowser"]

_LABELLED: Final = ("yes", "no", "differs")


class ConversationBrowser(WidgetWithHtml):
    """Browse conversations in a notebook, and label them with the keyboard.

    Only what is shown is sent to the browser: fifty rows of the list and one transcript at a time. The widget changes
    nothing but the labels, and only on a click or a key press.

    The list can be sorted, and filtered by verdicts, prompt, model, topic, date and metadata, as far as the table has them;
    words that were searched for are marked. Sorting and filters come back when the cell runs again in the same browser tab,
    also after a restart of the kernel.

    Keys: ↑ ↓ (or k j) move, Page Up and Page Down change the page, / searches the text, y and n label whether the task
    was completed, 1 2 3 label negative, neutral, positive, Backspace removes the labels, Enter goes to the next
    unlabelled conversation, ? shows the keys.

    A plan of ``analysis.label_plan`` is gone through blind, in the order of the draw: what user, assistant and tools said is
    shown, and neither the judge's verdict nor the prompt, variant, model or time. After each label it says how wide
    the interval of the corrected rate is by now. It can be left at any time and gone on with later.

    Parameters
    ----------
    conversations
        A plan, or a table with conversation_id, as returned by ``lift.conversations(insights=True, content=True)``. Transcripts need
        the column content; filters need the columns of the insights.
    labels
        Labels to start with: an earlier table of `labels`, or a path (``.csv`` or ``.parquet``). With a path every
        label and note is saved at once, so they survive a restart of the kernel. Or the workspace itself (``lift``), which
        keeps them in its table of labels, with the chance and the draw of a plan, and reads the transcripts that a plan
        does not bring.
    label_sets
        Label sets of your own: names with the values to choose from, such as ``{"reason": ["refund", "bug", "other"]}``.
        Each becomes a column of `labels`.
    blind
        Hide the judge's verdicts. People who see a verdict tend to agree with it, so label blind what you pass to
        `promptlift.analysis.judge_agreement`. To estimate the agreement over all conversations, label a random
        sample: ``ConversationBrowser(df.sample(200, random_state=1), blind=True)``. A plan always is.
    labeller
        Who labels, for labels that a workspace keeps; by default the user of this computer.
    others
        Labels of several people, such as ``lift.labels()``: what each said stands side by side over the transcript, disputed
        answers marked. ``df[df["conversation_id"].isin(analysis.disputed_labels(labels)["conversation_id"])]`` are those that
        they disagree about. A plan, which is labelled blind, shows none.

    Raises
    ------
    FrameError
        When the table has no conversation_id, or the labels lack a column.
    ConfigError
        When labels cannot be read, or a label set has no usable name or values.

    Examples
    --------
    >>> browser = ConversationBrowser(df, labels="labels.csv")  # doctest: +SKIP
    >>> browser  # doctest: +SKIP
    >>> analysis.judge_agreement(browser.labels, df)  # doctest: +SKIP
    >>> ConversationBrowser(analysis.label_plan(df, by="prompt", n=100), labels=lift)  # doctest: +SKIP
    """

    _esm = front_end("js", "browser")
    _css = front_end("css", "browser")

    # From Python to the front end.
    _about = traitlets.Dict().tag(sync=True)
    _view = traitlets.Dict().tag(sync=True)
    _opened = traitlets.Dict().tag(sync=True)
    _label_state = traitlets.Dict().tag(sync=True)
    _acknowledged = traitlets.Dict().tag(sync=True)
    # From the front end to Python: only the latest query counts, but every command does.
    _query = traitlets.Dict().tag(sync=True)
    _commands: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(
        self,
        conversations: Any,
        *,
        labels: Any = None,
        label_sets: Mapping[str, Sequence[str]] | None = None,
        blind: bool = False,
        labeller: str | None = None,
        others: Any = None,
    ) -> None:
        self._others = {} if others is None else answers_by_conversation(others)
        self._plan = Plan(conversations) if is_plan(conversations) else None
        sets = dict(label_sets or {})
        if self._plan is None:
            self._catalogue = Catalogue(conversations, blind=blind)
        else:
            self._catalogue = BlindCatalogue(self._plan, _reader(labels))
            if self._plan.question not in (COMPLETED, "sentiment"):
                sets.setdefault(self._plan.question, ("yes", "no"))
        self._label_sets = checked_sets(sets)
        names = list(self._label_sets)
        if keeps_labels(labels):
            self._labels: Labels = KeptLabels(
                labels, labeller, self._catalogue.ids, sets=names, plan=self._plan
            )
        else:
            self._labels = Labels(labels, sets=names)
        self._analyser = None if self._plan else facts_of(conversations).get("analyser")
        self._ranks = self._catalogue.orders[0].ranks
        self._places = self._catalogue.find(Filters())
        self._last_query: Query | None = None
        self._notice = self._learned = ""
        super().__init__(
            _about=self._describe(), **self._answer(self._first_query()), _label_state=self._shown_labels()
        )
        self.observe(self._on_query, "_query")
        self.observe(self._on_commands, "_commands")

    @property
    def labels(self) -> pd.DataFrame:
        """The labels so far: conversation_id, task_completed, sentiment, labelled_at; one row per conversation.

        Each of ``label_sets`` adds a column, and so does the first note: ``note``.
        """
        table = self._labels.table()
        if self._plan is not None:
            table["chance"] = table["conversation_id"].map(self._plan.chances).astype("float64")
            table["draw_id"] = table["conversation_id"].map(self._plan.draws).astype("str")
        return table

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the labels to a ``.csv`` or ``.parquet`` file.

        Parameters
        ----------
        path
            The file; an existing one is replaced.

        Raises
        ------
        ConfigError
            When the file cannot be written.
        """
        return write_labels(self.labels, path)

    def save(self) -> None:
        """Save again what could not be saved when it was labelled, such as while the service was away.

        Raises
        ------
        PromptliftError
            When it still cannot be saved.
        """
        self._labels.save()

    # Queries.

    def _first_query(self) -> Query:
        """Return what is shown first: of a plan the first conversation that is not labelled yet."""
        if self._plan is None:
            return Query()
        left = (place for place, one in enumerate(self._plan.ids) if self._labels.get(one).unlabelled)
        return Query(move="to", place=next(left, 0))

    def _on_query(self, change: Mapping[str, Any]) -> None:
        query = Query.parse(change["new"], self._catalogue)
        if query is None:
            return
        with self.hold_sync():
            for name, value in self._answer(query).items():
                setattr(self, name, value)
            self._label_state = self._shown_labels()

    def _answer(self, query: Query) -> dict[str, Any]:
        if self._last_query is None or query.searches_again(self._last_query):
            self._ranks = self._catalogue.orders[query.order].ranks
            found = self._catalogue.find(query.filters, self._among(query.labelled))
            self._places = found[np.argsort(self._ranks[found], kind="stable")]
        self._last_query = query
        place = self._cursor(query)
        page = 0 if place is None else self._rank(place) // PAGE_ROWS
        shown = self._places[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
        self._shown = [int(one) for one in shown] + ([place] if place is not None else [])
        view = {
            "found": len(self._places),
            "page": page,
            "pages": -(-len(self._places) // PAGE_ROWS),
            "first": page * PAGE_ROWS,
            "rows": [asdict(self._catalogue.row(int(one), query.words)) for one in shown],
        }
        opened = self._transcript(place, query.words)
        return {"_view": view, "_opened": {"number": query.number, **opened}}

    def _cursor(self, query: Query) -> int | None:
        """Return the place of the conversation to show, None when nothing was found."""
        if not len(self._places):
            return None
        here = query.place
        if query.move == "to" and here in self._places:
            return here
        rank = self._rank(here)
        last = len(self._places) - 1
        moves = {"last": last, "page": query.page * PAGE_ROWS, "by": rank + query.page}
        if query.move == "unlabelled":
            order = np.concatenate([self._places[rank + 1 :], self._places[: rank + 1]])
            ids = self._catalogue.ids
            return next((int(one) for one in order if self._labels.get(ids[one]).unlabelled), here)
        return int(self._places[min(max(0, moves.get(query.move, 0)), last)])

    def _rank(self, place: int) -> int:
        """Return the rank of a place among the results, or of the next result after it."""
        rank = self._ranks[place] if 0 <= place < len(self._ranks) else place
        return min(int(np.searchsorted(self._ranks[self._places], rank)), max(0, len(self._places) - 1))

    def _among(self, labelled: str) -> NDArray[np.bool_] | None:
        if labelled not in _LABELLED:
            return None
        labels = [self._labels.get(one) for one in self._catalogue.ids]
        if labelled == "differs":
            return np.array([self._differs(place, label) for place, label in enumerate(labels)], dtype=bool)
        return np.array([label.unlabelled == (labelled == "no") for label in labels], dtype=bool)

    def _differs(self, place: int, label: Any) -> bool:
        judged, sentiment = self._catalogue.completions[place], self._catalogue.sentiments[place]
        return (label.completion is not None and judged in {"yes", "no"} and label.completion != judged) or (
            label.sentiment is not None and sentiment in SENTIMENTS and label.sentiment != sentiment
        )

    def _transcript(self, place: int | None, words: list[str]) -> dict[str, Any]:
        if place is None:
            return {"place": None, "facts": [], "turns": [], "problem": ""}
        turns, problem = self._catalogue.turns(place)
        return {
            "place": place,
            "facts": [*self._catalogue.facts(place), *self._said(place)],
            "turns": [_marked_turn(turn, words) for turn in turns],
            "problem": problem,
        }

    def _said(self, place: int) -> list[tuple[str, str]]:
        """Return what several people said of a conversation, side by side; nobody sees it while labelling a plan."""
        said = {} if self._plan else self._others.get(self._catalogue.ids[place], {})
        return [(one_line(question, 40), one_line(answers, 400)) for question, answers in said.items()]

    # Commands.

    def _on_commands(self, change: Mapping[str, Any]) -> None:
        acknowledged = dict(self._acknowledged)
        problems = []
        for message in change["new"] if isinstance(change["new"], list) else []:
            command = LabelCommand.parse(message, len(self._catalogue), self._label_sets)
            if command is None or command.number <= acknowledged.get(command.client, 0):
                continue
            acknowledged[command.client] = command.number
            if command.field == "learn":
                self._learn()
                continue
            try:
                self._labels.record(self._catalogue.ids[command.place], command.field, command.value)
            except ConfigError as error:
                problems.append(f"{error} The label is kept in browser.labels.")
        if acknowledged == self._acknowledged:
            return
        self._notice = one_line(problems[-1], 400) if problems else ""
        with self.hold_sync():
            self._label_state = self._shown_labels()
            self._acknowledged = acknowledged

    def _learn(self) -> None:
        """Learn a judge from the labels; what was learned, or why nothing was, stands below them."""
        try:
            said = self._labels.learn()
        except PromptliftError as error:
            said = f"Nothing was learned: {error}"
        self._learned = one_line(said, 2_000)

    def _shown_labels(self) -> dict[str, Any]:
        """Return the labels of the conversations that are shown, and how many there are in all."""
        shown = {}
        for place in self._shown:
            label = self._labels.get(self._catalogue.ids[place])
            if not label.empty:
                verdicts = [label.task_completed, label.sentiment]
                beside = [dict(label.own), label.note] if label.own or label.note else []
                shown[str(place)] = [*verdicts, *beside]
        return {
            "shown": shown,
            "labelled": self._answered(),
            "notice": self._notice,
            "width": self._width(),
            "learned": self._learned,
        }

    def _answered(self) -> int:
        if self._plan is None:
            return len(self._labels)
        return sum(not self._labels.get(one).unlabelled for one in self._plan.ids)

    def _width(self) -> str:
        """Return how wide the interval of a plan is now, in words."""
        if self._plan is None or self._plan.question != COMPLETED:
            return ""
        said = {one: self._labels.get(one).task_completed for one in self._plan.ids}
        return self._plan.progress({one: answer for one, answer in said.items() if answer is not None})

    # What stays the same.

    def _describe(self) -> dict[str, Any]:
        kept = self._labels.path
        return {
            "rows": len(self._catalogue),
            "page_rows": PAGE_ROWS,
            "blind": self._catalogue.blind,
            "judged": self._catalogue.has_judgements,
            "choices": {**self._catalogue.choices(), **self._catalogue.other_choices()},
            "label_sets": [[name, list(values)] for name, values in self._label_sets.items()],
            # From so many labels on a judge may learn from them.
            "learns": LABELS_MIN if self._labels.learns else 0,
            "kept": "" if kept is None else one_line(kept.name, 60),
            "plan": None
            if self._plan is None
            else {"question": self._plan.question, "total": len(self._plan.ids)},
            "note": static_fallback.footnote(self._analyser, self._catalogue),
        }

    def _static(self) -> Markup:
        return static_fallback.render(
            self._catalogue, self._labels, self._places, self._opened.get("place"), self._analyser
        )

    def _plain(self) -> str:
        return f"ConversationBrowser({len(self._catalogue):,} conversations, {len(self._labels):,} labelled)"


def _reader(lift: Any) -> Callable[[str], str | None] | None:
    """Return what reads a transcript, logged or simulated, from a workspace; None where there is none."""
    if not keeps_labels(lift):
        return None

    def read(conversation_id: str) -> str | None:
        try:
            content: str | None = lift.conversation(conversation_id).content
        except NotFound:
            return None
        return content

    return read


def _marked_turn(turn: Turn, words: list[str]) -> dict[str, Any]:
    """Return a message as the front end shows it: in parts where a search found some of it."""
    parts = marked(turn.content, words) if words else []
    return {**asdict(turn), **({"content": "", "parts": parts} if parts else {})}
