"""A snapshot: a folder of Parquet files that is cache, offline copy and proof of completeness in one.

``lift.pull`` writes it, :func:`promptlift.open_snapshot` returns its tables, and any engine can read its
files.
"""

from __future__ import annotations

from promptlift.errors import MissingExtra

try:
    import pyarrow  # noqa: F401, ICN001
except ModuleNotFoundError as error:
    raise MissingExtra("A snapshot", "parquet") from error

from promptlift.snapshot.manifest import FilePart, Manifest
from promptlift.snapshot.snapshot import Snapshot, verify

__all__ = ["FilePart", "Manifest", "Snapshot", "verify"]
