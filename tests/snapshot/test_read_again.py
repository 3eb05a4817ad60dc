"""Reading part files again: only what is asked for, has a value, and was not read a moment ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptlift.errors import SnapshotDamaged
from promptlift.snapshot.location import LocalFolder
from promptlift.snapshot.part_files import Wanted, read_table, write_part

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
    first, second = (read_table(*parts, wanted) for _ in range(2))
    assert _rows(first) == _rows(second)
    assert _rows(second)[1:] == [
        {"conversation_id": "b", "cost": None, "title": None, "topics": None, "metadata.plan": None},
        {"conversation_id": "c", "cost": None, "title": None, "topics": [], "metadata.plan": None},
        {"conversation_id": "d", "cost": 0.5, "title": None, "topics": None, "metadata.plan": "pro"},
    ]
    assert second.schema.field("title").type == pa.string()


def test_columns_without_a_value_are_not_read_again(
    parts: tuple[LocalFolder, list[FilePart]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Wanted(frozenset(_COLUMNS), metadata=True)
    read_table(*parts, wanted)
    asked: list[list[str]] = []
    read = pq.ParquetFile.read

    def noted(file: pq.ParquetFile, columns: list[str], **options: object) -> pa.Table:
        asked.append(columns)
        return read(file, columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read", noted)
    read_table(*parts, wanted)
    assert asked == [
        ["conversation_id", "cost", "topics"],
        ["conversation_id", "cost", "topics", "metadata.plan"],
    ]


def test_what_was_read_a_moment_ago_is_not_read_again(
    parts: tuple[LocalFolder, list[FilePart]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, files = parts
    wanted = Wanted(frozenset(_COLUMNS))
    known = [read_table(root, files, wanted) for _ in range(2)]
    monkeypatch.setattr(pq.ParquetFile, "read", None)  # any read fails
    assert read_table(root, files, wanted).equals(known[1])
    with pytest.raises(TypeError):
        read_table(root, files, Wanted(frozenset({"cost"})))
    with pytest.raises(TypeError):
        read_table(root, files[:1], wanted)


def test_a_file_that_is_changed_after_its_footer_was_kept_is_refused(
    parts: tuple[LocalFolder, list[FilePart]],
) -> None:
    root, files = parts
    wanted = Wanted(frozenset(_COLUMNS))
    for _ in range(2):
        read_table(root, files, wanted)
    place = root.place / files[1].path
    data = bytearray(place.read_bytes())
    data[10] ^= 1
    place.write_bytes(data)
    with pytest.raises(SnapshotDamaged, match=files[1].path):
        read_table(root, files, wanted)


def test_a_file_that_is_gone_after_its_footer_was_kept_is_missed(
    parts: tuple[LocalFolder, list[FilePart]],
) -> None:
    root, files = parts
    wanted = Wanted(frozenset(_COLUMNS))
    for _ in range(2):
        read_table(root, files, wanted)
    (root.place / files[0].path).unlink()
    with pytest.raises(FileNotFoundError):
        read_table(root, files, wanted)
