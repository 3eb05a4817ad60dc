"""``VariantReview``: variants side by side, their differences and failures, and the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import PromptliftError
from promptlift.schema.inert import one_line
from promptlift.widgets.review.blind_labelling import BlindLabelling
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.deciding import STOPPABLE
from promptlift.widgets.review.examples import Examples, Opened
from promptlift.widgets.review.search import family
from promptlift.widgets.review.variants import head, variants_table
from promptlift.widgets.tree import Nodes, h, nodes
from promptlift.widgets.tree_widget import front_end, push, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.cards import Card
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["VariantReview"]

_STATIC_EXAMPLES: Final = ("gained", "lost")
_STATIC_TEXT: Final = 4_000
_TO_LABEL: Final = (
    "To label randomly drawn conversations of both arms, blind to verdict and variant, run this cell in a running notebook, "
    "or review.label_draw() in a cell of its own."
)
_TO_DECIDE: Final = "To add notes, decide, apply or undo, run this cell in a running notebook. Nothing happens without a click."


class VariantReview(BlindLabelling):
    """Review the variants of an optimization, and decide.

    Shows one row per variant on a shared lift axis: the lift with its interval, the lift to expect, whether production
    verified it, the verdict and the pairs. Variants that were only screened are listed apart from those of the confirmation.
    The card of the chosen row has its numbers, its differences from the original word by word, notes and verdicts; after a
    search also its edits, each with symptom, quotes and evidence. Edits can be switched off and on: the resulting text is
    untested, and a button tests it. A tree shows which candidate was made from which. Below are
    its simulated conversations, next to those of the original. Apply, Stop and Undo show what will change and ask for
    confirmation. Nothing changes without these clicks: running the cell again, Run All,
    papermill and nbconvert only show the review. When the prompt was changed since this review was opened,
    Apply refuses and shows both texts.

    A button on the card of a tested variant has simulated conversations of both arms labelled blind, in the place of the
    review, which is empty meanwhile and comes back with the lift as the labels correct it.

    The embedded service keeps notes, verdicts and actions; another one only applies variants. ``lift.actions()`` lists the actions, ``lift.undo`` reverts one.

    Parameters
    ----------
    lift
        The workspace to read from and to act with.
    optimization_id
        The optimization.

    Raises
    ------
    PromptliftError
        When the optimization cannot be read.

    Examples
    --------
    >>> widgets.VariantReview(lift, "opt_…")  # doctest: +SKIP
    """

    _esm = front_end("js")
    _css = front_end("css", "commands", "review", "search", "labelling")
    CLASS = "plw-review"
    PARTS = ("_table", "_chosen", "_search", "_examples", "_done")

    _choice = ""

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        super().__init__(lift, optimization_id)
        self._static_examples = self._read_static_examples()
        if self._review.problems:
            self._notify(" ".join(self._review.problems), "bad")
            self._show()

    def _use(self, review: Review) -> None:
        super()._use(review)
        self._pairs = Examples(self._lift, self._id, review.simulations)
        variants = [card for card in self._cards if not card.is_original]
        best = next((card for card in variants if card.is_winner), next(iter(variants or self._cards), None))
        if not any(card.id == self._choice for card in self._cards):
            self._choice = "" if best is None else best.id
        seen = next((card for card in (best, *variants) if card and self._pairs.stages(card.id)), best)
        self._filter_examples({"variant": "" if seen is None else seen.id})

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        if self._drawn is not None:
            return super()._actions()
        shown = {"choose": self._choose, "examples": self._filter_examples, "pair": self._open_pair}
        return {**super()._actions(), **shown}

    def _choose(self, event: Event) -> None:
        card = self._card(event.get("variant", ""))
        self._choice = card.id
        if not card.is_original:
            self._filter_examples({"variant": card.id})

    def _filter_examples(self, event: Event) -> None:
        self._examined = event.get("variant", "")
        self._filters = self._pairs.filters(self._examined, event)
        self._opened: Opened | None = None

    def _open_pair(self, event: Event) -> None:
        cell = whole(event.get("cell"))
        if cell is not None:
            self._opened = self._pairs.open(self._examined, event.get("stage", ""), cell)

    def _read_static_examples(self) -> list[Opened]:
        """Read a pair where the variant gained and one where it lost, for the page without scripts."""
        examples = []
        pairs = self._pairs.pairs(self._examined)
        try:
            for outcome in _STATIC_EXAMPLES:
                pair = next((one for one in pairs if one.matches(outcome)), None)
                opened = pair and self._pairs.open(self._examined, pair.stage, pair.cell)
                examples += [opened] if opened else []
        except PromptliftError as error:
            self._review.problems.append(f"An example could not be read: {error}")
        return examples

    # What is shown.

    def _draw(self) -> dict[str, Nodes]:
        if self._drawn is not None:
            shown = nodes(self._notice, self._labelling(self._drawn))
            return {**{name: [] for name in self.PARTS}, "_tree": shown}
        stop = self._review.optimization.status in STOPPABLE and push("Stop …", "stop", ".plw-stop")
        buttons = h("span.plw-buttons", stop, push("Refresh", "refresh", ".plw-refresh"))
        tree = nodes(
            h("div.plw-top", head(self._review), buttons),
            self._notice,
            self._about(),
            *(h(f"div.plw{name.replace('_', '-')}", part=name, key=name) for name in self.PARTS),
            self._dialog,
        )
        return {
            "_tree": tree,
            "_table": self._list_variants(),
            "_chosen": self._chosen_card(),
            "_search": family(self._review, self._choice),
            "_examples": self._list_examples(),
            "_done": self._list_actions(),
        }

    def _about(self) -> Node:
        optimization = self._review.optimization
        explanation = optimization.results.explanation if optimization.results else None
        words = one_line(explanation or optimization.failure or optimization.stop_reason or "", 800)
        return h(
            "div.plw-about",
            self._review.rehearsal and h("p.plw-warning", REHEARSAL),
            words and h("p.plw-foreign", words),
        )

    def _list_variants(self) -> Nodes:
        return [variants_table(self._cards, self._choice, focus=self._returned)] if self._cards else []

    def _chosen_card(self) -> Nodes:
        card = next((one for one in self._cards if one.id == self._choice), None)
        if card is None:
            return [h("p.plw-soft", "There are no variants yet. Press Refresh to check again.")]
        return [card.node(card.decision(), edits=self._edits(card.id))]

    def _list_examples(self) -> Nodes:
        if not self._pairs.available:
            return [h("p.plw-soft", "This service has no simulated conversations.")]
        if not self._examined:
            return []
        name = self._card(self._examined).name
        return self._pairs.listing(self._examined, name, self._filters, self._opened)

    # A page without scripts.

    def _repr_html_(self) -> str:
        # What is labelled blind stays so where the review is shown again.
        return super()._repr_html_() if self._drawn is None else self._drawn._repr_html_()

    def _still(self) -> Nodes:
        current = self._review.current
        text = current and h("div.plw-foreign", current.text[:_STATIC_TEXT])
        return nodes(
            h("p", h("b", "Review of prompt variants")),
            h("div.plw-top", head(self._review)),
            self._about(),
            self._list_variants() or h("p", "There are no variants yet."),
            [self._still_card(card) for card in self._cards],
            family(self._review, self._choice),
            [self._still_example(one) for one in self._static_examples],
            text and _folded("Current version of the prompt", text),
            self._list_actions(),
            [h("p", problem) for problem in self._review.problems],
            any(card.labels.button for card in self._cards) and h("p.plw-soft", _TO_LABEL),
            h("p.plw-soft", _TO_DECIDE),
        )

    def _still_card(self, card: Card) -> Node:
        note = card.said.get("note")
        shown = note and h("p.plw-foreign", "Note: ", one_line(note, 2_000))
        return _folded(h("b", card.name), card.node(shown, edits=self._edits(card.id)), opened=card.is_winner)

    def _still_example(self, opened: Opened) -> Node:
        name = self._card(opened.pair.variant["variant_id"]).name
        return _folded(f"Example of {name}: {opened.pair.outcome_in_words}", opened.node(name))

    def _plain(self) -> str:
        return f"VariantReview({len(self._cards)} texts, optimization {self._review.optimization.status})"


def _folded(title: Any, inside: Node, *, opened: bool = False) -> Node:
    return h("details", h("summary", title), inside, open=opened)
