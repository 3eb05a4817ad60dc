"""``VariantReview``: variants side by side, their differences and failures, and the decision."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

import traitlets

from promptlift.errors import InvalidState, PromptliftError
from promptlift.schema.inert import one_line
from promptlift.widgets.commands import explain_failure
from promptlift.widgets.fallback import front_end
from promptlift.widgets.review import static_fallback
from promptlift.widgets.review.blind_labelling import BlindLabelling
from promptlift.widgets.review.cards import (
    REHEARSAL,
    Card,
    actions,
    by_stage,
    headline,
    lift_axis,
    make_cards,
)
from promptlift.widgets.review.dialogs import comparison
from promptlift.widgets.review.examples import OUTCOMES, Examples, pair_state
from promptlift.widgets.review.hand_made import HandMade
from promptlift.widgets.review.reading import (
    CurrentVersion,
    read_after_change,
    read_after_stop,
    read_current_version,
    read_review,
    records,
)
from promptlift.widgets.review.search import (
    SEARCH_ABOUT,
    UNTESTED,
    family,
    spending_in_words,
)
from promptlift.words.figures import relative

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from markupsafe import Markup

    from promptlift.widgets.commands import Command
    from promptlift.widgets.review.reading import Review
    from promptlift.workspace import Workspace

__all__ = ["VariantReview"]

_ACTIONS: Final = 12
_FALLBACK_EXAMPLES: Final = ("gained", "lost")
_STOPPABLE: Final = ("queued", "running")


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

    _esm = front_end("js", "commands", "search", "labelling", "review")
    _css = front_end("css", "commands", "review", "search", "labelling")

    _reviews = traitlets.Dict().tag(sync=True)
    _examples = traitlets.Dict().tag(sync=True)

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        self._lift = lift
        self._id = optimization_id
        self._use(read_review(lift, optimization_id))
        self._fallback_examples = self._read_fallback_examples()
        super().__init__(
            _view=self._view_state(), _reviews=self._review_state(), _examples=self._first_examples()
        )
        if self._review.problems:
            self._notify(" ".join(self._review.problems), "bad")

    def _use(self, review: Review) -> None:
        """Show a review from now on; later changes of the prompt are detected against its current version."""
        self._review = review
        self._cards = make_cards(review)
        self._switched = {}
        self._examples_table = Examples(self._lift, self._id, review.simulations)

    def _handlers(self) -> Mapping[str, Callable[[Command], None]]:
        if self._drawn is not None:
            return self._labelling_handlers()
        return {
            "label": lambda _: self._open_draw(),
            "apply": lambda command: self._confirm_apply(command.target),
            "stop": lambda _: self._confirm_stop_if_running(),
            "undo": lambda command: self._confirm_undo(command.target),
            "refresh": lambda _: self._refresh(),
            "verdict": lambda command: self._update_review(command.target, verdict=command.text or None),
            "note": lambda command: self._update_review(command.target, note=command.text or None),
            **self._made_handlers(),
            "examples": lambda command: self._filter_examples(command.target, command.text),
            "pair": lambda command: self._open_pair(command.target),
        }

    # Apply.

    def _confirm_apply(self, variant_id: str) -> None:
        card = self._card(variant_id)
        if card.why_not:
            self._notify(f"{card.name} was not applied: {card.why_not}", "bad")
            return
        if self._refuse_if_changed():
            return
        current = self._current()
        content = self._content(variant_id)
        warnings = [REHEARSAL] if self._review.rehearsal else []
        if not card.winner:
            warnings.append("This variant is not the winner of the optimization.")
        self._confirm(
            {
                "title": f"Apply {card.name}?",
                "lines": [f"It becomes the current version of the prompt {current.name}. You can undo this."],
                "warnings": warnings,
                **comparison(
                    (f"Current version: {current.name}", current.text), (f"New: {card.name}", content)
                ),
                "field": "Note (kept with the action)",
                "value": card.note,
                "button": f"Apply {card.name}",
            },
            lambda note: self._apply(variant_id, note),
        )

    def _apply(self, variant_id: str, note: str) -> None:
        card, current = self._card(variant_id), self._current()
        # A service that keeps versions compares them itself, in the same step as it applies.
        if current.version_id is None and self._refuse_if_changed():
            return
        try:
            answer = self._review.optimization.apply(
                variant_id,
                if_version_id=current.version_id,
                rehearsal=self._review.rehearsal,
                note=note or None,
            )
        except InvalidState as error:
            if "liveVersionId" in error.details and self._refuse_if_changed():
                return
            raise
        undo = f" To revert this: Undo, or lift.undo({answer.action_id!r})." if answer.action_id else ""
        self._report(
            f"{card.name} is now the current version.{undo}", read_after_change, undo=answer.action_id
        )

    def _refuse_if_changed(self) -> bool:
        """Return whether the prompt was changed since this review was opened; if so, show both texts."""
        before = self._current()
        now = read_current_version(self._lift, self._review.optimization.prompt_id or "", name=before.name)
        if now.same_as(before):
            return False
        self._inform(
            {
                "title": "Not done: the prompt was changed after this review was opened",
                "lines": [
                    f"Somebody changed the prompt {now.name}. Compare both texts; press Refresh to continue with the current one."
                ],
                "warnings": [],
                **comparison(("When this review was opened", before.text), ("Current version", now.text)),
                "refresh": True,
            }
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
            {
                "title": "Restore the previous text?",
                "lines": [f"The prompt {current.name} gets exactly the text it had before."],
                **comparison(("Current version", current.text), ("Previous text", before)),
                "field": "Note (kept with the action)",
                "value": "",
                "button": "Undo",
            },
            lambda note: self._undo(action_id, note),
        )

    def _undo(self, action_id: str, note: str) -> None:
        self._lift.undo(action_id, note=note or None)
        self._report("The previous text is the current version again.", read_after_change)

    # Notes and verdicts.

    def _update_review(self, variant_id: str, **changes: str | None) -> None:
        card = self._card(variant_id)
        try:
            kept = self._review.optimization.mark(card.id, **changes)
        except PromptliftError as error:
            self._notify(f"This was not saved. {explain_failure(error)}", "bad")
            return
        self._review.verdicts[card.id] = {"verdict": kept.verdict, "note": kept.note}
        self._cards = make_cards(self._review)
        self._reviews = self._review_state()

    def _review_state(self) -> dict[str, Any]:
        return {card.id: [card.verdict, card.note] for card in self._cards}

    # Reading.

    def _refresh(self) -> None:
        self._use(read_review(self._lift, self._id))
        self._update()
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
            self._update()
        except PromptliftError as error:
            words = f"{words} What you see is out of date: {explain_failure(error)}"
        known = any(row["action_id"] == undo for row in self._review.actions)
        self._notify(words, undo=undo if known else None)

    def _update(self) -> None:
        with self.hold_sync():
            self._view = self._view_state()
            self._reviews = self._review_state()
            self._made = {}
            self._examples = self._first_examples()

    def _empty(self) -> None:
        self._switched = {}
        self._view, self._reviews, self._made, self._examples = {}, {}, {}, {}

    def _current(self) -> CurrentVersion:
        if self._review.current is None:
            raise InvalidState("The current version of the prompt is not known; press Refresh")
        return self._review.current

    def _card(self, variant_id: str) -> Card:
        card = next((one for one in self._cards if one.id == variant_id), None)
        if card is None:
            raise InvalidState("This variant no longer exists; press Refresh")
        return card

    def _content(self, variant_id: str) -> str:
        row = self._review.variant(variant_id)
        return "" if row is None else row["content"] or ""

    # Examples.

    def _first_examples(self) -> dict[str, Any]:
        examples = self._examples_table
        variants = [card for card in self._cards if not card.original]
        if not examples.available or not variants:
            return {"available": examples.available}
        best = next((card for card in variants if card.winner), variants[0])
        first = next((card for card in (best, *variants) if examples.stages(card.id)), best)
        return self._list_examples(first.id, self._first_outcome(first.id))

    def _first_outcome(self, variant_id: str) -> str:
        """Return the filter that a person most likely wants first: where the outcomes differ, if they do anywhere."""
        pairs = self._examples_table.pairs(variant_id)
        return "disagree" if any(pair.matches("disagree", "", "") for pair in pairs) else ""

    def _list_examples(
        self, variant_id: str, outcome: str, persona: str = "", scenario: str = "", *, stage: str = ""
    ) -> dict[str, Any]:
        listing = self._examples_table.listing(
            variant_id, stage=stage, outcome=outcome, persona=persona, scenario=scenario
        )
        return {"available": True, "name": self._card(variant_id).name, **listing, "opened": None}

    def _filter_examples(self, variant_id: str, filters: str) -> None:
        try:
            given = json.loads(filters or "{}")
        except ValueError:
            return
        if not isinstance(given, dict) or not self._examples_table.available:
            return
        card = self._card(variant_id)
        outcome = str(given.get("outcome", self._first_outcome(card.id)) or "")
        self._examples = self._list_examples(
            card.id,
            outcome if outcome in OUTCOMES else "",
            str(given.get("persona") or ""),
            str(given.get("scenario") or ""),
            stage=str(given.get("stage") or ""),
        )

    def _open_pair(self, target: str) -> None:
        stage, _, cell = target.partition(":")
        if cell.isdecimal() and self._examples.get("variant"):
            opened = self._examples_table.open(self._examples["variant"], stage, int(cell))
            self._examples = {**self._examples, "opened": None if opened is None else pair_state(opened)}

    def _read_fallback_examples(self) -> list[tuple[str, dict[str, Any]]]:
        """Read a pair where the variant gained and one where it lost, for the page without scripts."""
        variant_id = self._first_examples().get("variant")
        if not variant_id:
            return []
        examples = []
        try:
            for outcome in _FALLBACK_EXAMPLES:
                pairs = self._examples_table.pairs(variant_id)
                pair = next((one for one in pairs if one.matches(outcome, "", "")), None)
                opened = pair and self._examples_table.open(variant_id, pair.stage, pair.cell)
                if opened:
                    examples.append((self._card(variant_id).name, opened))
        except PromptliftError as error:
            self._review.problems.append(f"An example could not be read: {error}")
        return examples

    # What is shown.

    def _view_state(self) -> dict[str, Any]:
        optimization = self._review.optimization
        low, high = lift_axis(self._review)
        explanation = optimization.results.explanation if optimization.results else None
        return {
            "head": [list(pair) for pair in headline(self._review)],
            "rehearsal": REHEARSAL if self._review.rehearsal else "",
            "explanation": one_line(
                explanation or optimization.failure or optimization.stop_reason or "", 800
            ),
            "can_stop": optimization.status in _STOPPABLE,
            "cards": [asdict(card) for card in self._cards],
            "groups": [
                {**stage._asdict(), "ids": [card.id for card in cards]}
                for stage, cards in by_stage(self._cards)
            ],
            "axis": {"low": relative(low), "high": relative(high), "zero": 100 * -low / (high - low)},
            "actions": actions(self._review, self._cards, _ACTIONS),
            "keeps_notes": self._review.keeps_notes,
            "search": self._search_state(),
        }

    def _search_state(self) -> dict[str, Any]:
        """Return where the candidates of a search come from; empty without one."""
        if not self._review.candidates:
            return {}
        optimization = self._review.optimization
        return {
            "family": [asdict(member) for member in family(self._review.candidates)],
            "spending": spending_in_words(optimization.state),
            "headroom": one_line((optimization.headroom.text if optimization.headroom else None) or "", 600),
            "about": SEARCH_ABOUT,
            "untested": UNTESTED,
        }

    def _static(self) -> Markup:
        if self._drawn is not None:
            # What is labelled blind stays so where the review is shown again.
            drawn: Markup = self._drawn._static()  # noqa: SLF001
            return drawn
        return static_fallback.render(self._review, self._cards, self._fallback_examples)

    def _plain(self) -> str:
        return f"VariantReview({len(self._cards)} texts, optimization {self._review.optimization.status})"
