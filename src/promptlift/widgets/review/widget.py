"""``VariantReview``: variants side by side, their differences and failures, and the decision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import InvalidState, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.widgets.fallback import front_end
from promptlift.widgets.review.blind_labelling import BlindLabelling
from promptlift.widgets.review.cards import (
    REHEARSAL,
    Card,
    actions,
    decision,
    head,
    make_cards,
    measured,
    text_of,
    variants_table,
)
from promptlift.widgets.review.dialogs import comparison, warning
from promptlift.widgets.review.examples import Examples, Opened
from promptlift.widgets.review.hand_made import HandMade
from promptlift.widgets.review.reading import (
    CurrentVersion,
    read_after_change,
    read_after_stop,
    read_current_version,
    read_review,
    records,
)
from promptlift.widgets.review.search import SEARCH_ABOUT, family, spending_in_words
from promptlift.widgets.tree import Nodes, h, nodes
from promptlift.widgets.tree_widget import explain_failure, push, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["VariantReview"]

_ACTIONS: Final = 12
_STATIC_EXAMPLES: Final = ("gained", "lost")
_STATIC_TEXT: Final = 4_000
_STOPPABLE: Final = ("queued", "running")
_TO_LABEL: Final = (
    "To label conversations of both arms, drawn at random and blind to verdict and variant, run this cell in a running notebook, "
    "or review.label_draw() in one of its own."
)
_TO_DECIDE: Final = "To add notes, decide, apply or undo, run this cell in a running notebook. Nothing happens without a click."


class VariantReview(HandMade, BlindLabelling):
    """Review the variants of an optimization, and decide.

    Shows one row a variant on a shared lift axis: the lift with its interval, the lift to expect, whether production
    verified it, the verdict and the pairs. Variants that were only screened are listed apart from those of the confirmation.
    The card of the chosen row has its numbers, its differences from the original word by word, notes and verdicts; of a search
    also its edits, each with symptom, quotes and evidence, which can be switched off and on: the text that is put together
    so is untested, and a button tests it. A tree shows which candidate was made from which. Below are
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

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        self._lift = lift
        self._id = optimization_id
        self._choice = ""
        self._use(read_review(lift, optimization_id))
        self._static_examples = self._read_static_examples()
        super().__init__()
        if self._review.problems:
            self._notify(" ".join(self._review.problems), "bad")
            self._show()

    def _use(self, review: Review) -> None:
        """Show a review from now on; later changes of the prompt are detected against its current version."""
        self._review = review
        self._cards = make_cards(review)
        self._switched: dict[str, set[str]] = {}
        self._pairs = Examples(self._lift, self._id, review.simulations)
        self._opened: Opened | None = None
        variants = [card for card in self._cards if not card.original]
        best = next((card for card in variants if card.winner), next(iter(variants or self._cards), None))
        if not any(card.id == self._choice for card in self._cards):
            self._choice = "" if best is None else best.id
        seen = next((card for card in (best, *variants) if card and self._pairs.stages(card.id)), best)
        self._filter_examples({"variant": "" if seen is None else seen.id})

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        if self._drawn is not None:
            return self._labelling_actions()
        return {
            "label": lambda _: self._open_draw(),
            "choose": self._choose,
            "apply": lambda event: self._confirm_apply(event.get("variant", "")),
            "stop": lambda _: self._confirm_stop_if_running(),
            "undo": lambda event: self._confirm_undo(event.get("of", "")),
            "refresh": lambda _: self._refresh(),
            "verdict": self._decide,
            "note": lambda event: self._update_review(event, note=event.get("note") or None),
            **self._made_actions(),
            "examples": self._filter_examples,
            "pair": self._open_pair,
        }

    def _choose(self, event: Event) -> None:
        card = self._card(event.get("variant", ""))
        self._choice = card.id
        if not card.original:
            self._filter_examples({"variant": card.id})

    # Apply.

    def _confirm_apply(self, variant_id: str) -> None:
        card = self._card(variant_id)
        if card.why_not:
            self._notify(f"{card.name} was not applied: {card.why_not}", "bad")
            return
        if self._refuse_if_changed():
            return
        current = self._current()
        self._confirm(
            f"Apply {card.name}?",
            h(
                "p.plw-foreign",
                f"It becomes the current version of the prompt {current.name}. You can undo this.",
            ),
            self._review.rehearsal and warning(REHEARSAL),
            not card.winner and warning("This variant is not the winner of the optimization."),
            comparison(
                (f"Current version: {current.name}", current.text),
                (f"New: {card.name}", card.row["content"] or ""),
            ),
            label="Note (kept with the action)",
            value=self._review.verdicts.get(card.id, {}).get("note") or "",
            button=f"Apply {card.name}",
            act=lambda note: self._apply(
                card.name, note, variant_id=card.id, rehearsal=self._review.rehearsal
            ),
        )

    def _apply(self, name: str, note: str, **which: Any) -> None:
        current = self._current()
        # A service that keeps versions compares them itself, in the same step as it applies.
        if current.version_id is None and self._refuse_if_changed():
            return
        try:
            answer = self._review.optimization.apply(
                if_version_id=current.version_id, note=note or None, **which
            )
        except InvalidState as error:
            if "liveVersionId" in error.details and self._refuse_if_changed():
                return
            raise
        undo = f" To revert this: Undo, or lift.undo({answer.action_id!r})." if answer.action_id else ""
        self._report(f"{name} is now the current version.{undo}", read_after_change, undo=answer.action_id)

    def _refuse_if_changed(self) -> bool:
        """Return whether the prompt was changed since this review was opened; if so, show both texts."""
        before = self._current()
        now = read_current_version(self._lift, self._review.optimization.prompt_id or "", name=before.name)
        if now.same_as(before):
            return False
        words = f"Somebody changed the prompt {now.name}. Compare both texts; press Refresh to continue with the current one."
        self._pending = None
        self._open_dialog(
            "Not done: the prompt was changed after this review was opened",
            h("p.plw-foreign", words),
            comparison(
                ("When this review was opened", before.text), ("Current version", now.text), opened=True
            ),
            buttons=[push("Refresh", "refresh", ".plw-refresh-now")],
        )
        return True

    # Stop and undo.

    def _confirm_stop_if_running(self) -> None:
        status = self._review.optimization.status
        if status not in _STOPPABLE:
            self._notify(f"The optimization is {status}; there is nothing to stop.", "bad")
            return
        self._confirm_stop(self._stop)

    def _stop(self, reason: str) -> None:
        self._review.optimization.stop(reason or None)
        self._report("The optimization was stopped.", read_after_stop)

    def _confirm_undo(self, action_id: str) -> None:
        action = next((row for row in self._review.actions if row["action_id"] == action_id), None)
        if action is None or self._refuse_if_changed():
            return
        current = self._current()
        versions = records(self._lift.versions(action["prompt_id"]))
        before = next(
            (row["content"] for row in versions if row["version_id"] == action["from_version_id"]), None
        )
        if before is None:
            self._notify("The previous text is no longer kept, so this cannot be undone.", "bad")
            return
        self._confirm(
            "Restore the previous text?",
            h("p.plw-foreign", f"The prompt {current.name} gets exactly the text it had before."),
            comparison(("Current version", current.text), ("Previous text", before)),
            label="Note (kept with the action)",
            button="Undo",
            act=lambda note: self._undo(action_id, note),
        )

    def _undo(self, action_id: str, note: str) -> None:
        self._lift.undo(action_id, note=note or None)
        self._report("The previous text is the current version again.", read_after_change)

    # Notes and verdicts.

    def _decide(self, event: Event) -> None:
        before = self._review.verdicts.get(event.get("variant", ""), {}).get("verdict")
        verdict = event.get("verdict")
        self._update_review(event, verdict=None if verdict == before else verdict)

    def _update_review(self, event: Event, **changes: str | None) -> None:
        card = self._card(event.get("variant", ""))
        try:
            kept = self._review.optimization.mark(card.id, **changes)
        except PromptliftError as error:
            self._notify(f"This was not saved. {explain_failure(error)}", "bad")
            return
        self._review.verdicts[card.id] = {"verdict": kept.verdict, "note": kept.note}

    # Reading.

    def _refresh(self) -> None:
        self._use(read_review(self._lift, self._id))
        self._close_dialog()
        self._notify(" ".join(self._review.problems), "bad")

    def _report(
        self, words: str, read: Callable[[Workspace, Review], Review], *, undo: str | None = None
    ) -> None:
        """Report what was done, with a button to undo it, and show what it changed; it is reported even when reading fails."""
        before = self._review
        # Should reading fail, what is known of the prompt is out of date.
        self._review = replace(before, current=None)
        try:
            self._use(read(self._lift, before))
        except PromptliftError as error:
            words = f"{words} What you see is out of date: {explain_failure(error)}"
        known = any(row["action_id"] == undo for row in self._review.actions)
        self._notify(words, undo=undo if known else None)

    def _current(self) -> CurrentVersion:
        if self._review.current is None:
            raise InvalidState("The current version of the prompt is not known; press Refresh")
        return self._review.current

    def _card(self, variant_id: str) -> Card:
        card = next((one for one in self._cards if one.id == variant_id), None)
        if card is None:
            raise InvalidState("This variant no longer exists; press Refresh")
        return card

    # Examples.

    def _filter_examples(self, event: Event) -> None:
        self._examined = event.get("variant", "")
        self._filters = self._pairs.filters(self._examined, event)
        self._opened = None

    def _open_pair(self, event: Event) -> None:
        cell = whole(event.get("cell"))
        if cell is not None:
            self._opened = self._pairs.open(self._examined, event.get("stage", ""), cell)

    def _read_static_examples(self) -> list[Opened]:
        """Read a pair where the variant gained and one where it lost, for the page without scripts."""
        examples = []
        try:
            for outcome in _STATIC_EXAMPLES:
                pairs = self._pairs.pairs(self._examined)
                pair = next((one for one in pairs if one.matches(outcome, "", "")), None)
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
        stop = self._review.optimization.status in _STOPPABLE and push("Stop …", "stop", ".plw-stop")
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
            "_search": self._family(),
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
        if not self._cards:
            return []
        return [variants_table(self._review, self._cards, self._choice, focus=self._returned)]

    def _chosen_card(self) -> Nodes:
        card = next((one for one in self._cards if one.id == self._choice), None)
        if card is None:
            return [h("p.plw-soft", "There are no variants yet. Press Refresh to check again.")]
        numbers = h("div.plw-numbers", measured(card), decision(self._review, card))
        return [_framed(card, numbers, text_of(card), self._edits(card.id))]

    def _family(self) -> Nodes:
        """Return where the candidates of a search come from; nothing without one."""
        if not self._review.candidates:
            return []
        optimization = self._review.optimization
        spending = spending_in_words(optimization.state)
        headroom = one_line((optimization.headroom.text if optimization.headroom else None) or "", 600)
        return nodes(
            h("div.plw-heading", "Family tree of the candidates"),
            h("p.plw-soft", SEARCH_ABOUT),
            spending and h("p.plw-soft", spending),
            headroom and h("p.plw-foreign", headroom),
            family(self._review.candidates, self._choice),
        )

    def _list_examples(self) -> Nodes:
        if not self._pairs.available:
            return [h("p.plw-soft", "This service has no simulated conversations.")]
        if not self._examined:
            return []
        name = self._card(self._examined).name
        return self._pairs.listing(self._examined, name, self._filters, self._opened)

    def _list_actions(self) -> Nodes:
        done = actions(self._review, self._cards, _ACTIONS)
        words = (
            "Notes, verdicts and actions are kept by the service."
            if self._review.keeps_notes
            else "This service keeps no notes, verdicts and actions."
        )
        return [
            *([h("div.plw-heading", "Actions")] if done else []),
            *done,
            h("div.plw-soft.plw-kept", words),
        ]

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
            self._family(),
            [self._still_example(one) for one in self._static_examples],
            text and _folded("Current version of the prompt", text),
            self._list_actions(),
            [h("p", problem) for problem in self._review.problems],
            any(card.labels.button for card in self._cards) and h("p.plw-soft", _TO_LABEL),
            h("p.plw-soft", _TO_DECIDE),
        )

    def _still_card(self, card: Card) -> Node:
        said = self._review.verdicts.get(card.id, {})
        note = said.get("note") and h("p.plw-foreign", "Note: ", one_line(said["note"], 2_000))
        inside = _framed(
            card, h("div.plw-numbers", measured(card), note), text_of(card), self._edits(card.id)
        )
        return _folded(h("b", card.name), inside, opened=card.winner)

    def _still_example(self, opened: Opened) -> Node:
        name = next((card.name for card in self._cards if card.id == opened.pair.variant["variant_id"]), "")
        return _folded(f"Example of {name}: {opened.pair.outcome_in_words}", opened.node(name))

    def _plain(self) -> str:
        return f"VariantReview({len(self._cards)} texts, optimization {self._review.optimization.status})"


def _framed(card: Card, *parts: Any) -> Node:
    return h(f"section.plw-card{'.plw-won' if card.winner else ''}", parts, key=card.id, variant=card.id)


def _folded(title: Any, *inside: Any, opened: bool = False) -> Node:
    return h("details", h("summary", title), inside, open=opened)
