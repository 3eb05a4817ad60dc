"""What a service may offer beyond the specification, brought into a snapshot: labels, judges of one's own, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.errors import NotFound, UnexpectedResponse
from promptlift.schema import endpoints
from promptlift.workspace.snapshots.rows import labels_table, records_of
from promptlift.workspace.snapshots.verdicts import VerdictPull, read_apart

if TYPE_CHECKING:
    from promptlift.client.transport import Task, Transport
    from promptlift.snapshot import Snapshot
    from promptlift.snapshot.writing import NextState


class OfferedPull:
    """Ask for what not every service has, and remember which it has not.

    Parameters
    ----------
    transport, task
        Send and count the requests.
    old
        The present state of the snapshot.
    noted
        What the next pull needs to know; what is found out here is put there.
    prompt_id
        Only what is of this prompt.
    everything
        Whether to ask again for what was not there.
    """

    def __init__(
        self,
        transport: Transport,
        task: Task,
        *,
        old: Snapshot | None,
        noted: dict[str, Any],
        prompt_id: str | None,
        everything: bool,
    ) -> None:
        self._transport, self._task = transport, task
        self._old = old
        self._noted = noted
        self._prompt_id = prompt_id
        self._everything = everything

    def write_labels(self, state: NextState, deleted: set[str]) -> None:
        """Write the labels: all that the service keeps, because they can be changed and taken back.

        Parameters
        ----------
        state
            The next state of the snapshot.
        deleted
            Conversations that are gone: their labels go with them.

        Raises
        ------
        UnexpectedResponse
            When a service that has labels gives something else.
        """
        labels = [] if self._old is None else records_of(self._old.read("labels", ["record"]))
        if self._asks("labels"):
            filters = {"prompt_id": self._prompt_id}
            try:
                read = read_apart(self._transport, endpoints.LABELS_LIST, filters=filters, task=self._task)
            except (NotFound, UnexpectedResponse) as error:
                if not self._shows_none("labels", error):
                    raise
            else:
                self._noted["keeps_labels"] = True
                labels = read.rows
        kept = [row for row in labels if row["conversationId"] not in deleted]
        state.set_table("labels", labels_table(kept))

    def write_verdicts(self, state: NextState, changed: set[str]) -> dict[str, int]:
        """Write the judges of one's own and their verdicts.

        Parameters
        ----------
        state
            The next state of the snapshot.
        changed
            Conversations that the service has anew or no longer.

        Returns
        -------
        dict
            How many verdicts there are, if the service has judges.

        Raises
        ------
        UnexpectedResponse
            When a service that has judges gives something else.
        """
        if not self._asks("judges"):
            return {}
        before = {} if self._everything else self._noted.get("verdicts_counted") or {}
        pull = VerdictPull(
            self._transport, self._task, old=self._old, prompt_id=self._prompt_id, before=before
        )
        try:
            count = pull.write(state, changed)
        except (NotFound, UnexpectedResponse) as error:
            if not self._shows_none("judges", error):
                raise
            return {}
        self._noted |= {"keeps_judges": True, "verdicts_counted": pull.counted}
        return {"verdicts": count}

    def _shows_none(self, what: str, error: Exception) -> bool:
        """Return whether an answer shows that the service has no labels or no judges, so that it is not asked again.

        An odd answer of one that has some shows nothing: the pull fails rather than never bring what changes there.
        """
        if isinstance(error, UnexpectedResponse) and self._noted.get(f"keeps_{what}"):
            return False
        self._noted[f"keeps_{what}"] = False
        return True

    def _asks(self, what: str) -> bool:
        """Return whether the service is asked for labels or for judges."""
        # unspecified: only a service that says what changed keeps any; one that was asked in vain is not asked again.
        in_vain = self._noted.get(f"keeps_{what}") is False
        return bool(self._noted.get("as_of")) and (self._everything or not in_vain)
