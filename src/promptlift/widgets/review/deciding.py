"""What a review changes, each after a click: apply, stop, undo, verdicts, notes, and texts put together from edits by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import InvalidState, PromptliftError
from promptlift.schema.inert import one_line, shorten, visible
from promptlift.schema.search import assembled
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.reading import read_after_change, read_current_version, read_review, records
from promptlift.widgets.review.search import can_switch, edits_list, switches
from promptlift.widgets.review.variants import make_cards
from promptlift.widgets.tree import badge, diff_block, fold, h
from promptlift.widgets.tree_widget import TreeWidget, explain_failure, push
from promptlift.widgets.word_diff import describe_difference, diff_lines
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.cards import Card
    from promptlift.widgets.review.reading import CurrentVersion, Review
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["STOPPABLE", "Deciding"]

STOPPABLE: Final = ("queued", "running")
_ACTIONS: Final = 12
_TEXT_CHARS: Final = 60_000
_NAME_CHARS: Final = 120
_NOTE: Final = "Note (kept with the action)"
_UNTESTED: Final = (
    "Put together by hand: no conversation was held with this text as a whole, so it is untested."
)
_TESTING: Final = (
    "A new optimization compares it with the current prompt, as the only variant and without a search. Its conversations "
    "cost as much as those of any other optimization."
)


class Deciding(TreeWidget):
    """The part of a review that changes something."""

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        self._lift, self._id = lift, optimization_id
        self._use(read_review(lift, optimization_id))
        super().__init__()

    def _use(self, review: Review) -> None:
        """Show a review from now on; later changes of the prompt are detected against its current version."""
        self._review, self._cards = review, make_cards(review)
        # The edits of a variant that were switched off or on.
        self._switched: dict[str, set[str]] = {}

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "apply": lambda event: self._confirm_apply(event.get("variant", "")),
            "stop": lambda _: self._confirm_stop_if_running(),
            "undo": lambda event: self._confirm_undo(event.get("of", "")),
            "refresh": lambda _: self._refresh(),
            "verdict": self._decide,
            "note": lambda event: self._mark(event, note=event.get("note") or None),
            "switch": lambda event: self._switch(event.get("variant", ""), event.get("edit", "")),
            "test": lambda event: self._confirm_test(event.get("variant", "")),
            "apply-made": lambda event: self._confirm_apply_made(event.get("variant", "")),
        }

    def _card(self, variant_id: str) -> Card:
        card = next((one for one in self._cards if one.id == variant_id), None)
        if card is None:
            raise InvalidState("This variant no longer exists; press Refresh")
        return card

    def _current(self) -> CurrentVersion:
        if self._review.current is None:
            raise InvalidState("The current version of the prompt is not known; press Refresh")
        return self._review.current

    # Apply.

    def _confirm_apply(self, variant_id: str) -> None:
        card = self._card(variant_id)
        if card.why_not:
            self._notify(f"{card.name} was not applied: {card.why_not}", "bad")
            return
        caution = "" if card.is_winner else "This variant is not the winner of the optimization."
        note = card.said.get("note") or ""
        self._ask_to_apply(card.name, card.row["content"] or "", caution, note=note, variant_id=card.id)

    def _ask_to_apply(self, name: str, text: str, caution: str, *, note: str = "", **which: Any) -> None:
        """Ask whether a text becomes the current version, beside the text that it replaces."""
        if self._refuse_if_changed():
            return
        current = self._current()
        words = f"It becomes the current version of the prompt {current.name}. You can undo this."
        self._confirm(
            f"Apply {name}?",
            h("p.plw-foreign", words),
            self._rehearsal(),
            caution and _warning(caution),
            _comparison((f"Current version: {current.name}", current.text), (f"New: {name}", text)),
            label=_NOTE,
            value=note,
            button=f"Apply {name}",
            act=lambda said: self._apply(name, said, **which),
        )

    def _apply(self, name: str, note: str, **which: Any) -> None:
        """Make a variant or a text the current version, unless somebody changed the prompt meanwhile."""
        version_id, review = self._current().version_id, self._review
        # A service that keeps versions compares them itself, in the same step as it applies.
        if version_id is None and self._refuse_if_changed():
            return
        try:
            answer = review.optimization.apply(
                **which,
                if_version_id=version_id,
                note=note or None,
                rehearsal=review.rehearsal,  # whoever confirmed has read that it is one
            )
        except InvalidState as error:
            if "liveVersionId" in error.details and self._refuse_if_changed():
                return
            raise
        undo = f" To revert this: Undo, or lift.undo({answer.action_id!r})." if answer.action_id else ""
        applied = name.capitalize() if "content" in which else name
        self._report(f"{applied} is now the current version.{undo}", undo=answer.action_id)

    def _rehearsal(self) -> Node | None:
        return _warning(REHEARSAL) if self._review.rehearsal else None

    def _refuse_if_changed(self) -> bool:
        """Return whether the prompt was changed since this review was opened; if so, show both texts."""
        before = self._current()
        now = read_current_version(self._lift, self._review.optimization.prompt_id or "", name=before.name)
        if now == before:
            return False
        words = f"Somebody changed the prompt {now.name}. Compare both texts; press Refresh to continue with the current one."
        texts = ("When this review was opened", before.text), ("Current version", now.text)
        self._pending = None
        self._open_dialog(
            "Not done: the prompt was changed after this review was opened",
            h("p.plw-foreign", words),
            _comparison(*texts, opened=True),
            buttons=[push("Refresh", "refresh", ".plw-refresh-now")],
        )
        return True

    # Stop and undo.

    def _confirm_stop_if_running(self) -> None:
        status = self._review.optimization.status
        if status in STOPPABLE:
            self._confirm_stop(self._stop)
        else:
            self._notify(f"The optimization is {status}; there is nothing to stop.", "bad")

    def _stop(self, reason: str) -> None:
        self._review.optimization.stop(reason or None)
        self._report("The optimization was stopped.", measured=True)

    def _confirm_undo(self, action_id: str) -> None:
        action = next((row for row in self._review.actions if row["action_id"] == action_id), None)
        if action is None or self._refuse_if_changed():
            return
        current, version_id = self._current(), action["from_version_id"]
        versions = records(self._lift.versions(action["prompt_id"]))
        before = next((row["content"] for row in versions if row["version_id"] == version_id), None)
        if before is None:
            self._notify("The previous text is no longer kept, so this cannot be undone.", "bad")
            return
        self._confirm(
            "Restore the previous text?",
            h("p.plw-foreign", f"The prompt {current.name} gets exactly the text it had before."),
            _comparison(("Current version", current.text), ("Previous text", before)),
            label=_NOTE,
            button="Undo",
            act=lambda note: self._undo(action_id, note),
        )

    def _undo(self, action_id: str, note: str) -> None:
        self._lift.undo(action_id, note=note or None)
        self._report("The previous text is the current version again.")

    # Notes and verdicts.

    def _decide(self, event: Event) -> None:
        verdict = event.get("verdict")
        before = self._review.verdicts.get(event.get("variant", ""), {}).get("verdict")
        self._mark(event, verdict=None if verdict == before else verdict)

    def _mark(self, event: Event, **changes: str | None) -> None:
        card = self._card(event.get("variant", ""))
        try:
            kept = self._review.optimization.mark(card.id, **changes)
        except PromptliftError as error:
            self._notify(f"This was not saved. {explain_failure(error)}", "bad")
            return
        self._review.verdicts[card.id] = {"verdict": kept.verdict, "note": kept.note}

    # A text put together by hand.

    def _switch(self, variant_id: str, edit_id: str) -> None:
        one = self._review.candidate(variant_id)
        known = [] if one is None else [edit.id for edit in one.edits or () if switches(edit)]
        if one is None or edit_id not in known or not can_switch(one, self._review.original_text):
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
            h("p.plw-warning.plw-foreign", _UNTESTED if same is None else f"This is the text of {same}."),
            h("p.plw-soft", describe_difference(before, text)),
            diff_block(diff_lines(before, text)),
            same is None and buttons,
        )

    def _made_text(self, variant_id: str) -> str:
        one, switched = self._review.candidate(variant_id), self._switched.get(variant_id)
        if one is None or not switched:
            raise InvalidState("No edit of this variant is switched; press Refresh")
        able = [edit for edit in one.edits or () if switches(edit)]
        kept = [edit for edit in able if (edit.state == "kept") != (edit.id in switched)]
        return assembled(self._review.original_text, kept)

    def _confirm_test(self, variant_id: str) -> None:
        card, text, current = self._card(variant_id), self._made_text(variant_id), self._current()
        self._confirm(
            f"Test the text put together from {card.name}?",
            h("p", _TESTING),
            self._rehearsal(),
            _comparison((f"Current version: {current.name}", current.text), ("To be tested", text)),
            label="Name of the variant",
            value=one_line(f"{card.name}, by hand", _NAME_CHARS),
            button="Test it",
            act=lambda name: self._test(text, name),
        )

    def _test(self, text: str, name: str) -> None:
        optimization = self._review.optimization
        begun = self._lift.optimize(
            optimization.prompt_id or "",
            mode=optimization.mode,
            candidates={one_line(name, _NAME_CHARS) or "By hand": text},
            search="off",
            wait=False,
        )
        self._notify(f"The text is being tested: widgets.VariantReview(lift, {begun.id!r}) shows the result.")

    def _confirm_apply_made(self, variant_id: str) -> None:
        card, text = self._card(variant_id), self._made_text(variant_id)
        note = one_line(f"Put together by hand from {card.name}, untested", _NAME_CHARS)
        self._ask_to_apply("the text put together by hand", text, _UNTESTED, note=note, content=text)

    # Reading again.

    def _refresh(self) -> None:
        self._use(read_review(self._lift, self._id))
        self._close_dialog()
        self._notify(" ".join(self._review.problems), "bad")

    def _report(self, words: str, *, undo: str | None = None, measured: bool = False) -> None:
        """Report what was done, with a button to undo it, and show what it changed; it is reported even when reading fails."""
        before = self._review
        # Should reading fail, what is known of the prompt is out of date.
        self._review = replace(before, current=None)
        try:
            self._use(read_after_change(self._lift, before, measured=measured))
        except PromptliftError as error:
            words = f"{words} What you see is out of date: {explain_failure(error)}"
        known = any(row["action_id"] == undo for row in self._review.actions)
        self._notify(words, undo=undo if known else None)

    def _list_actions(self) -> Nodes:
        """Return the newest actions on the prompt, with a button to undo the newest change of the text."""
        actions, names = self._review.actions, {card.id: card.name for card in self._cards}
        changed = (
            row["action_id"]
            for row in actions
            if row["kind"] != "stop" and row["from_version_id"] != row["to_version_id"]
        )
        newest = next(changed, None)
        shown = []
        for row in actions[:_ACTIONS]:
            of, when = row["action_id"], row["acted_at"]
            words = [
                h("span.plw-soft", "" if when is None else f"{when:%Y-%m-%d %H:%M} UTC"),
                h("b", row["kind"]),
                h("span.plw-foreign", names.get(row["variant_id"] or "", "")),
                row["undone"] and badge("undone"),
                row["note"] and h("span.plw-foreign.plw-soft", f"“{one_line(row['note'], 400)}”"),
                of == newest and not row["undone"] and push("Undo …", "undo", ".plw-undo", of=of),
            ]
            shown.append(h("div.plw-action", words, key=of))
        keeps = "Notes, verdicts and actions are kept by the service."
        if not self._review.keeps_notes:
            keeps = "This service keeps no notes, verdicts and actions."
        count = counted(len(actions), "action")
        return [*([fold(count, shown)] if shown else []), h("div.plw-soft.plw-kept", keeps)]


def _comparison(before: tuple[str, str], after: tuple[str, str], *, opened: bool = False) -> Nodes:
    """Return the part of a dialog that compares two named texts."""
    whole = []
    for name, text in (before, after):
        kept, cut = shorten(visible(text), _TEXT_CHARS)
        shown = f"{kept}\n… {cut:,} more characters" if cut else kept
        whole.append(fold(name, h("div.plw-foreign.plw-whole", shown), opened=opened))
    diff = diff_block(diff_lines(before[1], after[1]))
    return [h("p.plw-soft", describe_difference(before[1], after[1])), *([diff] if diff else []), *whole]


def _warning(words: str) -> Node:
    return h("p.plw-warning.plw-foreign", f"⚠ {words}")
