"""Pull from a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError
from promptlift.workspace.session import Session

if TYPE_CHECKING:
    import os

    from promptlift.snapshot import Snapshot


class Pulling(Session):
    """Snapshots of what the workspace can read."""

    # Folder and prompt of the last pull, which `refresh` brings up to date.
    _last_pull: tuple[Path, str | None] | None = None

    def pull(
        self,
        folder: str | os.PathLike[str],
        *,
        prompt_id: str | None = None,
        content: bool | None = None,
        everything: bool = False,
    ) -> Snapshot:
        """Copy the account's tables into a folder of Parquet files, or bring such a folder up to date.

        A pull that was stopped, however it ended, goes on where it was. Nothing that is known already is fetched again.

        Parameters
        ----------
        folder
            The folder; it is made when it is not there.
        prompt_id
            A prompt's name or id: only its conversations; all of the account when it is left out.
        content
            Whether transcripts are fetched where the service's list does not bring them, which takes a request for each
            conversation; ``False`` leaves them out, and by default those that the list brings are taken.
        everything
            Whether all conversations are read again. Otherwise insights that were made anew are seen only where the service says
            what changed, or as the older rows are looked at, a hundred each time.

        Returns
        -------
        Snapshot
            The folder with its manifest; :func:`promptlift.open_snapshot` gives its tables.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names, and no folder is made.
        SnapshotError
            When the folder is of another account, service or prompt, is being written by another process, or is damaged.
        IncompleteError
            When reading ended early; what was read is kept, and the next pull goes on there.

        Examples
        --------
        >>> lift.pull("january/")  # doctest: +SKIP
        """
        from promptlift.snapshot.writer_lock import only_writer  # noqa: PLC0415  Parquet takes its time to load
        from promptlift.workspace.snapshots.pull import Pull, PullOptions  # noqa: PLC0415

        options = PullOptions(self._names.id_of_filter(prompt_id), content, everything)
        path = Path(folder)
        if options.prompt_id is not None and not path.exists():
            self._names.check_filter(options.prompt_id)
        with only_writer(path), self._bar("conversations pulled", None) as move:
            snapshot = Pull(self.client, path, options, move).run()
        self._last_pull = path, options.prompt_id
        return snapshot

    def refresh(self) -> Snapshot:
        """Bring the snapshot of the last :meth:`pull` up to date.

        Raises
        ------
        ConfigError
            When this workspace has not pulled yet.
        """
        if self._last_pull is None:
            raise ConfigError('There is no snapshot to bring up to date: lift.pull("folder/") makes one.')
        folder, prompt_id = self._last_pull
        return self.pull(folder, prompt_id=prompt_id)
