"""Reviews of variants, and actions on them that can be undone; kept by the service or beside the notebook."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import (
    ApiError,
    ConfigError,
    NotFound,
    UnexpectedResponse,
)
from promptlift.schema.optimizations import VERDICTS, VariantReview
from promptlift.workspace.reviewing.file_store import FileReviewStore
from promptlift.workspace.reviewing.store import ReviewStore, ServiceReviewStore
from promptlift.workspace.session import Session, frames

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.client.reads.read_list import RowsRead
    from promptlift.schema.optimizations import ApplyAnswer, StopAnswer
    from promptlift.schema.prompts import UndoAnswer

    Row = dict[str, Any]

_NO_SUCH_PATH: Final = (404, 405, 501)
_UNCHANGED: Final = object()


class Reviewing(Session):
    """Reviews of variants, and what is done about them: apply, stop and undo, each recorded.

    The embedded service keeps reviews and actions itself. With a service that does not, they are kept in
    ``promptlift-review.json`` in the notebook's folder, with the texts that undoing needs.
    """

    # Chosen at the first use, when the service is asked whether it keeps them itself.
    _review_store: ReviewStore | None = None

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
        if_version_id
            Only while this version of :meth:`versions` is the current one, so that no change is overwritten
            unseen. Offered by the embedded service.
        rehearsal
            Apply the variant even though the optimization was a rehearsal, which says nothing about a real prompt.
        note
            Why, in words; kept with the action.

        Raises
        ------
        InvalidState
            When the optimization is not completed, was a rehearsal, has no winner and no variant is named, or another
            version is the current one.
        ConfigError
            When both a variant and a text are given.
        """
        if content is None:
            return self._reviews().apply(
                optimization_id, variant_id, if_version_id=if_version_id, rehearsal=rehearsal, note=note
            )
        if variant_id is not None:
            raise ConfigError(
                "Give variant_id or content, not both: the text is applied in place of a variant."
            )
        return self._reviews().apply_text(optimization_id, content, if_version_id=if_version_id, note=note)

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
        return self._reviews().stop(optimization_id, reason, note=note)

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
            variant_id, from_version_id and to_version_id (the texts before and after; of a foreign service a
            digest of the text), note, undoes, undone, undone_by, undone_at, outcome (``unknown`` where no answer came
            from a foreign service).

            ``attrs["promptlift"]`` says under ``kept`` whether the service or a file keeps them.
        """
        prompt_id = self._names.id_of_filter(prompt_id)
        filters = {"prompt_id": prompt_id, "optimization_id": optimization_id}

        def read() -> RowsRead:
            # The list itself shows whether the service keeps actions: asking for that costs no request of its own.
            store = self._review_store or ServiceReviewStore(self.client)
            try:
                rows = store.actions(**filters)
            except ApiError as error:
                if self._review_store is not None or not _is_not_offered(error):
                    raise
                store = FileReviewStore(self.client)
                rows = store.actions(**filters)
            self._review_store = store
            return rows

        def make(rows: list[Row]) -> tuple[pd.DataFrame, dict[str, int], Row]:
            return *frames().actions_table(rows), {"kept": self._reviews().kept}

        return self._whole_table("actions", filters, read, make)

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
        return self._reviews().undo(action_id, note=note)

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
        store = self._reviews()

        def make(rows: list[Row]) -> tuple[pd.DataFrame, dict[str, int], Row]:
            return *frames().review_table(rows), {"kept": store.kept}

        filters = {"optimization_id": optimization_id}
        return self._whole_table("review", filters, lambda: store.reviews(optimization_id), make)

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
        return self._reviews().review_variant(optimization_id, variant_id, changes)

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
            text = self._reviews().version_text(found, version_id)
        if text is None:
            self._names.check_empty(found)
        return text

    def keeps_reviews(self) -> bool:
        """Whether the service itself keeps reviews and actions; it is asked once."""
        return self._reviews().kept == ServiceReviewStore.kept

    def _reviews(self) -> ReviewStore:
        if self._review_store is None:
            try:
                self.client.actions.list(limit=1)
            except ApiError as error:
                if not _is_not_offered(error):
                    raise
                self._review_store = FileReviewStore(self.client)
            else:
                self._review_store = ServiceReviewStore(self.client)
        return self._review_store


def _is_not_offered(error: ApiError) -> bool:
    """Whether an answer of the list of actions shows that the service has none."""
    return error.status in _NO_SUCH_PATH or isinstance(error, NotFound | UnexpectedResponse)
