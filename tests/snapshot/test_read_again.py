"""Reading part files again: those that changed meanwhile are noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from promptlift.errors import SnapshotDamaged
from promptlift.snapshot.columns import joined
from promptlift.snapshot.location import LocalFolder
from promptlift.snapshot.part_files import Wanted, read_parts, write_part

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.snapshot.manifest import FilePart

_COLUMNS = ("conversation_id", "cost", "title", "topics", "metadata.plan")


def _part(root: LocalFolder, number: int, **columns: pa.Array) -> FilePart:
    return write_part(root, f"conversations/prompt_id=p/month=2026-0{number}", number, pa.table(columns))


def _texts(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string())


@pytest.fixture
def parts(tmp_path: Path) -> tuple[LocalFolder, list[FilePart]]:
    """Two files: no title in either, a cost and a plan in the second alone."""
    root = LocalFolder(tmp_path)
    lists = pa.array([[], None], pa.list_(pa.string()))
    first = {"cost": pa.nulls(2, pa.float64()), "title": _texts(None, None), "topics": lists}
    second = {"cost": pa.array([None, 0.5]), "title": _texts(None, None), "topics": lists}
    return root, [
        _part(root, 1, conversation_id=_texts("a", "b"), **first),
        _part(root, 2, conversation_id=_texts("c", "d"), **second, **{"metadata.plan": _texts(None, "pro")}),
    ]


def _rows(table: pa.Table) -> list[dict[str, object]]:
    return table.select(list(_COLUMNS)).to_pylist()


def test_a_second_read_is_the_first(parts: tuple[LocalFolder, list[FilePart]]) -> None:
    wanted = Wanted(frozenset(_COLUMNS), metadata=True)
    first, second = (joined(read_parts(*parts, wanted)) for _ in range(2))
    assert _rows(first) == _rows(second)
    assert _rows(second)[1:] == [
        {"conversation_id": "b", "cost": None, "title": None, "topics": None, "metadata.plan": None},
        {"conversation_id": "c", "cost": None, "title": None, "topics": [], "metadata.plan": None},
        {"conversation_id": "d", "cost": 0.5, "title": None, "topics": None, "metadata.plan": "pro"},
    ]
    assert second.schema.field("title").type == pa.string()


def test_a_file_that_is_changed_after_it_was_read_is_refused(
    parts: tuple[LocalFolder, list[FilePart]],
) -> None:
    root, files = parts
    wanted = Wanted(frozenset(_COLUMNS))
    for _ in range(2):
        read_parts(root, files, wanted)
    place = root.place / files[1].path
    data = bytearray(place.read_bytes())
    data[10] ^= 1
    place.write_bytes(data)
    with pytest.raises(SnapshotDamaged, match=files[1].path):
        read_parts(root, files, wanted)
