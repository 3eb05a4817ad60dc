"""What people think of variants, what they did about it, and undoing it; kept by the service or beside the notebook."""

from __future__ import annotations

import hashlib
import importlib
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task, query
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
from promptlift.schema.action_log import UndoAnswer
from promptlift.schema.model import to_wire_time
from promptlift.schema.reviews import VERDICTS, VariantReview
from promptlift.workspace.optimizing import Optimizing
from promptlift.workspace.review_file import ReviewFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    import pandas as pd

    from promptlift.schema.optimizations import ApplyAnswer, StopAnswer

    Row = dict[str, Any]

_NO_SUCH_PATH: Final = (404, 405, 501)
_UNKNOWN: Final = (ConnectionFailed, ServerError, UnexpectedResponse, KeyboardInterrupt)
_SAME: Final = object()


class Reviewing(Optimizing):
    """Notes and verdicts on variants, and the record of every apply, stop, restore and undo.

    The embedded service keeps all of it. With a service that does not, it is kept in ``promptlift-review.json`` in the
    notebook's folder, with the texts that undoing needs.
    """

    # Where the file lies; None is the working directory.
    _review_path: Path | None = None
    _service_keeps: bool | None = None

    def apply(
        self,
        optimization_id: str,
        variant_id: str | None = None,
        *,
        if_version_id: str | None = None,
        note: str | None = None,
    ) -> ApplyAnswer:
        """Make a variant the live text of the prompt. The action is kept: see :meth:`actions` and :meth:`undo`.

        Parameters
        ----------
        optimization_id
            A completed optimization.
        variant_id
            The variant; the winner when it is left out.
        if_version_id
            Only while this version of :meth:`versions` is live, so that nobody's change is written over unseen. An
            offer of the embedded service.
        note
            Why, in words; kept with the action.

        Raises
        ------
        InvalidState
            When the optimization is not completed, has no winner and no variant is named, or another version is live.
        """
        if self.keeps_reviews():
            return super().apply(optimization_id, variant_id, if_version_id=if_version_id, note=note)
        prompt_id = self.client.optimizations.get(optimization_id).prompt_id or ""
        row = self._begin("apply", prompt_id, note, optimizationId=optimization_id, variantId=variant_id)

        def act() -> ApplyAnswer:
            return super(Reviewing, self).apply(optimization_id, variant_id, if_version_id=if_version_id)

        answer: ApplyAnswer = self._carried_out(row, act)
        row["variantId"] = answer.applied_variant_id or variant_id
        self._ended(row)
        answer.action_id = row["id"]
        return answer

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
        if self.keeps_reviews():
            return super().stop(optimization_id, reason, note=note)
        prompt_id = self.client.optimizations.get(optimization_id).prompt_id or ""
        row = self._begin(
            "stop", prompt_id, note if note is not None else reason, optimizationId=optimization_id
        )
        answer: StopAnswer = self._carried_out(
            row, lambda: super(Reviewing, self).stop(optimization_id, reason)
        )
        self._ended(row)
        return answer

    def actions(self, prompt_id: str | None = None, *, optimization_id: str | None = None) -> pd.DataFrame:
        """Give what people did, one row each, newest first.

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
            variant_id, from_version_id and to_version_id (the texts live before and after; of a foreign service a
            digest of the text), note, undoes, undone, undone_by, undone_at, outcome (``unknown`` where no answer came
            from a foreign service).

            ``attrs["promptlift"]`` says under ``kept`` whether the service or a file keeps them.
        """
        prompt_id = self._names.id_of_filter(prompt_id)
        filters = {"prompt_id": prompt_id, "optimization_id": optimization_id}
        kept = "service" if self.keeps_reviews() else "file"

        def read() -> RowsRead:
            if kept == "service":
                params = query(**{self.client.config.scheme.link: prompt_id}, optimizationId=optimization_id)
                return read_offered(self.client.transport, endpoints.ACTIONS_LIST, params=params, task=Task())
            rows = [
                row
                for row in self._file().actions()
                if prompt_id in (None, row["promptId"]) and optimization_id in (None, row["optimizationId"])
            ]
            return RowsRead(rows, len(rows), 0, complete=True)

        def make(rows: list[Row]) -> tuple[pd.DataFrame, dict[str, int], Row]:
            return *_tables().actions_table(rows), {"kept": kept}

        return self._whole_table("actions", filters, read, make)

    def undo(self, action_id: str, *, note: str | None = None) -> UndoAnswer:
        """Bring back the text from before an action, byte for byte.

        Parameters
        ----------
        action_id
            An apply, restore or undo of :meth:`actions`.
        note
            Why, in words; kept with the undoing, which is an action as well.

        Raises
        ------
        InvalidState
            When it changed no text, was undone already, or another text became live since: nothing is written over.
        NotFound
            When there is no such action.
        """
        if self.keeps_reviews():
            return self.client.actions.undo(action_id, note=note)
        file = self._file()
        done = next((row for row in file.actions() if row["id"] == action_id), None)
        if done is None:
            raise NotFound(
                f"Action not found: {file.path.name} has none of this id; lift.actions() lists them"
            )
        _check(done)
        prompt_id, before = done["promptId"], done["fromContent"]
        row = self._begin(
            "undo",
            prompt_id,
            note,
            optimizationId=done["optimizationId"],
            variantId=done["variantId"],
            undoes=action_id,
            refuse=lambda live: _check_live(live, done),
        )
        self._carried_out(row, lambda: self.client.prompts.update(prompt_id, content=before))
        self._ended(row)
        if row["toContent"] != before:
            raise UnexpectedResponse(
                "The service keeps another text than the one that was sent; look at the prompt"
            )
        file.amend(action_id, {"undoneBy": row["id"], "undoneAt": row["createdAt"]})
        return UndoAnswer(
            success=True,
            prompt_id=prompt_id,
            action_id=row["id"],
            message="The text from before is live again",
        )

    def review(self, optimization_id: str) -> pd.DataFrame:
        """Give what people think of the variants of an optimization, one row a variant that something was said of.

        Parameters
        ----------
        optimization_id
            The optimization.

        Returns
        -------
        DataFrame
            variant_id, verdict (``keep``, ``reject`` or missing), note, updated_at (UTC).
        """
        kept = "service" if self.keeps_reviews() else "file"

        def read() -> RowsRead:
            if kept == "service":
                rows = [one.to_wire() for one in self.client.reviews.get(optimization_id).data]
                return RowsRead(rows, len(rows), 1, complete=True)
            rows = list(self._file().review(optimization_id).values())
            return RowsRead(rows, len(rows), 0, complete=True)

        def make(rows: list[Row]) -> tuple[pd.DataFrame, dict[str, int], Row]:
            return *_tables().review_table(rows), {"kept": kept}

        return self._whole_table("review", {"optimization_id": optimization_id}, read, make)

    def review_variant(
        self, optimization_id: str, variant_id: str, *, verdict: Any = _SAME, note: Any = _SAME
    ) -> VariantReview:
        """Say what you think of a variant; what is left out stays as it is.

        Parameters
        ----------
        optimization_id, variant_id
            The variant.
        verdict
            ``"keep"``, ``"reject"``, or None to take it back.
        note
            A text, or None to take it back.
        """
        changes = {
            name: value for name, value in (("verdict", verdict), ("note", note)) if value is not _SAME
        }
        if changes.get("verdict") not in (None, *VERDICTS):
            raise ConfigError(f"verdict must be one of {', '.join(VERDICTS)}, or None, not {verdict!r}.")
        if not isinstance(changes.get("note"), str | None):
            raise ConfigError(f"note must be a text or None, not {type(note).__name__}.")
        if self.keeps_reviews():
            return self.client.reviews.update(optimization_id, variant_id=variant_id, **changes)
        changes["updatedAt"] = to_wire_time(datetime.now(UTC))
        return VariantReview.from_wire(self._file().say(optimization_id, variant_id, changes))

    def version_text(self, prompt_id: str, version_id: str) -> str | None:
        """Give a text that :meth:`actions` names by its version; None when it is not kept any more.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        version_id
            As the table of actions has it.
        """
        if self.keeps_reviews():
            read = self._names.call(
                prompt_id,
                lambda found: read_offered(
                    self.client.transport, endpoints.PROMPTS_VERSIONS, found, task=Task()
                ),
            )
            return next((row["content"] for row in read.rows if row["id"] == version_id), None)
        prompt_id = self._names.id_of_filter(prompt_id) or ""
        for row in self._file().actions():
            for end in ("from", "to"):
                if row["promptId"] == prompt_id and row[f"{end}VersionId"] == version_id:
                    text: str | None = row[f"{end}Content"]
                    return text
        return None

    def keeps_reviews(self) -> bool:
        """Tell whether the service itself keeps reviews and actions; asked once."""
        if self._service_keeps is None:
            try:
                self.client.actions.list(limit=1)
                self._service_keeps = True
            except ApiError as error:
                if error.status not in _NO_SUCH_PATH and not isinstance(error, NotFound | UnexpectedResponse):
                    raise
                self._service_keeps = False
        return self._service_keeps

    # Foreign services: the record is begun before anything is done, so that no text is lost if this process ends.

    def _file(self) -> ReviewFile:
        return ReviewFile(self.client.config.base_url, self._review_path)

    def _live_text(self, prompt_id: str) -> str | None:
        try:
            return self.client.prompts.get(prompt_id).content
        except NotFound:
            return None

    def _begin(
        self,
        kind: str,
        prompt_id: str,
        note: str | None,
        *,
        refuse: Callable[[str | None], None] | None = None,
        **values: Any,
    ) -> Row:
        live = None if kind == "stop" else self._live_text(prompt_id)
        if refuse is not None:
            refuse(live)
        row: Row = {
            "id": f"act_{secrets.token_hex(12)}",
            "kind": kind,
            "promptId": prompt_id,
            "optimizationId": None,
            "variantId": None,
            "fromContent": live,
            "fromVersionId": _digest(live),
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

    def _carried_out(self, row: Row, act: Callable[[], Any]) -> Any:
        """Do it; what certainly was not done leaves no row."""
        try:
            return act()
        except BaseException as error:
            if not isinstance(error, _UNKNOWN):
                self._file().amend(row["id"], None)
            raise

    def _ended(self, row: Row) -> None:
        row["outcome"] = "done"
        if row["kind"] != "stop":
            row["toContent"] = self._live_text(row["promptId"])
            row["toVersionId"] = _digest(row["toContent"])
        self._file().amend(row["id"], row)


def _check(row: Row) -> None:
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


def _check_live(live: str | None, done: Row) -> None:
    if live != done["toContent"]:
        raise InvalidState(
            "The text was changed by somebody else in the meantime; look at the live one and ask again",
            details={"liveVersionId": _digest(live)},
        )


def _digest(content: str | None) -> str | None:
    if content is None:
        return None
    return f"text_{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _tables() -> ModuleType:
    """Load the tables on first use, as the others do."""
    return importlib.import_module("promptlift.frames.action_log")
