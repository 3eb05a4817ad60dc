"""The protocol of stores for reviews and actions, and the store of a service that keeps them itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task
from promptlift.errors import ConnectionFailed, InvalidState, ServerError, UnexpectedResponse
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.client import Client
    from promptlift.schema.optimizations import ApplyAnswer, StopAnswer, VariantReview
    from promptlift.schema.prompts import UndoAnswer

__all__ = ["ReviewStore", "ServiceReviewStore", "explained_apply"]


class ReviewStore(Protocol):
    """Carry out actions and keep a record of them, and keep reviews of variants.

    The workspace calls a store with ids that it has found and with values that it has checked. Every method may raise
    what a request raises; a store on a file also raises ``ConfigError`` when the file cannot be used. Rows are those of
    the API, whoever keeps them.

    Attributes
    ----------
    kept
        ``"service"`` or ``"file"``; tables of reviews and actions say it.
    """

    kept: str

    def apply(
        self,
        optimization_id: str,
        variant_id: str | None,
        *,
        if_version_id: str | None,
        rehearsal: bool,
        note: str | None,
    ) -> ApplyAnswer:
        """Make a variant the current text of the prompt, and record it."""

    def apply_text(
        self, optimization_id: str, content: str, *, if_version_id: str | None, note: str | None
    ) -> ApplyAnswer:
        """Make a text of no variant the current text of the prompt, and record it."""

    def stop(self, optimization_id: str, reason: str | None, *, note: str | None) -> StopAnswer:
        """Stop an optimization, and record it."""

    def undo(self, action_id: str, *, note: str | None) -> UndoAnswer:
        """Bring back the text from before an action, and record it."""

    def actions(self, prompt_id: str | None, optimization_id: str | None) -> RowsRead:
        """Read actions, newest first."""

    def reviews(self, optimization_id: str) -> RowsRead:
        """Read the reviews of the variants of an optimization."""

    def review_variant(self, optimization_id: str, variant_id: str, changes: dict[str, Any]) -> VariantReview:
        """Change the verdict or the note of a variant, or both; return its review."""

    def version_text(self, prompt_id: str, version_id: str) -> str | None:
        """Read the text of a version that an action names, ``None`` when it is not kept any more."""


@contextlib.contextmanager
def explained_apply(optimization_id: str) -> Iterator[None]:
    """Add what to do next to the message of an apply that failed."""
    try:
        yield
    except (ConnectionFailed, ServerError, UnexpectedResponse) as error:
        error.message = f"{error.message}. The variant may be live all the same; look at the prompt before applying again."
        raise
    except InvalidState as error:
        if "acceptRehearsal" in error.details:
            error.message = f"{error.message}: rehearsal=True in lift.apply"
        elif not error.details or error.details.get("status") in ("queued", "running"):
            error.message = (
                f"{error.message}. lift.wait({optimization_id!r}) waits for the end of one that runs"
            )
        raise


class ServiceReviewStore:
    """Reviews and actions of a service that keeps them itself.

    Parameters
    ----------
    client
        Client of the service.
    """

    kept = "service"

    def __init__(self, client: Client) -> None:
        self._client = client

    def apply(
        self,
        optimization_id: str,
        variant_id: str | None,
        *,
        if_version_id: str | None,
        rehearsal: bool,
        note: str | None,
    ) -> ApplyAnswer:
        """Apply a variant; the service records it."""
        with explained_apply(optimization_id):
            return self._client.optimizations.apply(
                optimization_id,
                variant_id=variant_id,
                if_version_id=if_version_id,
                accept_rehearsal=rehearsal or None,
                note=note,
            )

    def apply_text(
        self, optimization_id: str, content: str, *, if_version_id: str | None, note: str | None
    ) -> ApplyAnswer:
        """Apply a text of no variant; the service records it."""
        with explained_apply(optimization_id):
            return self._client.optimizations.apply(
                optimization_id, content=content, if_version_id=if_version_id, note=note
            )

    def stop(self, optimization_id: str, reason: str | None, *, note: str | None) -> StopAnswer:
        """Stop an optimization; the service records it."""
        return self._client.optimizations.stop(optimization_id, reason=reason, note=note)

    def undo(self, action_id: str, *, note: str | None) -> UndoAnswer:
        """Undo an action; the service records it."""
        return self._client.actions.undo(action_id, note=note)

    def actions(self, prompt_id: str | None, optimization_id: str | None) -> RowsRead:
        """Read all pages of actions."""
        filters = {"prompt_id": prompt_id, "optimization_id": optimization_id}
        return read_offered(self._client.transport, endpoints.ACTIONS_LIST, filters=filters, task=Task())

    def reviews(self, optimization_id: str) -> RowsRead:
        """Read the reviews in one request."""
        rows = [one.to_wire() for one in self._client.reviews.get(optimization_id).data]
        return RowsRead(rows, len(rows), 1, complete=True)

    def review_variant(self, optimization_id: str, variant_id: str, changes: dict[str, Any]) -> VariantReview:
        """Send the changes."""
        return self._client.reviews.update(optimization_id, variant_id=variant_id, **changes)

    def version_text(self, prompt_id: str, version_id: str) -> str | None:
        """Look for the version among all of the prompt."""
        read = read_offered(self._client.transport, endpoints.PROMPTS_VERSIONS, prompt_id, task=Task())
        return next((row["content"] for row in read.rows if row["id"] == version_id), None)
