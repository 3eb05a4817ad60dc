"""A workspace on a snapshot: the same tables, read from disk, with no network."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptlift.client import Client, ClientConfig
from promptlift.client.reads.plan_read import ReadPlan
from promptlift.client.secret import Secret
from promptlift.errors import ConfigError
from promptlift.schema.naming import scheme_of
from promptlift.snapshot import Snapshot
from promptlift.workspace.judging.judges import Judges
from promptlift.workspace.snapshots.offline import SnapshotTransport
from promptlift.workspace.snapshots.tables import SnapshotTables
from promptlift.workspace.workspace import Workspace, connect

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd


def open_snapshot(
    folder: str | os.PathLike[str], *, storage_options: Mapping[str, Any] | None = None
) -> SnapshotWorkspace:
    """Open a workspace on a snapshot: the same tables and methods, read from disk, with no network.

    Parameters
    ----------
    folder
        Where ``lift.pull`` or ``promptlift pull`` wrote it: a folder, or an address such as ``s3://bucket/january``.
    storage_options
        Of the file system of an address, as for ``lift.pull``.

    Raises
    ------
    SnapshotError
        When there is none, or its layout is another.
    SnapshotDamaged
        When the manifest was cut or changed; reading a table raises it where one of its files was.

    Examples
    --------
    >>> lift = promptlift.open_snapshot("january/")  # doctest: +SKIP
    """
    return SnapshotWorkspace(Snapshot(folder, storage_options=storage_options))


class SnapshotWorkspace(Workspace):
    """The tables of a snapshot, with the methods of a workspace. What only the service can do says so.

    Parameters
    ----------
    snapshot
        The snapshot.

    Attributes
    ----------
    snapshot
        The snapshot; ``snapshot.scan()`` hands its tables to engines that go beyond pandas.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        service = snapshot.manifest.service
        config = ClientConfig(service["base_url"], Secret(""), scheme_of(service["scheme"]))
        self._offline = SnapshotTransport(config, snapshot)
        super().__init__(config, progress=False, client=Client(config, transport=self._offline))
        self.snapshot = snapshot

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put the names of prompts into a table; here they cost no request."""
        if not self._names.known():
            self._names.read()
        return super()._named(frame)

    def _place(self) -> str:
        manifest = self.snapshot.manifest
        return f"the snapshot {self.snapshot.folder} of {manifest.service['base_url']}, pulled {manifest.finished_at}"

    def pull(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        prompt_id: str | None = None,
        content: bool | None = None,
        everything: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Snapshot:
        """Bring the snapshot up to date from the service that it is of; the tables are the new ones afterwards.

        The key is ``PROMPTLIFT_API_KEY``; a snapshot has none. That of an embedded service, which may be at another address each
        time, is brought up to date with ``promptlift.local().pull(folder)``.

        Parameters
        ----------
        folder
            Leave it out: a snapshot cannot be copied into another folder in this way.
        prompt_id, content, everything, storage_options
            As for ``lift.pull``.

        Raises
        ------
        ConfigError
            When there is no key, or another folder is named.
        """
        if folder is not None:
            raise ConfigError(
                f"A snapshot cannot be pulled from. promptlift.connect().pull({str(folder)!r}) reads the service."
            )
        service, at = self.snapshot.manifest.service, self.snapshot.folder
        options = self.snapshot.storage_options if storage_options is None else storage_options
        with connect(
            service["base_url"], scheme=service["scheme"], snapshot=at, storage_options=options
        ) as lift:
            lift.pull(prompt_id=prompt_id, content=content, everything=everything)
        self.reload()
        return self.snapshot

    def reload(self) -> None:
        """Move to the state of the last pull, whoever made it."""
        self.snapshot.reload()
        self._offline.forget()
        self._names.forget_list()

    def plan(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> ReadPlan:
        """Return that reading costs no request.

        Parameters
        ----------
        prompt_id, status, insights, content
            As for :meth:`conversations`.
        """
        del insights, content
        count = self._tables().count(self._names.id_of_filter(prompt_id), status=status)
        return ReadPlan(count, 0, None, 0.0)

    def _from_snapshot(
        self,
        prompt_ids: Sequence[str | None],
        make: Callable[[SnapshotTables], pd.DataFrame],
        *,
        content: bool = False,
    ) -> pd.DataFrame | None:
        del prompt_ids
        if content and not self.snapshot.manifest.content:
            raise ConfigError(
                f"This needs transcripts, and the snapshot {self.snapshot.folder} was pulled without them: its service does "
                "not send them with the list. Pull into another folder with content=True, which takes a request for each "
                "conversation."
            )
        return make(self._tables())

    @cached_property
    def judges(self) -> Judges:
        """The judges of the snapshot and their verdicts."""
        return _KeptJudges(self)

    def _tables(self) -> SnapshotTables:
        return SnapshotTables(self.snapshot, self)


class _KeptJudges(Judges):
    """Judges whose verdicts are read from disk."""

    def _read_verdicts(self, judge_id: str, filters: dict[str, Any], shown: dict[str, Any]) -> pd.DataFrame:
        version = None
        if not filters["all_versions"]:
            version = self.get(judge_id, version=filters["version"]).version
        table: pd.DataFrame = self._lift._tables().verdicts(  # noqa: SLF001 - a part of the workspace
            judge_id, version=version, prompt_id=filters["prompt_id"], filters=shown
        )
        return table
