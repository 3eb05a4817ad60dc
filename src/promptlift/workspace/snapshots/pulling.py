"""Pull from a workspace, and answer its tables from what was pulled."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptlift.errors import ConfigError, IncompleteError, SnapshotBusy
from promptlift.workspace.session import Session

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from promptlift.snapshot import Snapshot
    from promptlift.snapshot.location import Location
    from promptlift.workspace.snapshots.pull import PullOptions
    from promptlift.workspace.snapshots.tables import SnapshotTables


@dataclass
class SnapshotInUse:
    """The snapshot from which a workspace answers.

    Attributes
    ----------
    location
        Where it is; the first pull makes it when it is not there.
    service
        The service and account that it was found to be of; ``None`` before this workspace has compared them.
    lock
        Held while it is brought up to date and read: one thread after the other.
    """

    location: Location
    service: dict[str, Any] | None = None
    lock: Any = field(default_factory=threading.RLock, repr=False)


class Pulling(Session):
    """Snapshots of what the workspace can read."""

    _in_use: SnapshotInUse | None = None

    def pull(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        prompt_id: str | None = None,
        content: bool | None = None,
        everything: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Snapshot:
        """Copy the account's tables into a folder of Parquet files, or bring such a folder up to date.

        A pull that was interrupted in any way resumes where it stopped, and fetches nothing twice. Later reads ask the service
        as before; :func:`promptlift.open_snapshot` reads the folder.

        Parameters
        ----------
        folder
            The folder; it is made when it is not there. Or an address that fsspec knows, such as ``s3://bucket/january``
            (extra ``s3``). By default the one of ``promptlift.connect(snapshot=…)``.
        prompt_id
            A prompt's name or id: only its conversations; all of the account when it is left out.
        content
            Whether transcripts are fetched where the service's list does not bring them, which takes a request for each
            conversation; ``False`` leaves them out, and by default those that the list brings are taken.
        everything
            Whether all conversations are read again. Otherwise insights that were made anew are seen only where the service says
            what changed, or where its list shows them.
        storage_options
            Of the file system of an address, such as ``{"key": …, "secret": …, "endpoint_url": …}``; by default what its library
            finds in the environment.

        Returns
        -------
        Snapshot
            The folder with its manifest; :func:`promptlift.open_snapshot` gives its tables.

        Raises
        ------
        ConfigError
            When no folder is given and the workspace has none.
        NotFound
            When there is no such prompt; the message has near names, and no folder is made.
        SnapshotError
            When the folder is of another account, service or prompt, is being written by another process, or is damaged.
        IncompleteError
            When reading ended early; what was read is kept, and the next pull continues from there.

        Examples
        --------
        >>> lift.pull("january/")  # doctest: +SKIP
        """
        used = self._in_use if folder is None else SnapshotInUse(_location(folder, storage_options))
        if used is None:
            raise ConfigError('Name a folder to pull into, such as lift.pull("january/").')
        from promptlift.workspace.snapshots.pull import PullOptions  # noqa: PLC0415  Parquet takes its time to load

        asked = self._prompt_of(used) if folder is None and prompt_id is None else prompt_id
        options = PullOptions(self._names.id_of_filter(asked), content, everything)
        if options.prompt_id is not None and not used.location.exists(""):
            self._names.check_filter(options.prompt_id)
        snapshot, _ = self._pull_into(used, options)
        return snapshot

    def _use_snapshot(
        self, folder: str | os.PathLike[str] | None, storage_options: Mapping[str, Any] | None = None
    ) -> None:
        """Answer tables of conversations from a snapshot, which each call first brings up to date."""
        self._in_use = None if folder is None else SnapshotInUse(_location(folder, storage_options))

    def _from_snapshot(
        self,
        prompt_ids: Sequence[str | None],
        make: Callable[[SnapshotTables], pd.DataFrame],
        *,
        content: bool = False,
    ) -> pd.DataFrame | None:
        """Make a table from the snapshot in use, up to date; ``None`` where the service must be asked.

        Raises
        ------
        IncompleteError
            When the snapshot could not be brought up to date; it carries the table as it was before.
        """
        used = self._in_use
        if used is None:
            return None
        from promptlift.workspace.snapshots.pull import PullOptions  # noqa: PLC0415  Parquet takes its time to load
        from promptlift.workspace.snapshots.tables import SnapshotTables  # noqa: PLC0415

        with used.lock:
            before = _opened(used.location)
            if before is not None and not _holds(before, prompt_ids, content=content):
                return None
            options = PullOptions(self._prompt_of(used), if_changed=True)
            try:
                snapshot, requests = self._pull_into(used, options)
            except SnapshotBusy:
                return None
            except IncompleteError as error:
                if before is not None:
                    error.fetched = make(SnapshotTables(before, self))
                raise
            if not _holds(snapshot, prompt_ids, content=content):
                return None
            return make(SnapshotTables(snapshot, self, requests))

    def _pull_into(self, used: SnapshotInUse, options: PullOptions) -> tuple[Snapshot, int]:
        """Pull into the snapshot; return it and the requests made."""
        from promptlift.snapshot.writer_lock import only_writer  # noqa: PLC0415  Parquet takes its time to load
        from promptlift.workspace.snapshots.pull import Pull  # noqa: PLC0415

        with used.lock, only_writer(used.location), self._bar("conversations pulled", None) as move:
            pull = Pull(self.client, used.location, options, move, service=used.service)
            snapshot = pull.run()
        used.service = pull.service
        return snapshot, pull.requests

    def _prompt_of(self, used: SnapshotInUse) -> str | None:
        snapshot = _opened(used.location)
        prompt_id: str | None = None if snapshot is None else snapshot.manifest.filters.get("prompt_id")
        return prompt_id


def _location(folder: str | os.PathLike[str], options: Mapping[str, Any] | None) -> Location:
    from promptlift.snapshot.location import location_of  # noqa: PLC0415  the same

    return location_of(folder, options)


def _opened(location: Location) -> Snapshot | None:
    from promptlift.snapshot import Snapshot  # noqa: PLC0415  the same
    from promptlift.snapshot.manifest import MANIFEST_NAME  # noqa: PLC0415

    return Snapshot(location) if location.exists(MANIFEST_NAME) else None


def _holds(snapshot: Snapshot, prompt_ids: Sequence[str | None], *, content: bool) -> bool:
    """Return whether a snapshot has these conversations, and their transcripts where they are needed."""
    manifest = snapshot.manifest
    only = manifest.filters.get("prompt_id")
    return (only is None or set(prompt_ids) == {only}) and (manifest.content or not content)
