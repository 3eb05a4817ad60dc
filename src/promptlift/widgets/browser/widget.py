"""``ConversationBrowser``: find conversations, read them and label them."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from promptlift.analysis.reading import WORDS_NOTE, basis_of
from promptlift.errors import ConfigError, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.judges import LABELS_MIN
from promptlift.widgets.browser.catalogue import PAGE_ROWS, Catalogue
from promptlift.widgets.browser.facets import NOT_JUDGED
from promptlift.widgets.browser.labels import (
    COMPLETED,
    KeptLabels,
    Labels,
    answers_by_conversation,
    checked_sets,
    keeps_labels,
)
from promptlift.widgets.browser.plan import BlindCatalogue, Plan, is_plan
from promptlift.widgets.browser.search import LABELLED, Query, marked
from promptlift.widgets.tree import badge, field, fold, h, known, nodes, pick, transcript
from promptlift.widgets.tree_widget import TreeWidget, front_end, whole
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from promptlift.display.static_html import Tone
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event

__all__ = ["ConversationBrowser"]

_KEYS: Final = {
    "↑ ↓": "move",
    "PgUp PgDn": "change the page",
    "Home End": "first, last",
    "/": "search",
    "y n": "completed: yes, no",
    "1 2 3": "sentiment, from bad to good",
    "⌫": "remove the labels",
    "Enter": "next unlabelled",
    "?": "show or hide this help",
}
_TONES: Final[dict[str, Tone]] = {
    "completed": "good",
    "positive": "good",
    "not completed": "bad",
    "negative": "bad",
}
_VERDICTS: Final = {"yes": "completed", "no": "not completed"}
_STATIC_ROWS: Final = 12
_STATIC_TURNS: Final = 30
_STATIC_CHARS: Final = 1_200


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

    A plan of ``analysis.label_plan`` is labelled blind, in the order of the draw: only what user, assistant and tools said is
    shown, not the judge's verdict, the prompt, the variant, the model or the time. Each label updates the width of the
    interval of the corrected rate. Labelling can be interrupted at any time and continued later.

    Parameters
    ----------
    conversations
        A plan, or a table with conversation_id, as returned by ``lift.conversations(insights=True, content=True)``. Transcripts need
        the column content; filters need the columns of the insights.
    labels
        Where to keep labels: the workspace (``lift``), which adds them to ``lift.labels()``, with the chance and the draw of
        a plan, and reads the transcripts that a plan does not contain. Or a table of labels to start with, such as the
        `labels` of an earlier browser; new ones are then only in `labels`.
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
        Labels of several people, such as ``lift.labels()``: their answers are shown side by side above the transcript, with
        disputed ones marked; ``analysis.labeller_agreement(labels).attrs["promptlift"]["disputed"]`` lists these. A plan, which
        is labelled blind, shows none.

    Raises
    ------
    FrameError
        When the table has no conversation_id, or the labels lack a column.
    ConfigError
        When labels cannot be used, or a label set has no usable name or values.

    Examples
    --------
    >>> browser = ConversationBrowser(df.sample(200, random_state=1), blind=True)  # doctest: +SKIP
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
        self._plan = Plan(conversations) if is_plan(conversations) else None
        lift = labels if keeps_labels(labels) else None
        sets = dict(label_sets or {})
        if self._plan is None:
            self._catalogue = Catalogue(conversations, blind=blind)
        else:
            self._catalogue = BlindCatalogue(self._plan, lift)
            if self._plan.question not in (COMPLETED, "sentiment"):
                sets.setdefault(self._plan.question, ("yes", "no"))
        self._label_sets = checked_sets(sets)
        self._labels = Labels(None if lift else labels, sets=[*sets])
        if lift is not None:
            self._labels = KeptLabels(lift, labeller, self._catalogue.ids, sets=[*sets], plan=self._plan)
        # Nobody sees what others said while labelling a plan.
        self._others = {} if others is None or self._plan else answers_by_conversation(others)
        self._basis = None if self._catalogue.blind else basis_of(conversations)
        self._query, self._fresh, self._learned = Query(), True, ""
        self._ranks = self._catalogue.orders[0].ranks
        self._places = self._catalogue.find(self._query)
        self._place: int | None = None
        drawn = enumerate(self._plan.ids if self._plan else ())
        self._go_to_rank(next((rank for rank, one in drawn if not self._labels.is_labelled(one)), 0))
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

    def save(self) -> None:
        """Save again what could not be saved when it was labelled, such as while the service was away.

        Raises
        ------
        PromptliftError
            When it still cannot be saved.
        """
        if isinstance(self._labels, KeptLabels):
            self._labels.save()

    @property
    def left(self) -> int:
        """How many conversations of a plan are not labelled yet."""
        return 0 if self._plan is None else len(self._plan.ids) - self._answered()

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "search": self._search,
            "clear": lambda _: self._search({"order": str(self._query.order)}),
            "open": self._open,
            "move": lambda event: self._go_to_rank(self._rank() + (1 if event.get("by") == "1" else -1)),
            "page": lambda event: self._turn(1 if event.get("by") == "1" else -1),
            "first": lambda _: self._go_to_rank(0),
            "last": lambda _: self._go_to_rank(len(self._places) - 1),
            "unlabelled": lambda _: self._go_to_unlabelled(),
            "label": self._label,
            "remove": lambda event: self._change(event, self._labels.clear),
            "note": self._note,
            "learn": lambda _: self._learn(),
        }

    # Search and moves.

    def _search(self, event: Event) -> None:
        """Find conversations anew: one that was labelled stays in the list until then."""
        self._fresh = False
        self._query = query = Query.parse(event, self._catalogue)
        self._ranks = self._catalogue.orders[query.order].ranks
        found = self._catalogue.find(query, self._among(query.labelled))
        self._places = found[np.argsort(self._ranks[found], kind="stable")]
        self._place = None
        self._go_to_rank(0)

    def _among(self, labelled: str) -> NDArray[np.bool_] | None:
        if not labelled:
            return None
        ids = self._catalogue.ids
        if labelled == "differs":
            return np.array([self._differs(place) for place in range(len(ids))], dtype=bool)
        return np.array([self._labels.is_labelled(one) == (labelled == "yes") for one in ids], dtype=bool)

    def _differs(self, place: int) -> bool:
        said = self._labels.of(self._catalogue.ids[place])
        pairs = (
            (_VERDICTS.get(said.get(COMPLETED, "")), self._catalogue.completions),
            (said.get("sentiment"), self._catalogue.sentiments),
        )
        return any(
            label is not None and judged is not None and judged[place] not in (label, NOT_JUDGED)
            for label, judged in pairs
        )

    def _open(self, event: Event) -> None:
        place = whole(event.get("place"))
        if place is not None and place in self._places:
            self._place = place

    def _go_to_rank(self, rank: int) -> None:
        if len(self._places):
            self._place = int(self._places[min(max(0, rank), len(self._places) - 1)])

    def _turn(self, by: int) -> None:
        self._go_to_rank((self._rank() // PAGE_ROWS + by) * PAGE_ROWS)

    def _go_to_unlabelled(self) -> None:
        rank, ids = self._rank(), self._catalogue.ids
        order = np.concatenate([self._places[rank + 1 :], self._places[: rank + 1]])
        self._place = next((int(one) for one in order if not self._labels.is_labelled(ids[one])), self._place)

    def _rank(self) -> int:
        """Return where the conversation that is shown is among the results."""
        if self._place is None:
            return 0
        return int(np.searchsorted(self._ranks[self._places], self._ranks[self._place]))

    # Labels.

    def _questions(self) -> dict[str, tuple[str, list[tuple[str, str, str]]]]:
        """Return the questions: the words of each, and the value, words and key of every answer."""
        plan = self._plan
        asked: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
            COMPLETED: (
                "Was the task completed?" if plan else "Completed",
                [("yes", "Yes", "y"), ("no", "No", "n")],
            ),
            "sentiment": ("Sentiment", [(one, one, str(at)) for at, one in enumerate(SENTIMENTS, 1)]),
        }
        asked = {name: one for name, one in asked.items() if plan is None or plan.question == name}
        for name, values in self._label_sets.items():
            keys = "yn" if plan is not None and plan.question == name else ""
            asked[name] = (name, [(one, one, keys[at : at + 1]) for at, one in enumerate(values)])
        return asked

    def _label(self, event: Event) -> None:
        """Set an answer, or remove it where it is that already."""
        question, value = event.get("field", ""), event.get("value", "")
        _, allowed = self._questions().get(question, ("", []))
        if value in [one for one, *_ in allowed]:
            self._change(
                event,
                lambda one: self._labels.record(
                    one, question, None if self._labels.of(one).get(question) == value else value
                ),
            )

    def _note(self, event: Event) -> None:
        self._change(event, lambda one: self._labels.record(one, "note", event.get("note")))

    def _change(self, event: Event, change: Callable[[str], None]) -> None:
        """Change the label of a conversation."""
        place = whole(event.get("place"))
        if place is None or place >= len(self._catalogue):
            return
        self._notify("")
        try:
            change(self._catalogue.ids[place])
        except ConfigError as error:
            self._notify(f"{error} The label is kept in browser.labels.", "bad")

    def _learn(self) -> None:
        """Learn a judge from the labels; what was learned, or why nothing was, is shown below them."""
        try:
            said = self._labels.learn() if isinstance(self._labels, KeptLabels) else ""
        except PromptliftError as error:
            said = f"Nothing was learned: {error}"
        self._learned = one_line(said, 2_000)

    def _answered(self) -> int:
        return len(self._labels) if self._plan is None else sum(map(self._labels.is_labelled, self._plan.ids))

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
        left = h(
            "div.plw-left",
            h(
                "div.plw-list",
                part="_list",
                role="listbox",
                tabindex=0,
                aria_label="Conversations",
                then=".plw-list",
            ),
            h("div.plw-pages", part="_pages"),
        )
        shown = h("div.plw-shown", part="_shown", tabindex=0, aria_label="Transcript", scrolls=True)
        note = self._footnote()
        # Fields are remembered for a table with the same choices.
        filters = self._filter_bars()
        choices = zlib.crc32(
            repr([one.choices() for one in self._catalogue.facets]).encode("utf-8", "replace")
        )
        memory = f"{self._catalogue.blind} {len(self._catalogue)} {choices}"
        inside = nodes(
            h("div.plw-filters", part="_filters", form=True, memory=memory, fresh=self._fresh),
            self._notice,
            h("div.plw-panes", left, shown),
            h("div.plw-labels", part="_labelling"),
            note and h("div.plw-foot.plw-soft", note),
        )
        return {
            "_tree": [h("div", keys, inside, keyboard=True)],
            "_filters": filters,
            "_list": [self._row(int(place)) for place in self._places[first : first + PAGE_ROWS]]
            or [h("p.plw-soft.plw-none", "No conversations match. Clear the filters to see all.")],
            "_pages": self._page_buttons(first),
            "_shown": self._transcript(),
            "_labelling": self._label_bar(),
        }

    def _filter_bars(self) -> Nodes:
        catalogue, query = self._catalogue, self._query
        text = h(
            "input", type="search", name="text", value=query.text, placeholder="Search …", aria_label="Text in the conversation",
            maxlength=500, size=24, action="search", delay=200, keys="/"
        )  # fmt: skip
        labelled = [("", "Labelled or not"), *LABELLED.items()][: None if catalogue.is_judged else -1]
        chosen = pick("labelled", labelled, query.labelled, aria_label="Labelled or not", action="search")
        filters: list[Any] = [chosen]
        for one in catalogue.facets:
            value, of = query.chosen.get(one.key, ""), {"action": "search", "key": one.key}
            filters.append(field(one.label, pick(f"facet {one.key}", one.choices(), value, **of)))
        days, orders = catalogue.days, [(at, one.words) for at, one in enumerate(catalogue.orders)]
        if days and days[0] != days[1]:
            for label, name, day in (("From", "since", query.since), ("until", "until", query.until)):
                ends = {"min": days[0], "max": days[1], "value": day or ""}
                filters.append(field(label, h("input", type="date", name=name, action="search", **ends)))
        if len(orders) > 1:
            filters.append(field("Sort", pick("order", orders, query.order, action="search")))
        total, found = len(catalogue), len(self._places)
        words = f"{total:,} conversations" if found == total else f"{found:,} of {total:,} conversations"
        active = sum((len(query.chosen), bool(query.since or query.until), bool(query.labelled)))
        title = f"Filters{f' ({active})' if active else ''}"
        keys = [h("span", h("kbd", key), " ", said) for key, said in _KEYS.items()]
        return [
            h(
                "div.plw-bar",
                self._plan is None and text,
                fold(title, h("div.plw-bar", filters)),
                h("button", "Clear", action="clear", then=".plw-list"),
                h("span.plw-found", words, role="status"),
                h(
                    "details",
                    h("summary.plw-heading", "Keys ", h("kbd", "?"), keys="?"),
                    h("div.plw-help", keys),
                ),
            )
        ]

    def _row(self, place: int) -> Node:
        row, said = self._catalogue.row(place), self._labels.of(self._catalogue.ids[place])
        return h(
            "div.plw-row",
            h("div.plw-title", self._marked(row.title) or row.title),
            h(
                "div.plw-small",
                h("span.plw-soft", row.when),
                row.prompt and h("span.plw-soft.plw-foreign", row.prompt),
                [badge(one, _TONES.get(one, "plain")) for one in (row.completed, row.sentiment) if one],
                row.n_issues > 0 and h("span.plw-soft", counted(row.n_issues, "issue")),
                h("span.plw-own", self._own(said)),
            ),
            role="option",
            action="open",
            place=place,
        )

    def _own(self, said: Mapping[str, str]) -> Nodes:
        """Return the label of a conversation."""
        names = [name for name in (COMPLETED, "sentiment", *self._label_sets) if name in said]
        shown = [(name, *_own_words(name, said[name])) for name in names]
        shown += [("note", "note", "plain")] if "note" in said else []
        return [h(f"b.plw-badge.plw-{tone}.plw-human", words, key=name) for name, words, tone in shown]

    def _page_buttons(self, first: int) -> Nodes:
        found = len(self._places)
        last = min(first + PAGE_ROWS, found)

        def button(words: str, by: int, keys: str, *, off: bool) -> Node:
            return h("button", words, action="page", by=by, keys=keys, repeats=True, disabled=off)

        return [
            button("‹ Previous", -1, "PageUp", off=not first),
            h("span.plw-soft", found > 0 and f"{first + 1:,} to {last:,} of {found:,}"),
            button("Next ›", 1, "PageDown", off=last >= found),
        ]

    def _transcript(self, *, static: bool = False) -> Nodes:
        place = self._place
        if place is None:
            return []
        turns, problem = self._catalogue.turns(place, *([_STATIC_CHARS] if static else []))
        others = {} if static else self._others.get(self._catalogue.ids[place], {})
        said = [(one_line(question, 40), one_line(answers, 400)) for question, answers in others.items()]
        facts = self._catalogue.facts(place)
        shown = turns[:_STATIC_TURNS] if static else turns
        left = len(turns) - len(shown)
        return [
            h(
                "div.plw-conversation",
                said and known(said),
                transcript(shown, self._marked),
                left > 0 and h("p.plw-soft", f"… {left:,} more messages"),
                problem and h("p.plw-soft", problem),
                # Without a key, so that it stays unfolded in the next conversation.
                facts and fold("Details", known(facts)),
                place=place,
            )
        ]

    def _marked(self, text: str) -> Nodes:
        """Return a text in parts where a search found some of it; nothing where it found nothing."""
        words = self._query.words
        return [h("mark", part) if hit else part for part, hit in (marked(text, words) if words else [])]

    def _label_bar(self) -> Nodes:
        place = self._place
        said = {} if place is None else self._labels.of(self._catalogue.ids[place])

        def button(question: str, value: str, words: str, key: str) -> Node:
            own, tone = _own_words(question, value)
            return h(
                "button", words, key and [" ", h("kbd", key)], action="label", place=place, field=question, data_value=value,
                disabled=place is None, aria_pressed=said.get(question) == value, keys=key or None, badge=own, tone=tone, unsaved=True
            )  # fmt: skip

        buttons = [
            [h("span.plw-soft.plw-foreign", words), [button(question, *one) for one in answers]]
            for question, (words, answers) in self._questions().items()
        ]
        kept = self._labels
        learns = isinstance(kept, KeptLabels) and kept.learns and self._answered() >= LABELS_MIN
        note = h(
            "textarea", rows=1, maxlength=10_000, name="note", value=said.get("note", ""), action="note", place=place, key=place,
            delay=900, disabled=place is None, unsaved=True
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
        """Return how many are labelled, and how wide the interval of a plan is by now."""
        plan = self._plan
        words = f"{self._answered():,}{f' of {len(plan.ids):,}' if plan else ''} labelled"
        if plan is None or plan.question != COMPLETED:
            return words
        answers = {
            one: said[COMPLETED] == "yes" for one in plan.ids if COMPLETED in (said := self._labels.of(one))
        }
        width = plan.progress(answers)
        return f"{words}{width and f': {width}'}"

    def _footnote(self) -> str:
        """Return the caveats under the verdicts: that a word list judged, and conversations that could not be judged."""
        count, reason = self._catalogue.unjudged()
        unjudged = f"{count:,} could not be judged and have no insights: {reason}" if count else ""
        by_words = WORDS_NOTE if self._basis == "words" else ""
        return " ".join(filter(None, (by_words, unjudged)))

    # A page without scripts.

    def _still(self) -> Nodes:
        found, note = len(self._places), self._footnote()
        title = None if self._place is None else self._catalogue.row(self._place).title
        return nodes(
            h("p", h("b", f"{len(self._catalogue):,} conversations"), self._counts()),
            found > _STATIC_ROWS and h("p.plw-soft", f"The first {_STATIC_ROWS} of {found:,}"),
            [self._row(int(place)) for place in self._places[:_STATIC_ROWS]]
            or h("p", "No conversations match the filters."),
            title is not None and fold(title, self._transcript(static=True), opened=True),
            note and h("p.plw-soft", note),
            h("p.plw-soft", "To filter, read and label all of them, run this cell in a running notebook."),
        )

    def _counts(self) -> str:
        words = f", {len(self._labels):,} labelled" if len(self._labels) else ""
        for values in (self._catalogue.completions, self._catalogue.sentiments):
            counts = Counter(values or ()).most_common()
            words += f" · {', '.join(f'{count:,} {name}' for name, count in counts)}" if counts else ""
        return words

    def _plain(self) -> str:
        return f"ConversationBrowser({len(self._catalogue):,} conversations, {len(self._labels):,} labelled)"


def _own_words(question: str, answer: str) -> tuple[str, Tone]:
    """Return how a person's answer is shown."""
    if question == COMPLETED:
        return ("✓ you: completed", "good") if answer == "yes" else ("✗ you: not completed", "bad")
    if question == "sentiment":
        return f"you: {answer}", _TONES.get(answer, "plain")
    return f"{question}: {answer}", "accent"
