"""A prompt that somebody puts together from the edits of a candidate: shown, tested and applied."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

import traitlets

from promptlift.errors import InvalidState
from promptlift.widgets.commands import CommandWidget
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.dialogs import comparison
from promptlift.widgets.review.reading import read_after_change
from promptlift.widgets.review.search import UNTESTED, made_by_hand
from promptlift.widgets.word_diff import describe_difference, diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.commands import Command
    from promptlift.widgets.review.cards import Card
    from promptlift.widgets.review.reading import CurrentVersion, Review
    from promptlift.workspace import Workspace

__all__ = ["HandMade"]

_NAME_CHARS: Final = 120
_TESTING: Final = (
    "A new optimization compares it with the prompt as it is now, as the only variant and without a search. It holds "
    "conversations, which cost what those of every optimization cost."
)


class HandMade(CommandWidget):
    """The part of a review in which edits are switched off and on, and the text that they make is tested or applied."""

    # Of a variant with switched edits: which, and the text that they make.
    _made = traitlets.Dict().tag(sync=True)

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
    def _report(
        self, words: str, read: Callable[[Workspace, Review], Review], *, undo: str | None = None
    ) -> None:
        """Report what was done, and show what it changed."""

    def _made_handlers(self) -> Mapping[str, Callable[[Command], None]]:
        return {
            "switch": lambda command: self._switch_edit(command.target, command.text),
            "test": lambda command: self._confirm_test(command.target),
            "apply made": lambda command: self._confirm_apply_made(command.target),
        }

    def _switch_edit(self, variant_id: str, edit_id: str) -> None:
        card = self._card(variant_id)
        if not any(edit.id == edit_id and edit.switch for edit in card.edits):
            raise InvalidState("This edit cannot be switched; press Refresh")
        self._switched[variant_id] = self._switched.get(variant_id, set()) ^ {edit_id}
        self._made = {**self._made, variant_id: self._made_state(variant_id)}

    def _made_state(self, variant_id: str) -> dict[str, Any]:
        """Return what the front end shows of the text that somebody put together from the edits of a variant."""
        switched = self._switched.get(variant_id)
        if not switched:
            return {}
        text, original = self._made_text(variant_id), self._review.original or {}
        same = next((one for one in self._review.variants if one["content"] == text), None)
        return {
            "switched": sorted(switched),
            "same": "" if same is None else self._card(same["variant_id"]).name,
            "difference": describe_difference(original.get("content") or "", text),
            "diff": diff_lines(original.get("content") or "", text),
        }

    def _made_text(self, variant_id: str) -> str:
        candidate, original = self._review.candidate(variant_id), self._review.original
        if candidate is None or original is None or not self._switched.get(variant_id):
            raise InvalidState("No edit of this variant is switched; press Refresh")
        return made_by_hand(candidate, original["content"] or "", self._switched[variant_id])

    def _confirm_test(self, variant_id: str) -> None:
        card, text = self._card(variant_id), self._made_text(variant_id)
        current = self._current()
        self._confirm(
            {
                "title": f"Test the text put together from {card.name}?",
                "lines": [_TESTING],
                "warnings": [REHEARSAL] if self._review.rehearsal else [],
                **comparison((f"Current version: {current.name}", current.text), ("To be tested", text)),
                "field": "Name of the variant",
                "value": f"{card.name}, by hand"[:_NAME_CHARS],
                "button": "Test it",
            },
            lambda name: self._test(text, name),
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
            {
                "title": f"Apply the text put together from {card.name}?",
                "lines": [f"It becomes the current version of the prompt {current.name}."],
                "warnings": [UNTESTED, *([REHEARSAL] if self._review.rehearsal else [])],
                **comparison((f"Current version: {current.name}", current.text), ("New: by hand", text)),
                "field": "Note (kept with the action)",
                "value": f"Put together by hand from {card.name}, untested"[:_NAME_CHARS],
                "button": "Apply untested",
            },
            lambda note: self._apply_made(text, note),
        )

    def _apply_made(self, text: str, note: str) -> None:
        current = self._current()
        # A service that keeps versions compares them itself, in the same step as it applies.
        if current.version_id is None and self._refuse_if_changed():
            return
        try:
            answer = self._review.optimization.apply(
                content=text,
                if_version_id=current.version_id,
                note=note or None,
            )
        except InvalidState as error:
            if "liveVersionId" in error.details and self._refuse_if_changed():
                return
            raise
        undo = f" To revert this: Undo, or lift.undo({answer.action_id!r})." if answer.action_id else ""
        words = f"The text put together by hand is now the current version.{undo}"
        self._report(words, read_after_change, undo=answer.action_id)
