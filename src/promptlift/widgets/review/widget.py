"""``VariantReview``: the finalist beside the original and the decision, then failures and the search behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.errors import PromptliftError
from promptlift.schema.inert import one_line, shorten
from promptlift.widgets.review.blind_labelling import BlindLabelling
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.deciding import STOPPABLE
from promptlift.widgets.review.examples import Examples
from promptlift.widgets.review.live import experiment_table
from promptlift.widgets.review.search import family
from promptlift.widgets.review.variants import head, variants_table
from promptlift.widgets.tree import Nodes, fold, h, nodes
from promptlift.widgets.tree_widget import front_end, push, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["VariantReview"]

_STATIC_TEXT: Final = 4_000
_TO_LABEL: Final = (
    "To label randomly drawn conversations of both arms, blind to verdict and variant, run this cell in a running notebook, "
    "or review.label_draw() in a cell of its own."
)
_TO_DECIDE: Final = "To add notes, decide, apply or undo, run this cell in a running notebook. Nothing happens without a click."


class VariantReview(BlindLabelling):
    """Review the variants of an optimization, and decide.

    First the finalist beside the original on a shared lift axis: the lift with its interval, whether it was verified, the
    verdict, the differences between the texts word by word, and the decision. Below, folded: variants that were only
    screened; after a search the edits, each with symptom, quotes and evidence, and a tree of which candidate was made from
    which; the simulated conversations, next to those of the original; what was done so far. A row chooses another variant.
    Edits can be switched off and on: the resulting text is untested, and a button tests it. Apply, Stop and Undo show what
    will change and ask for confirmation. A running experiment on real users (``lift.live``) has its versions below the finalist. Nothing changes without these clicks: running the cell again, Run All, papermill
    and nbconvert only show the review. When the prompt was changed since this review was opened, Apply refuses and shows
    both texts.

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
    PARTS = ("_table", "_chosen", "_live", "_search", "_examples", "_done")

    _choice = ""

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        super().__init__(lift, optimization_id)
        # A page without scripts has one example.
        try:
            self._opened = self._pairs.example(self._examined, self._filters)
        except PromptliftError as error:
            self._review.problems.append(f"An example could not be read: {error}")
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
        self._opened = None

    def _open_pair(self, event: Event) -> None:
        cell = whole(event.get("cell"))
        if cell is not None:
            self._opened = self._pairs.open(self._examined, event.get("stage", ""), cell)

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
        table = self._cards and variants_table(self._cards, self._choice, focus=self._returned)
        return {
            "_tree": tree,
            "_table": nodes(table),
            "_chosen": self._chosen_card(),
            "_live": nodes(self._review.live and experiment_table(self._review.live)),
            "_search": family(self._review, self._choice),
            "_examples": self._list_examples(),
            "_done": self._list_actions(),
        }

    def _about(self) -> Node:
        optimization = self._review.optimization
        explanation = optimization.results.explanation if optimization.results else None
        words = one_line(explanation or optimization.failure or optimization.stop_reason or "", 800)
        rehearsal = self._review.rehearsal and h("p.plw-warning", REHEARSAL)
        return h("div.plw-about", rehearsal, words and h("p.plw-foreign", words))

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
        """Return what is shown, then what a click would show: the other variants, and the current version."""
        current = self._review.current
        others = [
            fold(h("b", card.name), card.node(edits=self._edits(card.id)))
            for card in self._cards
            if card.id != self._choice
        ]
        notes = [
            h("p.plw-foreign", f"Note on {card.name}: ", one_line(card.said["note"], 2_000))
            for card in self._cards
            if card.said.get("note")
        ]
        text = current and h("div.plw-foreign", shorten(current.text, _STATIC_TEXT)[0])
        return nodes(
            h("p", h("b", "Review of prompt variants")),
            super()._still(),
            others and fold("The other texts, their numbers and edits", others),
            notes,
            text and fold("Current version of the prompt", text),
            any(card.labels.button for card in self._cards) and h("p.plw-soft", _TO_LABEL),
            h("p.plw-soft", _TO_DECIDE),
        )

    def _plain(self) -> str:
        return f"VariantReview({len(self._cards)} texts, optimization {self._review.optimization.status})"
