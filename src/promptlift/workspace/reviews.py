"""Reviews of variants, and actions on them that can be undone."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.optimizations import not_offered, read_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task
from promptlift.errors import (
    ApiError,
    ConfigError,
    ConnectionFailed,
    InvalidState,
    NotFound,
    ServerError,
    UnexpectedResponse,
)
from promptlift.schema import endpoints
from promptlift.schema.optimizations import VERDICTS, VariantReview
from promptlift.workspace.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from promptlift.schema.optimizations import ApplyAnswer, StopAnswer
    from promptlift.schema.prompts import UndoAnswer

_NO_SUCH_PATH: Final = (404, 405, 501)
_UNCHANGED: Final = object()


class Reviewing(Session):
    """Reviews of variants, and what is done about them: apply, stop and undo, each recorded.

    The embedded service keeps reviews and actions; others only apply and stop.
    """

    # Whether the service keeps them; None before it was asked.
    _keeps_reviews: bool | None = None

    def apply(
        self,
        optimization_id: str,
        variant_id: str | None = None,
        *,
        content: str | None = None,
        if_version_id: str | None = None,
        rehearsal: bool = False,
        note: str | None = None,
    ) -> ApplyAnswer:
        """Make a variant the current text of the prompt. The action is recorded: see :meth:`actions` and :meth:`undo`.

        Parameters
        ----------
        optimization_id
            A completed optimization.
        variant_id
            The variant; the winner when it is left out.
        content
            In place of a variant: a text that somebody put together from the edits of a search. Nothing was measured of it.
            Offered by the embedded service.
        if_version_id
            Only while this version of :meth:`versions` is the current one, so that no change is overwritten
            unseen. Offered by the embedded service.
        rehearsal
            Apply the variant even though the optimization was a rehearsal, which says nothing about a real prompt.
        note
            Why, in words; kept with the action. Offered by the embedded service.

        Raises
        ------
        InvalidState
            When the optimization is not completed, was a rehearsal, has no winner and no variant is named, or another
            version is the current one.
        ConfigError
            When both a variant and a text are given.
        """
        if content is not None and variant_id is not None:
            raise ConfigError(
                "Give variant_id or content, not both: the text is applied in place of a variant."
            )
        if content is not None:
            self._require_reviews()  # another service would not know the field, and apply the winner
        with _explained_apply(optimization_id):
            return self.client.optimizations.apply(
                optimization_id,
                variant_id=variant_id,
                content=content,
                if_version_id=if_version_id,
                accept_rehearsal=rehearsal or None,
                note=note,
            )

    def stop(self, optimization_id: str, reason: str | None = None, *, note: str | None = None) -> StopAnswer:
        """Stop an optimization that is queued or running; what was measured stays.

        Parameters
        ----------
        optimization_id
            The optimization.
        reason
            Why, in words; kept with it.
        note
            Kept with the action; the reason when it is left out.

        Raises
        ------
        InvalidState
            When it has ended already.
        """
        return self.client.optimizations.stop(optimization_id, reason=reason, note=note)

    def actions(self, prompt_id: str | None = None, *, optimization_id: str | None = None) -> pd.DataFrame:
        """Return what people did, one row each, newest first.

        Parameters
        ----------
        prompt_id
            Only what was done with this prompt: a name or an id.
        optimization_id
            Only what was done with this optimization.

        Returns
        -------
        DataFrame
            action_id, kind (``apply``, ``stop``, ``restore``, ``undo``), acted_at (UTC), prompt_id, optimization_id,
            variant_id, from_version_id and to_version_id (the texts before and after), note, undoes,
            undone, undone_by, undone_at, outcome.
        """
        prompt_id = self._names.id_of_filter(prompt_id)
        filters = {"prompt_id": prompt_id, "optimization_id": optimization_id}
        return self._offered("actions", endpoints.ACTIONS_LIST, asked=filters)

    def undo(self, action_id: str, *, note: str | None = None) -> UndoAnswer:
        """Bring back the text from before an action, byte for byte.

        Parameters
        ----------
        action_id
            An apply, restore or undo of :meth:`actions`.
        note
            Why, in words; kept with the undo, which is an action as well.

        Raises
        ------
        InvalidState
            When it changed no text, was undone already, or the text was changed since: nothing is overwritten.
        NotFound
            When there is no such action.
        """
        self._require_reviews()
        return self.client.actions.undo(action_id, note=note)

    def review(self, optimization_id: str) -> pd.DataFrame:
        """Return what people think of the variants of an optimization, one row for each variant with a verdict or a note.

        Parameters
        ----------
        optimization_id
            The optimization.

        Returns
        -------
        DataFrame
            variant_id, verdict (``keep``, ``reject`` or missing), note, updated_at (UTC).
        """
        self._require_reviews()

        def read() -> RowsRead:
            rows = [one.to_wire() for one in self.client.reviews.get(optimization_id).data]
            return RowsRead(rows, len(rows), 1, complete=True)

        return self._table("review", read, {"optimization_id": optimization_id})

    def review_variant(
        self, optimization_id: str, variant_id: str, *, verdict: Any = _UNCHANGED, note: Any = _UNCHANGED
    ) -> VariantReview:
        """Record what you think of a variant; what is left out stays as it is.

        Parameters
        ----------
        optimization_id, variant_id
            The variant.
        verdict
            ``"keep"``, ``"reject"``, or None to remove it.
        note
            A text, or None to remove it.
        """
        changes = {
            name: value for name, value in (("verdict", verdict), ("note", note)) if value is not _UNCHANGED
        }
        if changes.get("verdict") not in (None, *VERDICTS):
            raise ConfigError(f"verdict must be one of {', '.join(VERDICTS)}, or None, not {verdict!r}.")
        if not isinstance(changes.get("note"), str | None):
            raise ConfigError(f"note must be a text or None, not {type(note).__name__}.")
        self._require_reviews()
        return self.client.reviews.update(optimization_id, variant_id=variant_id, **changes)

    def version_text(self, prompt_id: str, version_id: str) -> str | None:
        """Return the text of a version that :meth:`actions` names; None when it is not kept any more.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        version_id
            As the table of actions has it.
        """
        found = self._names.id_of_filter(prompt_id) or ""
        text = None
        with contextlib.suppress(NotFound):
            read = read_offered(self.client.transport, endpoints.PROMPTS_VERSIONS, found, task=Task())
            text = next((row["content"] for row in read.rows if row["id"] == version_id), None)
        if text is None:
            self._names.check_empty(found)
        return text

    def _require_reviews(self) -> None:
        if not self.keeps_reviews():
            raise not_offered(NotFound("This service keeps no reviews and actions"), "reviews")

    def keeps_reviews(self) -> bool:
        """Return whether the service keeps reviews and actions; it is asked once."""
        if self._keeps_reviews is None:
            try:
                self.client.actions.list(limit=1)
            except ApiError as error:
                if error.status not in _NO_SUCH_PATH and not isinstance(error, NotFound | UnexpectedResponse):
                    raise
                self._keeps_reviews = False
            else:
                self._keeps_reviews = True
        return self._keeps_reviews


@contextlib.contextmanager
def _explained_apply(optimization_id: str) -> Iterator[None]:
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
