"""A prompt that somebody puts together from the edits of a candidate: shown, tested and applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.errors import InvalidState
from promptlift.schema.search import assembled
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.deciding import Deciding, comparison, warning
from promptlift.widgets.review.search import can_switch, edits_list, switches
from promptlift.widgets.tree import diff_block, h
from promptlift.widgets.tree_widget import push
from promptlift.widgets.word_diff import describe_difference, diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node
    from promptlift.widgets.tree_widget import Event

__all__ = ["HandMade"]

UNTESTED: Final = (
    "Put together by hand: no conversation was held with this text as a whole, so it is untested."
)
_NAME_CHARS: Final = 120
_TESTING: Final = (
    "A new optimization compares it with the current prompt, as the only variant and without a search. Its conversations "
    "cost as much as those of any other optimization."
)


class HandMade(Deciding):
    """The part of a review in which edits are switched off and on, and the text that they make is tested or applied."""

    def _use(self, review: Review) -> None:
        super()._use(review)
        # The edits of a variant that were switched off or on.
        self._switched: dict[str, set[str]] = {}

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            **super()._actions(),
            "switch": lambda event: self._switch(event.get("variant", ""), event.get("edit", "")),
            "test": lambda event: self._confirm_test(event.get("variant", "")),
            "apply-made": lambda event: self._confirm_apply_made(event.get("variant", "")),
        }

    def _switch(self, variant_id: str, edit_id: str) -> None:
        one = self._review.candidate(variant_id)
        able = one is not None and can_switch(one, self._review.original_text)
        if (
            one is None
            or not able
            or not any(edit.id == edit_id and switches(edit) for edit in one.edits or ())
        ):
            raise InvalidState("This edit cannot be switched; press Refresh")
        self._switched[variant_id] = self._switched.get(variant_id, set()) ^ {edit_id}

    def _edits(self, variant_id: str) -> Node | None:
        """Return the edits of a variant, with the text that somebody put together from them."""
        one = self._review.candidate(variant_id)
        if one is None or one.is_original:
            return None
        switched = self._switched.get(variant_id, set())
        made = self._made(variant_id) if switched else None
        return edits_list(one, self._review.original_text, switched, made)

    def _made(self, variant_id: str) -> Node:
        before, text = self._review.original_text, self._made_text(variant_id)
        same = next((card.name for card in self._cards if card.row["content"] == text), None)
        buttons = h(
            "div.plw-buttons",
            push("Test this text …", "test", ".plw-test", variant=variant_id),
            push("Apply untested …", "apply-made", ".plw-apply-made", variant=variant_id),
        )
        return h(
            "div.plw-made",
            h("p.plw-warning.plw-foreign", UNTESTED if same is None else f"This is the text of {same}."),
            h("p.plw-soft", describe_difference(before, text)),
            diff_block(diff_lines(before, text)),
            same is None and buttons,
        )

    def _made_text(self, variant_id: str) -> str:
        one, switched = self._review.candidate(variant_id), self._switched.get(variant_id)
        if one is None or not switched:
            raise InvalidState("No edit of this variant is switched; press Refresh")
        kept = [
            edit
            for edit in one.edits or ()
            if switches(edit) and (edit.state == "kept") != (edit.id in switched)
        ]
        return assembled(self._review.original_text, kept)

    def _confirm_test(self, variant_id: str) -> None:
        card, text, current = self._card(variant_id), self._made_text(variant_id), self._current()
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
        note = f"Put together by hand from {card.name}, untested"[:_NAME_CHARS]
        self._ask_to_apply("the text put together by hand", text, note, UNTESTED, content=text)
