"""The workspace itself: every method that names a table returns a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from promptlift.client import configure
from promptlift.workspace.benchmarking import Benchmarking
from promptlift.workspace.comparing import Comparing
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.events import EventRooms
from promptlift.workspace.explaining import Explaining
from promptlift.workspace.importing.files import Importing
from promptlift.workspace.live import Living
from promptlift.workspace.logging import Logging
from promptlift.workspace.optimizing.optimizations import Optimizing
from promptlift.workspace.optimizing.planning import Planning
from promptlift.workspace.prompts import Prompts
from promptlift.workspace.reviews import Reviewing

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from promptlift.workspace.glance_views import Shown

# Debuggers and lists of variables ask for the repr of everything, again and again.
_REUSED_SECONDS: Final = 10.0


def connect(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    scheme: str = "prompt",
    progress: bool = True,
    snapshot: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Workspace:
    """Open a workspace on a running service. No request is made yet.

    An ``http://`` address that is not on this computer sends the key in the clear, with the warning
    :class:`~promptlift.client.UnencryptedConnection`.

    Parameters
    ----------
    base_url
        Address of the service; ``/api/v1`` is added when it is not there. Default: ``PROMPTLIFT_BASE_URL``.
    api_key
        Default: ``PROMPTLIFT_API_KEY``.
    scheme
        ``"prompt"`` or ``"agent"``: what the service calls its main resource on the wire. Tables say ``prompt_id``
        in both.
    progress
        Whether reads that take longer than a second show a progress bar.
    snapshot
        Folder of a snapshot from which tables of conversations are answered, which each call first brings up to date; the
        first call makes it. ``conversations`` and ``messages``, and what is made of them, then fetch only what is new or
        different, and are the tables that the service would give. It is asked directly for what the snapshot does not have
        (other prompts than the one it was pulled for, transcripts where it was pulled without them), and while another process
        writes the snapshot. Where the service says what changed since a time, as the embedded one does, a call takes three
        requests, and two more where something changed. Elsewhere it takes the pages of the list, and one request for each
        conversation that differs there; insights that were made anew with no sign of it in the list are then as they were, until
        ``lift.pull(everything=True)``.
    storage_options
        Of the file system of the snapshot's address, as for :meth:`Workspace.pull`.

    Raises
    ------
    ConfigError
        When the address or the key is missing or invalid.
    """
    workspace = Workspace(configure(base_url, api_key, scheme=scheme), progress=progress)
    workspace._use_snapshot(snapshot, storage_options)  # noqa: SLF001 - before it is handed out
    return workspace


class Workspace(
    Optimizing,
    Comparing,
    Explaining,
    Planning,
    ConversationTables,
    Prompts,
    EventRooms,
    Logging,
    Importing,
    Benchmarking,
    Living,
    Reviewing,
):
    """The tables of one account, and ways to log, optimize and apply.

    In a cell it shows where the data are, the prompts with their completion, who judges, what is being optimized, and
    what to call next, in one request.

    Every table has ``df.attrs["promptlift"]``: table, rows, total as the service gave it, filters, fetched_at, requests
    made, whether complete, who derived the insights (``analyser``), rows that were deleted meanwhile and left out, and warnings (unusable
    values by column). Rows that were deleted after their page was read are still in the table; ``deleted_since_read``
    counts them. Tables of optimizations say ``rehearsal`` there too.

    Parameters
    ----------
    config
        Address, key and naming scheme.
    progress
        Whether reads that take longer than a second show a progress bar.
    client
        A client to use instead of a new one.

    Attributes
    ----------
    client
        Every endpoint of the API, typed.
    """

    _last_shown: tuple[float, Shown] | None = None

    def __repr__(self) -> str:
        return self._shown(at_most_old=_REUSED_SECONDS).text

    def _repr_html_(self) -> str:
        return self._shown().html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return both views of one look; without this a notebook would ask for each by itself."""
        del include, exclude
        text, html = self._shown()
        return {"text/plain": text, "text/html": html}

    def _shown(self, *, at_most_old: float = 0.0) -> Shown:
        """Return what a cell shows; this never raises, and waits a few seconds at most."""
        from promptlift.workspace.glance_views import show  # noqa: PLC0415  a program shows nothing

        now = self.client.transport.clock.now()
        if self._last_shown is None or now - self._last_shown[0] > at_most_old:
            self._last_shown = now, show(self.client.transport, self._place())
        return self._last_shown[1]

    def _place(self) -> str:
        """Return where the data are, in words."""
        config = self.client.config
        return f"{config.base_url}{', agents' if config.scheme.name == 'agent' else ''}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. The workspace opens new ones when it is used again."""
        self.client.close()
        self._quick.client.close()
