"""A prompt that somebody puts together from the edits of a candidate: shown, tested and applied."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import InvalidState
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.dialogs import comparison, warning
from promptlift.widgets.review.search import UNTESTED, can_switch, edits_list, made_by_hand, switches
from promptlift.widgets.tree import diff_block, h
from promptlift.widgets.tree_widget import TreeWidget, push
from promptlift.widgets.word_diff import describe_difference, diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.cards import Card
    from promptlift.widgets.review.reading import CurrentVersion, Review
    from promptlift.widgets.tree import Node
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["HandMade"]

_NAME_CHARS: Final = 120
_TESTING: Final = (
    "A new optimization compares it with the prompt as it is now, as the only variant and without a search. It holds "
    "conversations, which cost what those of every optimization cost."
)


class HandMade(TreeWidget):
    """The part of a review in which edits are switched off and on, and the text that they make is tested or applied."""

    _lift: Workspace
    _review: Review
    _switched: dict[str, set[str]]

    @abstractmethod
    def _card(self, variant_id: str) -> Card:
        """Return the card of a variant."""

    @abstractmethod
    def _current(self) -> CurrentVersion:
        """Return the current version of the prompt."""

    @abstractmethod
    def _refuse_if_changed(self) -> bool:
        """Return whether the prompt was changed since this review was opened; if so, show both texts."""

    @abstractmethod
    def _apply(self, name: str, note: str, **which: Any) -> None:
        """Make a variant or a text the current version, unless somebody changed the prompt meanwhile."""

    def _made_actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "switch": lambda event: self._switch_edit(event.get("variant", ""), event.get("edit", "")),
            "test": lambda event: self._confirm_test(event.get("variant", "")),
            "apply-made": lambda event: self._confirm_apply_made(event.get("variant", "")),
        }

    def _switch_edit(self, variant_id: str, edit_id: str) -> None:
        candidate, original = self._review.candidate(variant_id), self._review.original
        edits = [] if candidate is None else candidate.edits or []
        if (
            candidate is None
            or original is None
            or not can_switch(candidate, original["content"] or "")
            or not any(edit.id == edit_id and switches(edit) for edit in edits)
        ):
            raise InvalidState("This edit cannot be switched; press Refresh")
        self._switched[variant_id] = self._switched.get(variant_id, set()) ^ {edit_id}

    def _edits(self, variant_id: str) -> Node | None:
        """Return the edits of a variant, with the text that somebody put together from them."""
        candidate, original = self._review.candidate(variant_id), self._review.original
        if candidate is None or candidate.is_original:
            return None
        before = (original or {}).get("content") or ""
        return edits_list(
            candidate, before, self._switched.get(variant_id, ()), self._made(variant_id, before)
        )

    def _made(self, variant_id: str, before: str) -> Node | None:
        if not self._switched.get(variant_id):
            return None
        text = self._made_text(variant_id)
        same = next((one for one in self._review.variants if one["content"] == text), None)
        words = UNTESTED if same is None else f"This is the text of {self._card(same['variant_id']).name}."
        buttons = h(
            "div.plw-buttons",
            push("Test this text …", "test", ".plw-test", variant=variant_id),
            push("Apply untested …", "apply-made", ".plw-apply-made", variant=variant_id),
        )
        return h(
            "div.plw-made",
            h("p.plw-warning.plw-foreign", words),
            h("p.plw-soft", describe_difference(before, text)),
            diff_block(diff_lines(before, text)),
            same is None and buttons,
        )

    def _made_text(self, variant_id: str) -> str:
        candidate, original = self._review.candidate(variant_id), self._review.original
        if candidate is None or original is None or not self._switched.get(variant_id):
            raise InvalidState("No edit of this variant is switched; press Refresh")
        return made_by_hand(candidate, original["content"] or "", self._switched[variant_id])

    def _confirm_test(self, variant_id: str) -> None:
        card, text = self._card(variant_id), self._made_text(variant_id)
        current = self._current()
        self._confirm(
            f"Test the text put together from {card.name}?",
            h("p", _TESTING),
            self._review.rehearsal and warning(REHEARSAL),
            comparison((f"Current version: {current.name}", current.text), ("To be tested", text)),
            label="Name of the variant",
            value=f"{card.name}, by hand"[:_NAME_CHARS],
            button="Test it",
            act=lambda name: self._test(text, name),
        )

    def _test(self, text: str, name: str) -> None:
        optimization = self._review.optimization
        begun = self._lift.optimize(
            optimization.prompt_id or "",
            mode=optimization.mode,
            candidates={name.strip()[:_NAME_CHARS] or "By hand": text},
            search="off",
            wait=False,
        )
        self._notify(f"The text is being tested: widgets.VariantReview(lift, {begun.id!r}) shows the result.")

    def _confirm_apply_made(self, variant_id: str) -> None:
        card, text = self._card(variant_id), self._made_text(variant_id)
        if self._refuse_if_changed():
            return
        current = self._current()
        self._confirm(
            f"Apply the text put together from {card.name}?",
            h("p.plw-foreign", f"It becomes the current version of the prompt {current.name}."),
            warning(UNTESTED),
            self._review.rehearsal and warning(REHEARSAL),
            comparison((f"Current version: {current.name}", current.text), ("New: by hand", text)),
            label="Note (kept with the action)",
            value=f"Put together by hand from {card.name}, untested"[:_NAME_CHARS],
            button="Apply untested",
            act=lambda note: self._apply_text(text, note),
        )

    def _apply_text(self, text: str, note: str) -> None:
        self._apply("The text put together by hand", note, content=text)
