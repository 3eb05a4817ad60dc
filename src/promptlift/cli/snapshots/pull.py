"""``promptlift pull`` and ``promptlift verify``."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from promptlift.errors import ConnectionFailed, IncompleteError, RateLimited, ServerError, SnapshotDamaged

if TYPE_CHECKING:
    from promptlift.cli.target import Target
    from promptlift.snapshot import Snapshot
    from promptlift.workspace import Workspace

# What passes: with --watch the next pull tries again.
_PASSING = (ConnectionFailed, IncompleteError, RateLimited, ServerError)


def run_pull(
    target: Target,
    folder: str,
    *,
    prompt: str | None,
    content: bool | None,
    everything: bool,
    every: float | None,
) -> None:
    """Pull, once or again and again, and print what is there.

    Parameters
    ----------
    target
        Service to read from.
    folder
        Folder of the snapshot.
    prompt, content, everything
        As for ``lift.pull``.
    every
        Seconds between two pulls; once without it.
    """
    with target.open() as lift:
        if every is None:
            sys.stdout.write(
                f"{lift.pull(folder, prompt_id=prompt, content=content, everything=everything)!r}\n"
            )
            return
        while True:
            _pull_once(lift, folder, prompt, content=content, everything=everything)
            everything = False
            time.sleep(every)


def _pull_once(
    lift: Workspace, folder: str, prompt: str | None, *, content: bool | None, everything: bool
) -> None:
    try:
        snapshot = lift.pull(folder, prompt_id=prompt, content=content, everything=everything)
    except _PASSING as error:
        sys.stderr.write(f"promptlift: {error}\n")
    else:
        sys.stdout.write(f"{one_line(snapshot)}\n")
    sys.stdout.flush()


def one_line(snapshot: Snapshot) -> str:
    """Return a snapshot's state in a line."""
    manifest = snapshot.manifest
    rows = manifest.rows().get("conversations", 0)
    return f"{manifest.finished_at}  {rows:,} conversations, {manifest.requests} requests"


def run_verify(folder: str) -> None:
    """Verify a snapshot and print what is wrong, or that nothing is.

    Parameters
    ----------
    folder
        Folder of the snapshot.

    Raises
    ------
    SnapshotDamaged
        When something is not as it was written; it was printed.
    """
    from promptlift.snapshot import Snapshot, verify  # noqa: PLC0415  Parquet takes its time to load

    problems = verify(folder)
    for path, problem in problems.items():
        sys.stdout.write(f"{path}: {problem}\n")
    if problems:
        raise SnapshotDamaged(
            f"{len(problems)} {'file is' if len(problems) == 1 else 'files are'} not as written. Take them from a "
            "backup, or pull into a new folder.",
            problems=problems,
        )
    snapshot = Snapshot(folder)
    rows = snapshot.manifest.rows()
    sys.stdout.write(
        f"{len(snapshot.manifest.files)} files with {sum(rows.values()):,} rows are as they were written, among them the "
        f"{rows.get('conversations', 0):,} conversations that the service had at {snapshot.manifest.finished_at}; "
        f"{snapshot.signature}.\n"
    )
