"""``VariantReview``: variants side by side, what differs, where they fail, and the decision."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import traitlets

from promptlift.errors import InvalidState, PromptliftError
from promptlift.schema.inert import one_line, shorten, visible
from promptlift.widgets import review_twin
from promptlift.widgets.acting import ActingWidget, acting_front, words_for_failure
from promptlift.widgets.review_cards import REHEARSAL, Card, cards_of, headline
from promptlift.widgets.review_examples import OUTCOMES, Examples
from promptlift.widgets.review_reading import Live, read_live, read_notes, read_review
from promptlift.widgets.word_diff import diff_lines, what_differs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markupsafe import Markup

    from promptlift.widgets.acting import Wish
    from promptlift.widgets.static import DiffLine
    from promptlift.workspace import Workspace

__all__ = ["VariantReview"]

_TEXT_CHARS: Final = 60_000
_TWIN_EXAMPLES: Final = ("gained", "lost")
_STOPPABLE: Final = ("queued", "running")


class VariantReview(ActingWidget):
    """Review the variants of an optimization, and decide.

    Shows variants side by side with their lift, interval and confidence drawn, the words that differ, simulated
    conversations of control and variant beside each other, notes and verdicts. Apply, Stop and Undo ask first and show
    what will change. Nothing is done without these clicks: running the cell again, Run All, papermill and nbconvert only
    show. When somebody else has changed the prompt since this review was opened, Apply refuses and shows both texts.

    Notes, verdicts and actions are kept by the embedded service, or in ``promptlift-review.json`` in the notebook's
    folder, and are there again when the review is opened again. ``lift.actions()`` lists what was done, ``lift.undo``
    takes it back.

    Parameters
    ----------
    lift
        Workspace to read from and to act with.
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

    _esm = acting_front("review", "js")
    _css = acting_front("review", "css")

    _said = traitlets.Dict().tag(sync=True)
    _examples = traitlets.Dict().tag(sync=True)

    def __init__(self, lift: Workspace, optimization_id: str) -> None:
        self._lift = lift
        self._id = optimization_id
        self._read()
        self._twin_examples = self._examples_of_twin()
        super().__init__(_view=self._show(), _said=self._said_now(), _examples=self._listed)
        if self._review.problems:
            self._say(" ".join(self._review.problems), "bad")

    def _read(self) -> None:
        """Read everything; what is live now is what later changes are compared with."""
        self._review = read_review(self._lift, self._id)
        self._cards = cards_of(self._review)
        self._opened: Live | None = self._review.live
        self._pairs = Examples(self._lift, self._id, self._review.simulations)
        self._listed: dict[str, Any] = self._first_listing()

    def _handlers(self) -> Mapping[str, Callable[[Wish], None]]:
        return {
            "apply": lambda wish: self._ask_to_apply(wish.target),
            "stop": lambda _: self._ask_to_stop(),
            "undo": lambda wish: self._ask_to_undo(wish.target),
            "refresh": lambda _: self._refresh(),
            "verdict": lambda wish: self._keep(wish.target, verdict=wish.text or None),
            "note": lambda wish: self._keep(wish.target, note=wish.text or None),
            "examples": lambda wish: self._list_examples(wish.target, wish.text),
            "pair": lambda wish: self._open_pair(wish.target),
        }

    # Apply.

    def _ask_to_apply(self, variant_id: str) -> None:
        card = self._card(variant_id)
        if card.why_not:
            self._say(f"{card.name} was not applied: {card.why_not}", "bad")
            return
        if self._changed_by_others():
            return
        live = self._live()
        content = self._content(variant_id)
        warnings = [REHEARSAL] if self._review.rehearsal else []
        if not any("winner" in words for words, _ in card.marks):
            warnings.append("This is not the winner of the optimization.")
        self._ask(
            {
                "title": f"Apply {card.name}?",
                "lines": [
                    f"It becomes the live text of the prompt {live.name}. It can be undone with one click."
                ],
                "warnings": warnings,
                "differs": what_differs(live.text, content),
                "diff": _wire(diff_lines(live.text, content)),
                "texts": [
                    [f"Live now: {live.name}", _bounded(live.text)],
                    [f"New: {card.name}", _bounded(content)],
                ],
                "field": "Note (kept with the action)",
                "value": card.note,
                "button": f"Apply {card.name}",
            },
            lambda note: self._apply(variant_id, note),
        )

    def _apply(self, variant_id: str, note: str) -> None:
        if self._changed_by_others():
            return
        card, live = self._card(variant_id), self._live()
        try:
            answer = self._lift.apply(self._id, variant_id, if_version_id=live.version_id, note=note or None)
        except InvalidState as error:
            if "liveVersionId" in error.details and self._changed_by_others():
                return
            raise
        undo = (
            f" To take it back: Undo below, or lift.undo({answer.action_id!r})." if answer.action_id else ""
        )
        self._done(f"{card.name} is live now.{undo}")

    def _changed_by_others(self) -> bool:
        """Refuse when another text is live than when this review was opened, and show both."""
        before = self._live()
        now = read_live(self._lift, self._review.optimization.prompt_id or "")
        if now.same_as(before):
            return False
        self._tell(
            {
                "title": "Not done: the prompt was changed since this review was opened",
                "lines": [
                    f"Somebody changed the prompt {now.name}. Look at both texts. Refresh takes the live one as the new start."
                ],
                "warnings": [],
                "differs": what_differs(before.text, now.text),
                "diff": _wire(diff_lines(before.text, now.text)),
                "texts": [
                    ["When this review was opened", _bounded(before.text)],
                    ["Live now", _bounded(now.text)],
                ],
                "refresh": True,
            }
        )
        return True

    # Stop and undo.

    def _ask_to_stop(self) -> None:
        if self._review.optimization.status not in _STOPPABLE:
            self._say(
                f"The optimization is {self._review.optimization.status}; there is nothing to stop.", "bad"
            )
            return
        self._ask_before_stop(self._stop)

    def _stop(self, reason: str) -> None:
        self._lift.stop(self._id, reason or None)
        self._done("The optimization was stopped.")

    def _ask_to_undo(self, action_id: str) -> None:
        action = next((row for row in self._review.actions if row["action_id"] == action_id), None)
        if action is None or self._changed_by_others():
            return
        live = self._live()
        before = self._lift.version_text(action["prompt_id"], action["from_version_id"] or "")
        if before is None:
            self._say("The text from before is not kept any more, so it cannot be undone.", "bad")
            return
        self._ask(
            {
                "title": "Bring back the text from before?",
                "lines": [f"The prompt {live.name} gets its former text back, byte for byte."],
                "differs": what_differs(live.text, before),
                "diff": _wire(diff_lines(live.text, before)),
                "texts": [["Live now", _bounded(live.text)], ["From before", _bounded(before)]],
                "field": "Note (kept with the action)",
                "value": "",
                "button": "Undo",
            },
            lambda note: self._undo(action_id, note),
        )

    def _undo(self, action_id: str, note: str) -> None:
        self._lift.undo(action_id, note=note or None)
        self._done("The text from before is live again.")

    # Notes.

    def _keep(self, variant_id: str, **said: str | None) -> None:
        card = self._card(variant_id)
        try:
            self._lift.review_variant(self._id, card.id, **said)
        except PromptliftError as error:
            self._say(f"This was not kept. {words_for_failure(error)}", "bad")
            return
        read_notes(self._lift, self._review)
        self._cards = cards_of(self._review)
        self._said = self._said_now()

    def _said_now(self) -> dict[str, Any]:
        return {card.id: [card.verdict, card.note] for card in self._cards}

    # Reading.

    def _refresh(self) -> None:
        self._read()
        self._update()
        self._close_dialog()
        self._say(" ".join(self._review.problems), "bad")

    def _done(self, words: str) -> None:
        """Say what was done, and read everything again; that it was done is said even when reading fails."""
        try:
            self._read()
            self._update()
        except PromptliftError as error:
            words = f"{words} What is shown is older: {words_for_failure(error)}"
        self._say(words)

    def _update(self) -> None:
        with self.hold_sync():
            self._view = self._show()
            self._said = self._said_now()
            self._examples = self._listed

    def _live(self) -> Live:
        if self._opened is None:
            raise InvalidState("The prompt could not be read when this review was opened; press Refresh")
        return self._opened

    def _card(self, variant_id: str) -> Card:
        card = next((one for one in self._cards if one.id == variant_id), None)
        if card is None:
            raise InvalidState("This variant is not there any more; press Refresh")
        return card

    def _content(self, variant_id: str) -> str:
        row = self._review.variant(variant_id)
        return "" if row is None else row["content"] or ""

    # Examples.

    def _first_listing(self) -> dict[str, Any]:
        shown = [card for card in self._cards if not card.original]
        if not self._pairs.offered or not shown:
            return {"offered": self._pairs.offered, "variants": []}
        best = next((card for card in shown if any("winner" in words for words, _ in card.marks)), shown[0])
        first = next((card for card in (best, *shown) if self._pairs.pairs(card.id)), best)
        outcome = (
            "disagree" if any(one.fits("disagree", "", "") for one in self._pairs.pairs(first.id)) else ""
        )
        return self._listing(first.id, outcome)

    def _listing(
        self, variant_id: str, outcome: str, persona: str = "", scenario: str = ""
    ) -> dict[str, Any]:
        names = [[card.id, card.name] for card in self._cards if not card.original]
        listing = self._pairs.listing(variant_id, outcome=outcome, persona=persona, scenario=scenario)
        return {"offered": True, "variants": names, **listing, "opened": None}

    def _list_examples(self, variant_id: str, filters: str) -> None:
        try:
            given = json.loads(filters or "{}")
        except ValueError:
            return
        if not isinstance(given, dict) or not self._pairs.offered:
            return
        outcome = str(given.get("outcome") or "")
        self._examples = self._listing(
            self._card(variant_id).id,
            outcome if outcome in OUTCOMES else "",
            str(given.get("persona") or ""),
            str(given.get("scenario") or ""),
        )

    def _open_pair(self, target: str) -> None:
        stage, _, cell = target.partition(":")
        if cell.isdecimal() and self._examples.get("variant"):
            opened = self._pairs.open(self._examples["variant"], stage, int(cell))
            self._examples = {**self._examples, "opened": opened}

    def _examples_of_twin(self) -> list[tuple[str, dict[str, Any]]]:
        """One pair where the variant gained and one where it lost, for the page without scripts."""
        variant_id = self._listed.get("variant")
        if not variant_id:
            return []
        found = []
        try:
            for outcome in _TWIN_EXAMPLES:
                pair = next((one for one in self._pairs.pairs(variant_id) if one.fits(outcome, "", "")), None)
                opened = pair and self._pairs.open(variant_id, pair.stage, pair.cell)
                if opened:
                    found.append((self._card(variant_id).name, opened))
        except PromptliftError as error:
            self._review.problems.append(f"An example could not be read: {error}")
        return found

    # What is shown.

    def _show(self) -> dict[str, Any]:
        optimization = self._review.optimization
        explanation = optimization.results.explanation if optimization.results else None
        return {
            "head": [list(pair) for pair in headline(self._review)],
            "rehearsal": REHEARSAL if self._review.rehearsal else "",
            "explanation": one_line(
                explanation or optimization.failure or optimization.stop_reason or "", 800
            ),
            "can_stop": optimization.status in _STOPPABLE,
            "cards": [_card_wire(card) for card in self._cards],
            "actions": self._actions_wire(),
            "kept": "promptlift-review.json" if self._review.kept_in_file else "",
        }

    def _actions_wire(self) -> list[dict[str, Any]]:
        names = {card.id: card.name for card in self._cards}
        undoable = True
        shown = []
        for row in self._review.actions[:12]:
            changed = row["kind"] != "stop" and row["from_version_id"] != row["to_version_id"]
            shown.append(
                {
                    "id": row["action_id"],
                    "kind": row["kind"],
                    "name": names.get(row["variant_id"] or "", ""),
                    "when": row["acted_at"].strftime("%Y-%m-%d %H:%M UTC")
                    if row["acted_at"] is not None
                    else "",
                    "note": one_line(row["note"] or "", 300),
                    "undone": bool(row["undone"]),
                    "undo": bool(changed and undoable and not row["undone"]),
                }
            )
            # Only the newest change of the text can be undone.
            undoable = undoable and not changed
        return shown

    def _static(self) -> Markup:
        return review_twin.draw(self._review, self._cards, self._twin_examples)

    def _plain(self) -> str:
        return f"VariantReview({len(self._cards)} texts, optimization {self._review.optimization.status})"


def _card_wire(card: Card) -> dict[str, Any]:
    return {
        **asdict(card),
        "effect_pieces": [[piece.kind, piece.width] for piece in card.effect_pieces],
        "confidence_pieces": [[piece.kind, piece.width] for piece in card.confidence_pieces],
        "diff": _wire(card.diff),
    }


def _wire(lines: Sequence[DiffLine]) -> list[list[Any]]:
    return [[line.mark, [list(part) for part in line.parts]] for line in lines]


def _bounded(text: str) -> str:
    kept, cut = shorten(visible(text), _TEXT_CHARS)
    return f"{kept}\n… {cut:,} more characters" if cut else kept
