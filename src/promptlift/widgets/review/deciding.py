"""What a review changes, each after a click: apply, stop, undo, verdicts and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import InvalidState, PromptliftError
from promptlift.schema.inert import one_line, shorten, visible
from promptlift.widgets.review.cards import REHEARSAL
from promptlift.widgets.review.reading import (
    CurrentVersion,
    read_after_change,
    read_after_stop,
    read_current_version,
    read_review,
    records,
)
from promptlift.widgets.review.variants import make_cards
from promptlift.widgets.tree import badge, diff_block, h
from promptlift.widgets.tree_widget import TreeWidget, explain_failure, push
from promptlift.widgets.word_diff import describe_difference, diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.widgets.review.cards import Card
    from promptlift.widgets.review.reading import Review
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import Workspace

__all__ = ["STOPPABLE", "Deciding", "comparison", "warning"]

STOPPABLE: Final = ("queued", "running")
_ACTIONS: Final = 12
_TEXT_CHARS: Final = 60_000
_NOTE: Final = "Note (kept with the action)"


class Deciding(TreeWidget):
    """The part of a review that changes something."""

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        self._lift, self._id = lift, optimization_id
        self._use(read_review(lift, optimization_id))
        super().__init__()

    def _use(self, review: Review) -> None:
        """Show a review from now on; later changes of the prompt are detected against its current version."""
        self._review, self._cards = review, make_cards(review)

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "apply": lambda event: self._confirm_apply(event.get("variant", "")),
            "stop": lambda _: self._confirm_stop_if_running(),
            "undo": lambda event: self._confirm_undo(event.get("of", "")),
            "refresh": lambda _: self._refresh(),
            "verdict": self._decide,
            "note": lambda event: self._mark(event, note=event.get("note") or None),
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
        self._ask_to_apply(
            card.name,
            card.row["content"] or "",
            card.said.get("note") or "",
            "" if card.is_winner else "This variant is not the winner of the optimization.",
            variant_id=card.id,
            rehearsal=self._review.rehearsal,
        )

    def _ask_to_apply(self, name: str, text: str, note: str, caution: str, **which: Any) -> None:
        if self._refuse_if_changed():
            return
        current = self._current()
        self._confirm(
            f"Apply {name}?",
            h(
                "p.plw-foreign",
                f"It becomes the current version of the prompt {current.name}. You can undo this.",
            ),
            self._review.rehearsal and warning(REHEARSAL),
            caution and warning(caution),
            comparison((f"Current version: {current.name}", current.text), (f"New: {name}", text)),
            label=_NOTE,
            value=note,
            button=f"Apply {name}",
            act=lambda said: self._apply(name, said, **which),
        )

    def _apply(self, name: str, note: str, **which: Any) -> None:
        """Make a variant or a text the current version, unless somebody changed the prompt meanwhile."""
        version_id = self._current().version_id
        # A service that keeps versions compares them itself, in the same step as it applies.
        if version_id is None and self._refuse_if_changed():
            return
        try:
            answer = self._review.optimization.apply(if_version_id=version_id, note=note or None, **which)
        except InvalidState as error:
            if "liveVersionId" in error.details and self._refuse_if_changed():
                return
            raise
        undo = f" To revert this: Undo, or lift.undo({answer.action_id!r})." if answer.action_id else ""
        applied = name.capitalize() if "content" in which else name
        self._report(f"{applied} is now the current version.{undo}", read_after_change, undo=answer.action_id)

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
        if status in STOPPABLE:
            self._confirm_stop(self._stop)
        else:
            self._notify(f"The optimization is {status}; there is nothing to stop.", "bad")

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
            label=_NOTE,
            button="Undo",
            act=lambda note: self._undo(action_id, note),
        )

    def _undo(self, action_id: str, note: str) -> None:
        self._lift.undo(action_id, note=note or None)
        self._report("The previous text is the current version again.", read_after_change)

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

    # Reading again.

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

    def _list_actions(self) -> Nodes:
        """Return the newest actions on the prompt, with a button to undo the newest change of the text."""
        names = {card.id: card.name for card in self._cards}
        changes = [
            row["action_id"]
            for row in self._review.actions
            if row["kind"] != "stop" and row["from_version_id"] != row["to_version_id"]
        ]
        shown: Nodes = [
            h(
                "div.plw-action",
                h(
                    "span.plw-soft",
                    "" if row["acted_at"] is None else f"{row['acted_at']:%Y-%m-%d %H:%M} UTC",
                ),
                " ",
                h("b", row["kind"]),
                " ",
                h("span.plw-foreign", names.get(row["variant_id"] or "", "")),
                row["undone"] and [" ", badge("undone")],
                row["note"] and h("span.plw-foreign.plw-soft", f" “{one_line(row['note'], 400)}” "),
                # Only the newest change of the text can be undone.
                changes[:1] == [row["action_id"]]
                and not row["undone"]
                and push("Undo …", "undo", ".plw-undo", of=row["action_id"]),
                key=row["action_id"],
            )
            for row in self._review.actions[:_ACTIONS]
        ]
        words = (
            "Notes, verdicts and actions are kept by the service."
            if self._review.keeps_notes
            else "This service keeps no notes, verdicts and actions."
        )
        heading = [h("div.plw-heading", "Actions")] if shown else []
        return [*heading, *shown, h("div.plw-soft.plw-kept", words)]


def comparison(before: tuple[str, str], after: tuple[str, str], *, opened: bool = False) -> Nodes:
    """Return the part of a dialog that compares two named texts."""
    whole = []
    for name, text in (before, after):
        kept, cut = shorten(visible(text), _TEXT_CHARS)
        shown = f"{kept}\n… {cut:,} more characters" if cut else kept
        inside = h("div.plw-foreign.plw-whole", shown)
        whole.append(h("details.plw-text", h("summary", name), inside, open=opened))
    diff = diff_block(diff_lines(before[1], after[1]))
    return [h("p.plw-soft", describe_difference(before[1], after[1])), *([diff] if diff else []), *whole]


def warning(words: str) -> Node:
    """Return a warning of a dialog."""
    return h("p.plw-warning.plw-foreign", f"⚠ {words}")
