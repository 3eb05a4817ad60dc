"""Reviews and actions with a service that keeps none: in a file beside the notebook, with the texts that undoing needs."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import ConnectionFailed, InvalidState, NotFound, ServerError, UnexpectedResponse
from promptlift.schema.model import to_wire_time
from promptlift.schema.optimizations import ApplyAnswer, VariantReview
from promptlift.schema.prompts import UndoAnswer
from promptlift.workspace.reviewing.file import ReviewFile
from promptlift.workspace.reviewing.store import explained_apply

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from promptlift.client import Client
    from promptlift.schema.optimizations import StopAnswer

    Row = dict[str, Any]

__all__ = ["FileReviewStore"]

# After these it is unknown whether the service did what it was asked to do.
_OUTCOME_UNKNOWN: Final = (ConnectionFailed, ServerError, UnexpectedResponse, KeyboardInterrupt)


class FileReviewStore:
    """Reviews and actions of a service that keeps none of them, in a file.

    An action is recorded before it is carried out, so that no text is lost when this process ends in between.

    Parameters
    ----------
    client
        Client of the service.
    path
        The file; ``None`` is ``promptlift-review.json`` in the current working directory.
    """

    kept = "file"

    def __init__(self, client: Client, path: Path | None = None) -> None:
        self._client = client
        self._path = path

    def apply(
        self,
        optimization_id: str,
        variant_id: str | None,
        *,
        if_version_id: str | None,
        rehearsal: bool,
        note: str | None,
    ) -> ApplyAnswer:
        """Apply a variant; the note goes into the file and not to the service, which would not know it."""
        prompt_id = self._prompt_of(optimization_id)
        row = self._record("apply", prompt_id, note, optimizationId=optimization_id, variantId=variant_id)
        with explained_apply(optimization_id):
            answer: ApplyAnswer = self._carry_out(
                row,
                lambda: self._client.optimizations.apply(
                    optimization_id,
                    variant_id=variant_id,
                    if_version_id=if_version_id,
                    accept_rehearsal=rehearsal or None,
                ),
            )
        row["variantId"] = answer.applied_variant_id or variant_id
        self._complete(row)
        answer.action_id = row["id"]
        return answer

    def apply_text(
        self, optimization_id: str, content: str, *, if_version_id: str | None, note: str | None
    ) -> ApplyAnswer:
        """Send a text of no variant; the service knows neither versions nor the note."""
        prompt_id = self._prompt_of(optimization_id)
        row = self._record(
            "apply",
            prompt_id,
            note,
            optimizationId=optimization_id,
            check=lambda current: _check_version(current, if_version_id),
        )
        self._carry_out(row, lambda: self._client.prompts.update(prompt_id, content=content))
        self._complete(row)
        return ApplyAnswer(
            success=True,
            prompt_id=prompt_id,
            action_id=row["id"],
            previous_version_id=row["fromVersionId"],
            version_id=row["toVersionId"],
            changed=row["fromContent"] != row["toContent"],
        )

    def stop(self, optimization_id: str, reason: str | None, *, note: str | None) -> StopAnswer:
        """Stop an optimization."""
        prompt_id = self._prompt_of(optimization_id)
        row = self._record(
            "stop", prompt_id, note if note is not None else reason, optimizationId=optimization_id
        )
        answer: StopAnswer = self._carry_out(
            row, lambda: self._client.optimizations.stop(optimization_id, reason=reason)
        )
        self._complete(row)
        return answer

    def undo(self, action_id: str, *, note: str | None) -> UndoAnswer:
        """Send the text from before an action, unless the current one was changed since."""
        file = self._file()
        done = next((row for row in file.actions() if row["id"] == action_id), None)
        if done is None:
            raise NotFound(
                f"Action not found: {file.path.name} has none of this id; lift.actions() lists them"
            )
        _check_undoable(done)
        prompt_id, before = done["promptId"], done["fromContent"]
        row = self._record(
            "undo",
            prompt_id,
            note,
            optimizationId=done["optimizationId"],
            variantId=done["variantId"],
            undoes=action_id,
            check=lambda current: _check_unchanged(current, done),
        )
        self._carry_out(row, lambda: self._client.prompts.update(prompt_id, content=before))
        self._complete(row)
        if row["toContent"] != before:
            raise UnexpectedResponse(
                "The service keeps another text than the one that was sent; look at the prompt"
            )
        file.amend(action_id, {"undoneBy": row["id"], "undoneAt": row["createdAt"]})
        return UndoAnswer(
            success=True,
            prompt_id=prompt_id,
            action_id=row["id"],
            message="The previous text is current again",
        )

    def actions(self, prompt_id: str | None, optimization_id: str | None) -> RowsRead:
        """Read actions from the file."""
        rows = [
            row
            for row in self._file().actions()
            if prompt_id in (None, row["promptId"]) and optimization_id in (None, row["optimizationId"])
        ]
        return RowsRead(rows, len(rows), 0, complete=True)

    def reviews(self, optimization_id: str) -> RowsRead:
        """Read reviews from the file."""
        rows = list(self._file().reviews(optimization_id).values())
        return RowsRead(rows, len(rows), 0, complete=True)

    def review_variant(self, optimization_id: str, variant_id: str, changes: dict[str, Any]) -> VariantReview:
        """Write the changes into the file, with the time."""
        timed = {**changes, "updatedAt": to_wire_time(datetime.now(UTC))}
        return VariantReview.from_wire(self._file().update_review(optimization_id, variant_id, timed))

    def version_text(self, prompt_id: str, version_id: str) -> str | None:
        """Look for a text before or after an action."""
        for row in self._file().actions():
            for end in ("from", "to"):
                if row["promptId"] == prompt_id and row[f"{end}VersionId"] == version_id:
                    text: str | None = row[f"{end}Content"]
                    return text
        return None

    def _file(self) -> ReviewFile:
        return ReviewFile(self._client.config.base_url, self._path)

    def _prompt_of(self, optimization_id: str) -> str:
        return self._client.optimizations.get(optimization_id).prompt_id or ""

    def _current_text(self, prompt_id: str) -> str | None:
        try:
            return self._client.prompts.get(prompt_id).content
        except NotFound:
            return None

    def _record(
        self,
        kind: str,
        prompt_id: str,
        note: str | None,
        *,
        check: Callable[[str | None], None] | None = None,
        **values: Any,
    ) -> Row:
        """Record an action that is about to be carried out."""
        current = None if kind == "stop" else self._current_text(prompt_id)
        if check is not None:
            check(current)
        row: Row = {
            "id": f"act_{secrets.token_hex(12)}",
            "kind": kind,
            "promptId": prompt_id,
            "optimizationId": None,
            "variantId": None,
            "fromContent": current,
            "fromVersionId": _digest(current),
            "toContent": None,
            "toVersionId": None,
            "note": note or None,
            "undoes": None,
            "undoneBy": None,
            "undoneAt": None,
            "createdAt": to_wire_time(datetime.now(UTC)),
            "outcome": "unknown",
            **values,
        }
        self._file().add(row)
        return row

    def _carry_out(self, row: Row, act: Callable[[], Any]) -> Any:
        """Carry out an action; remove its record when it certainly was not done."""
        try:
            return act()
        except BaseException as error:
            if not isinstance(error, _OUTCOME_UNKNOWN):
                self._file().amend(row["id"], None)
            raise

    def _complete(self, row: Row) -> None:
        """Record that an action was done, and the text after it."""
        row["outcome"] = "done"
        if row["kind"] != "stop":
            row["toContent"] = self._current_text(row["promptId"])
            row["toVersionId"] = _digest(row["toContent"])
        self._file().amend(row["id"], row)


def _check_undoable(row: Row) -> None:
    """Refuse what cannot be undone, in the words of the embedded service."""
    if row["kind"] == "stop":
        raise InvalidState("A stop cannot be undone; start a new optimization")
    if row["undoneBy"] is not None:
        raise InvalidState("The action was undone already", details={"undoneBy": row["undoneBy"]})
    if row["outcome"] == "unknown":
        raise InvalidState(
            "No answer came to this action, so it is not known which text it made live; look at the prompt"
        )
    if row["fromContent"] is None or row["fromContent"] == row["toContent"]:
        raise InvalidState("The action changed no text, so there is nothing to undo")


def _check_unchanged(current: str | None, done: Row) -> None:
    if current != done["toContent"]:
        raise _changed(current)


def _check_version(current: str | None, wanted: str | None) -> None:
    if wanted is not None and _digest(current) != wanted:
        raise _changed(current)


def _changed(current: str | None) -> InvalidState:
    return InvalidState(
        "The text was changed by someone else in the meantime; read the current version and try again",
        details={"liveVersionId": _digest(current)},
    )


def _digest(content: str | None) -> str | None:
    if content is None:
        return None
    return f"text_{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
