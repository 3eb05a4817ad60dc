"""``ConversationBrowser``: find conversations, read them and label them."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from promptlift.analysis.reading import WORDS_NOTE, facts_of
from promptlift.errors import ConfigError, NotFound, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.judges import LABELS_MIN
from promptlift.widgets.browser.catalogue import PAGE_ROWS, Catalogue, Filters
from promptlift.widgets.browser.kept_labels import KeptLabels, answers_by_conversation, keeps_labels
from promptlift.widgets.browser.labels import Labels, checked_sets, write_labels
from promptlift.widgets.browser.marks import marked
from promptlift.widgets.browser.plan import COMPLETED, BlindCatalogue, Plan, is_plan
from promptlift.widgets.browser.query import LABELLED, Query
from promptlift.widgets.fallback import front_end
from promptlift.widgets.tree import badge, field, h, known, nodes, pick, transcript
from promptlift.widgets.tree_widget import TreeWidget, whole

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from promptlift.display.static_html import Tone
    from promptlift.widgets.browser.labels import Label
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event

__all__ = ["ConversationBrowser"]

_KEYS: Final = {
    "↑ ↓": "move",
    "PgUp PgDn": "change the page",
    "Home End": "first, last",
    "/": "search",
    "y n": "completed: yes, no",
    "1 2 3": "negative, neutral, positive",
    "⌫": "remove the labels",
    "Enter": "next unlabelled",
    "?": "show or hide this help",
}
_TONES: Final[dict[str, Tone]] = {"positive": "good", "neutral": "plain", "negative": "bad"}
_COMPLETED: Final[dict[str, tuple[str, Tone]]] = {
    "yes": ("completed", "good"),
    "no": ("not completed", "bad"),
    "unknown": ("not judged", "plain"),
}
_STATIC_ROWS: Final = 12
_STATIC_TURNS: Final = 30
_STATIC_CHARS: Final = 1_200
_STATIC_LABELS: Final = 100
_BOOLEANS: Final = {"true": True, "false": False}


class ConversationBrowser(TreeWidget):
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
    CLASS = "plw-browser"
    PARTS = ("_filters", "_list", "_pages", "_shown", "_labelling")

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
        self._query, self._fresh, self._help = Query(), True, False
        self._learned = ""
        self._ranks = self._catalogue.orders[0].ranks
        self._places = self._catalogue.find(Filters())
        self._place: int | None = None
        self._go_to(self._first())
        super().__init__()

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

    @property
    def left(self) -> int:
        """How many of a plan are not labelled yet."""
        return 0 if self._plan is None else len(self._plan.ids) - self._answered()

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "search": self._search,
            "clear": lambda _: self._search({"order": str(self._query.order)}),
            "open": lambda event: self._go_to(whole(event.get("place"))),
            "move": lambda event: self._move(1 if event.get("by") == "1" else -1),
            "page": lambda event: self._turn(1 if event.get("by") == "1" else -1),
            "first": lambda _: self._go_to_rank(0),
            "last": lambda _: self._go_to_rank(len(self._places) - 1),
            "unlabelled": lambda _: self._go_to_unlabelled(),
            "label": self._label,
            "remove": lambda event: self._record(event, "both", None),
            "note": lambda event: self._record(event, "note", event.get("note", "")),
            "learn": lambda _: self._learn(),
            "help": lambda _: self._toggle_help(),
        }

    # Search and moves.

    def _first(self) -> int:
        """Return what is shown first: of a plan the first conversation that is not labelled yet."""
        if self._plan is None:
            return 0
        left = (place for place, one in enumerate(self._plan.ids) if self._labels.get(one).unlabelled)
        return next(left, 0)

    def _search(self, event: Event) -> None:
        """Find conversations anew: one that was labelled stays in the list until then."""
        self._fresh = False
        self._query = query = Query.parse(event, self._catalogue)
        self._ranks = self._catalogue.orders[query.order].ranks
        found = self._catalogue.find(query.filters, self._among(query.labelled))
        self._places = found[np.argsort(self._ranks[found], kind="stable")]
        self._place = None
        self._go_to_rank(0)

    def _go_to(self, place: int | None) -> None:
        if place is not None and place in self._places:
            self._place = place

    def _go_to_rank(self, rank: int) -> None:
        if len(self._places):
            self._place = int(self._places[min(max(0, rank), len(self._places) - 1)])

    def _move(self, by: int) -> None:
        self._go_to_rank(self._rank() + by)

    def _turn(self, by: int) -> None:
        self._go_to_rank((self._rank() // PAGE_ROWS + by) * PAGE_ROWS)

    def _go_to_unlabelled(self) -> None:
        rank, ids = self._rank(), self._catalogue.ids
        order = np.concatenate([self._places[rank + 1 :], self._places[: rank + 1]])
        left = (int(one) for one in order if self._labels.get(ids[one]).unlabelled)
        self._go_to(next(left, self._place))

    def _rank(self) -> int:
        """Return where the conversation that is shown is among the results."""
        if self._place is None:
            return 0
        return int(np.searchsorted(self._ranks[self._places], self._ranks[self._place]))

    def _among(self, labelled: str) -> NDArray[np.bool_] | None:
        if labelled not in LABELLED:
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

    # Labels.

    def _label(self, event: Event) -> None:
        """Set a value of a label, or remove it where it is that already."""
        name, value = event.get("field", ""), event.get("value", "")
        allowed = {COMPLETED: tuple(_BOOLEANS), "sentiment": SENTIMENTS, **self._label_sets}.get(name, ())
        label = self._label_of(whole(event.get("place")))
        if label is None or value not in allowed:
            return
        chosen = _BOOLEANS[value] if name == COMPLETED else value
        self._record(event, name, None if self._value(label, name) == chosen else chosen)

    def _record(self, event: Event, name: str, value: Any) -> None:
        place = whole(event.get("place"))
        if place is None or place >= len(self._catalogue):
            return
        self._notify("")
        try:
            self._labels.record(self._catalogue.ids[place], name, value)
        except ConfigError as error:
            self._notify(f"{error} The label is kept in browser.labels.", "bad")

    def _label_of(self, place: int | None) -> Label | None:
        known = place is not None and place < len(self._catalogue)
        return self._labels.get(self._catalogue.ids[place]) if known else None  # type: ignore[index]

    @staticmethod
    def _value(label: Label, name: str) -> Any:
        return getattr(label, name) if name in (COMPLETED, "sentiment") else label.own.get(name)

    def _learn(self) -> None:
        """Learn a judge from the labels; what was learned, or why nothing was, is shown below them."""
        try:
            said = self._labels.learn()
        except PromptliftError as error:
            said = f"Nothing was learned: {error}"
        self._learned = one_line(said, 2_000)

    def _toggle_help(self) -> None:
        self._help = not self._help

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

    def _said(self, place: int) -> list[tuple[str, str]]:
        """Return what several people said of a conversation, side by side; nobody sees it while labelling a plan."""
        said = {} if self._plan else self._others.get(self._catalogue.ids[place], {})
        return [(one_line(question, 40), one_line(answers, 400)) for question, answers in said.items()]

    # What is shown.

    def _draw(self) -> dict[str, Nodes]:
        rank = self._rank()
        first = rank - rank % PAGE_ROWS
        keys = [
            h("span", hidden=True, action="move", by=1, keys="ArrowDown j", repeats=True),
            h("span", hidden=True, action="move", by=-1, keys="ArrowUp k", repeats=True),
            h("span", hidden=True, action="first", keys="Home"),
            h("span", hidden=True, action="last", keys="End"),
            h("span", hidden=True, keys="Escape", then=".plw-list"),
        ]
        listed = h(
            "div.plw-list",
            part="_list",
            role="listbox",
            tabindex=0,
            aria_label="Conversations",
            then=".plw-list",
        )
        left = h("div.plw-left", listed, h("div.plw-pages", part="_pages"))
        shown = h("div.plw-shown", part="_shown", tabindex=0, aria_label="Transcript", scrolls=True)
        note = self._footnote()
        choices = zlib.crc32(repr(self._choices()).encode("utf-8", "replace"))
        memory = f"{self._saved_in()} {self._catalogue.blind} {choices}"
        inside = nodes(
            h("div.plw-filters", part="_filters", form=True, memory=memory, fresh=self._fresh),
            self._help
            and h("div.plw-help", [h("span", h("kbd", key), " ", words) for key, words in _KEYS.items()]),
            self._notice,
            h("div.plw-panes", left, shown),
            h("div.plw-labels", part="_labelling"),
            note and h("div.plw-foot.plw-soft", note),
        )
        return {
            "_tree": [h("div", keys, inside, keyboard=True)],
            "_filters": self._filter_bars(),
            "_list": self._rows(self._places[first : first + PAGE_ROWS])
            or [h("p.plw-soft.plw-none", "No conversations match. Clear the filters to see all.")],
            "_pages": self._page_buttons(first),
            "_shown": self._transcript(),
            "_labelling": self._label_bar(),
        }

    def _choices(self) -> dict[str, Any]:
        return {**self._catalogue.choices(), **self._catalogue.other_choices()}

    def _filter_bars(self) -> Nodes:
        query, filters, choices = self._query, self._query.filters, self._choices()

        def picked(name: str, label: str, options: list[Any], value: Any) -> Node:
            given = "" if value is None else value
            return pick(name, [("", label), *options], given, aria_label=label, action="search")

        def counted(pairs: list[Any], words: Mapping[str, Any]) -> list[tuple[Any, str]]:
            return [(name, f"{words.get(name, name)} ({count:,})") for name, count in pairs]

        text = h(
            "input", type="search", name="text", value=filters.text, placeholder="Search …", aria_label="Text in the conversation",
            maxlength=500, size=24, action="search", delay=200, keys="/"
        )  # fmt: skip
        judged = self._catalogue.has_judgements
        sentiments = counted(choices["sentiment"], {"none": "not judged"})
        completions = counted(choices["completion"], {name: words for name, (words, _) in _COMPLETED.items()})
        issues = [(at, f"{title} ({count:,})") for at, (title, count) in enumerate(choices["issues"])]
        labelled = [("no", "Not labelled"), ("yes", "Labelled")]
        labelled += [("differs", "Label differs from the judge")] if judged else []
        of_judge = [
            picked("completion", "Any completion", completions, next(iter(filters.completion), "")),
            any(name != "none" for name, _ in choices["sentiment"])
            and picked("sentiment", "Any sentiment", sentiments, next(iter(filters.sentiment), "")),
            picked("issue", "Any issue", issues, filters.issue),
        ]
        chosen = dict(filters.facets)
        facets = []
        for key, label, values in choices["facets"]:
            options = [
                ("", "any"),
                *((at, f"{words} ({count:,})") for at, (words, count) in enumerate(values)),
            ]
            facets.append(
                field(label, pick(f"facet {key}", options, chosen.get(key, ""), action="search", key=key))
            )
        days = choices["dates"]
        dates = [
            field(
                label,
                h(
                    "input",
                    type="date",
                    name=name,
                    min=days[0],
                    max=days[1],
                    value=value or "",
                    action="search",
                ),
            )
            for name, label, value in (("since", "From", filters.since), ("until", "until", filters.until))
            if days and days[0] != days[1]
        ]
        orders = list(enumerate(choices["orders"]))
        more = nodes(
            len(orders) > 1 and field("Sort", pick("order", orders, query.order, action="search")),
            facets,
            dates,
        )
        total, found = len(self._catalogue), len(self._places)
        words = f"{total:,} conversations" if found == total else f"{found:,} of {total:,} conversations"
        bar = h(
            "div.plw-bar",
            self._plan is None and text,
            judged and of_judge,
            picked("labelled", "Labelled or not", labelled, query.labelled),
            h("button", "Clear", action="clear", then=".plw-list"),
            h("span.plw-found", words, role="status"),
            h("button", "Keys ", h("kbd", "?"), action="help", keys="?"),
        )
        return nodes(bar, more and h("div.plw-bar.plw-more", more))

    def _rows(self, places: Any) -> Nodes:
        return [self._row(int(place)) for place in places]

    def _row(self, place: int) -> Node:
        row, label = self._catalogue.row(place), self._labels.get(self._catalogue.ids[place])
        issues = "1 issue" if row.issue_count == 1 else f"{row.issue_count} issues"
        return h(
            "div.plw-row",
            h("div.plw-title", self._marked(row.title) or row.title),
            h(
                "div.plw-small",
                h("span.plw-soft", row.when),
                row.prompt and h("span.plw-soft.plw-foreign", row.prompt),
                row.completed and badge(*_COMPLETED[row.completed]),
                row.sentiment and badge(row.sentiment, _TONES[row.sentiment]),
                row.issue_count > 0 and h("span.plw-soft", issues),
                h("span.plw-own", self._own(label)),
            ),
            role="option",
            action="open",
            place=place,
        )

    def _own(self, label: Label) -> Nodes:
        """Return what a person said of a conversation."""
        given = [(name, self._value(label, name)) for name in (COMPLETED, "sentiment", *self._label_sets)]
        shown = [(name, *self._own_words(name, value)) for name, value in given if value is not None]
        shown += [("note", "note", "plain")] if label.note else []
        return [h(f"b.plw-badge.plw-{tone}.plw-human", words, key=name) for name, words, tone in shown]

    @staticmethod
    def _own_words(name: str, value: Any) -> tuple[str, Tone]:
        if name == COMPLETED:
            return ("✓ you: completed", "good") if value else ("✗ you: not completed", "bad")
        return (f"you: {value}", _TONES[value]) if name == "sentiment" else (f"{name}: {value}", "accent")

    def _page_buttons(self, first: int) -> Nodes:
        found = len(self._places)
        last = min(first + PAGE_ROWS, found)
        back = h(
            "button", "‹ Previous page", action="page", by=-1, keys="PageUp", repeats=True, disabled=not first
        )
        on = h(
            "button",
            "Next page ›",
            action="page",
            by=1,
            keys="PageDown",
            repeats=True,
            disabled=last >= found,
        )
        return [back, h("span.plw-soft", found and f"{first + 1:,} to {last:,} of {found:,}"), on]

    def _transcript(self, *, static: bool = False) -> Nodes:
        if self._place is None:
            return []
        turns, problem = self._catalogue.turns(self._place)
        facts = [*self._catalogue.facts(self._place), *([] if static else self._said(self._place))]
        shown = turns[:_STATIC_TURNS] if static else turns
        left = len(turns) - len(shown)
        return [
            h(
                "div.plw-conversation",
                known(facts),
                transcript(shown, self._marked, limit=_STATIC_CHARS if static else None),
                left > 0 and h("p.plw-soft", f"… {left:,} more messages"),
                problem and h("p.plw-soft", problem),
                place=self._place,
                key=self._place,
            )
        ]

    def _marked(self, text: str) -> Nodes:
        """Return a text in parts where a search found some of it; nothing where it found nothing."""
        words = self._query.words
        return [h("mark", part) if hit else part for part, hit in (marked(text, words) if words else [])]

    def _label_bar(self) -> Nodes:
        place, plan = self._place, self._plan
        label = self._label_of(place)

        def choice(words: str, key: str, name: str, value: Any) -> Node:
            known = label is not None and self._value(label, name)
            said, tone = self._own_words(name, value)
            given = str(value).lower() if isinstance(value, bool) else value
            return h(
                "button", words, key and [" ", h("kbd", key)], action="label", place=place, field=name,
                disabled=place is None, aria_pressed=known == value and label is not None, keys=key or None,
                badge=said, tone=tone, unsaved=True, data_value=given
            )  # fmt: skip

        questions: dict[str, tuple[str, list[tuple[str, str, Any]]]] = {
            COMPLETED: (
                "Was the task completed?" if plan else "Completed",
                [("Yes", "y", True), ("No", "n", False)],
            ),
            "sentiment": ("Sentiment", [(name, str(at + 1), name) for at, name in enumerate(SENTIMENTS)]),
        }
        asked = [name for name in questions if plan is None or plan.question == name]
        for name, values in self._label_sets.items():
            keys = "yn" if plan is not None and name == plan.question else ""
            questions[name] = (name, [(one, keys[at : at + 1], one) for at, one in enumerate(values)])
        buttons = [
            [
                h("span.plw-soft.plw-foreign", words),
                [choice(said, key, name, value) for said, key, value in values],
            ]
            for name in (*asked, *self._label_sets)
            for words, values in (questions[name],)
        ]
        learns = self._labels.learns and self._answered() >= LABELS_MIN
        note = h(
            "textarea", rows=1, maxlength=10_000, name="note", value=label.note if label else "", action="note", place=place,
            key=place, delay=900, disabled=place is None, unsaved=True
        )  # fmt: skip
        return nodes(
            h(
                "div.plw-labelling",
                buttons,
                h("button", "Next unlabelled ", h("kbd", "Enter"), action="unlabelled", keys="Enter"),
                h("span", hidden=True, action="remove", place=place, keys="Backspace Delete", unsaved=True),
                h("span.plw-soft.plw-progress", self._progress(), role="status"),
                learns and h("button", "Learn from these labels", action="learn", once=True),
                role="group",
                aria_label="Your label",
                then=".plw-list",
            ),
            self._learned and h("p.plw-learned.plw-soft.plw-foreign", self._learned, role="status"),
            field("Note", note, "div.plw-noting"),
        )

    def _progress(self) -> str:
        """Return how many are labelled, where that is saved, and how wide the interval of a plan is by now."""
        total = "" if self._plan is None else f" of {len(self._plan.ids):,}"
        name, width = self._saved_in(), self._width()
        return f"{self._answered():,}{total} labelled{name and f', saved in {name}'}{width and f': {width}'}"

    def _saved_in(self) -> str:
        return "" if self._labels.path is None else one_line(self._labels.path.name, 60)

    def _footnote(self) -> str:
        """Return the caveats under the verdicts: a word-list analyser, and conversations that could not be judged."""
        if self._catalogue.blind:
            return ""
        count, reason = self._catalogue.unjudged()
        unjudged = f"{count:,} could not be judged and have no insights: {reason}" if count else ""
        by_words = WORDS_NOTE if self._analyser in ("lexicon", "mixed") else ""
        return " ".join(filter(None, (by_words, unjudged)))

    def _still(self) -> Nodes:
        found = len(self._places)
        title = None if self._place is None else self._catalogue.row(self._place).title
        more = found > _STATIC_ROWS and h("p.plw-soft", f"The first {_STATIC_ROWS} of {found:,}")
        end = "To filter, read and label all of them, run this cell in a running notebook."
        note = self._footnote()
        return nodes(
            h("p", h("b", f"{len(self._catalogue):,} conversations"), self._counts()),
            more,
            self._rows(self._places[:_STATIC_ROWS]) or h("p", "No conversations match the filters."),
            title is not None
            and h("details", h("summary", h("b", title)), self._transcript(static=True), open=True),
            self._catalogue.names_ids and self._static_labels(),
            note and h("p.plw-soft", note),
            h("p.plw-soft", end),
        )

    def _counts(self) -> str:
        choices = self._catalogue.choices()
        kinds = (
            [(_COMPLETED[name][0], count) for name, count in choices["completion"]],
            [(name, count) for name, count in choices["sentiment"] if name != "none"],
        )
        counts = [f", {len(self._labels):,} labelled" if len(self._labels) else ""]
        counts += [
            " · " + ", ".join(f"{count:,} {name}" for name, count in pairs) for pairs in kinds if pairs
        ]
        return "".join(counts)

    def _static_labels(self) -> Node | None:
        count = len(self._labels)
        if not count:
            return None
        shown = []
        for name in self._labels.table()["conversation_id"].tail(_STATIC_LABELS):
            label = self._labels.get(name)
            when = label.labelled_at.strftime("%Y-%m-%d %H:%M") if label.labelled_at else ""
            shown.append(
                h("div", h("span.plw-foreign", name[:80]), " ", self._own(label), " ", h("small", when))
            )
        words = f"{count:,} {'label' if count == 1 else 'labels'}"
        if count > _STATIC_LABELS:
            words = f"The last {_STATIC_LABELS} of {words}"
        return h("details", h("summary", words), shown)

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
