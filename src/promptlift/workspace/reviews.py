"""Reviews of variants, and actions on them that can be undone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from promptlift.client.reads.optimizations import not_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import ApiError, NotFound, UnexpectedResponse
from promptlift.schema import endpoints
from promptlift.workspace.session import Room, Session

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.schema.prompts import UndoAnswer

__all__ = ["Reviewing", "Reviews"]

_NO_SUCH_PATH: Final = (404, 405, 501)


class Reviews(Room):
    """Reviews of variants: ``lift.reviews(optimization_id)`` is their table. The embedded service keeps them and all actions."""

    # Whether the service keeps them; None before it was asked.
    _offered_here: bool | None = None

    def __call__(self, optimization_id: str) -> pd.DataFrame:
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
        self.require()

        def read() -> RowsRead:
            rows = [one.to_wire() for one in self.client.reviews.get(optimization_id).data]
            return RowsRead(rows, len(rows), 1, complete=True)

        return self._table("review", read, {"optimization_id": optimization_id})

    def offered(self) -> bool:
        """Return whether the service keeps reviews and actions; it is asked once."""
        if self._offered_here is None:
            try:
                self.client.actions.list(limit=1)
            except ApiError as error:
                if error.status not in _NO_SUCH_PATH and not isinstance(error, NotFound | UnexpectedResponse):
                    raise
                self._offered_here = False
            else:
                self._offered_here = True
        return self._offered_here

    def require(self) -> None:
        """Raise ``NotFound`` when the service keeps no reviews and actions."""
        if not self.offered():
            raise not_offered(NotFound("This service keeps no reviews and actions"), "reviews")


class Reviewing(Session):
    """Reviews of variants, and what people did with prompts."""

    @cached_property
    def reviews(self) -> Reviews:
        """What people think of variants."""
        return Reviews(self)

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
        self.reviews.require()
        return self.client.actions.undo(action_id, note=note)
