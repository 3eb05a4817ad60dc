"""Scan a table of a snapshot in DuckDB, Polars or Spark: exactly the files in the manifest, read lazily."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.parquet as pq

from promptlift.errors import ConfigError, MissingExtra
from promptlift.snapshot.location import RemoteFolder
from promptlift.snapshot.manifest import NO_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

__all__ = ["Engine", "scan"]

Engine = Literal["duckdb", "polars", "spark"]

# Folders of Hive partitions.
_PARTITIONS: Final = ("prompt_id", "month")
_TEXT, _TRUTH, _TIME = pa.string(), pa.bool_(), pa.timestamp("us", "UTC")
# Columns of a table without files, so that an analysis of an empty table finds them.
_LEAST: Final[dict[str, dict[pa.DataType, tuple[str, ...]]]] = {
    "conversations": {
        _TEXT: ("conversation_id", "prompt_id", "prompt", "status", "llm_model", "sentiment", "month"),
        _TRUTH: ("has_insights", "task_completed"),
        _TIME: ("created_at", "started_at"),
        pa.float64(): ("sentiment_score",),
    },
    "issues": {_TEXT: ("conversation_id", "prompt_id", "month", "title", "severity"), _TIME: ("started_at",)},
    "topics": {_TEXT: ("conversation_id", "prompt_id", "month", "topic"), _TIME: ("started_at",)},
    "labels": {
        _TEXT: (
            *("conversation_id", "prompt_id", "question", "value", "labeller", "draw_id"),
            *("optimization_id", "label_id"),
        ),
        _TIME: ("labelled_at",),
        pa.float64(): ("chance",),
    },
    "verdicts": {
        _TEXT: ("conversation_id", "prompt_id", "prompt", "status", "judge", "analyser", "month"),
        pa.int64(): ("judge_version",),
        _TRUTH: ("verdict",),
        _TIME: ("started_at", "created_at"),
    },
}
# Columns used only by pulls: the order of the list, and the digest for detecting changes.
_OWN: Final = ("position", "list_hash")
_NO_CONNECTOR: Final = (
    "Spark has no connector for {name}://, so it cannot read {root}. Start its session with the connector's package "
    "(spark.jars.packages; for S3 org.apache.hadoop:hadoop-aws, in the version of Spark's Hadoop) and with the store's settings "
    "(for S3 spark.hadoop.fs.s3a.endpoint, .access.key and .secret.key), and pass it as connection=. "
    "engine='duckdb' reads the same files with storage_options= alone."
)
_SPARK_INFERENCE: Final = "spark.sql.sources.partitionColumnTypeInference.enabled"


def scan(
    root: str | PathLike[str],
    files: Iterable[str],
    table: str = "conversations",
    *,
    engine: Engine = "duckdb",
    connection: Any = None,
    storage_options: dict[str, Any] | None = None,
    prompts: Mapping[str, str] | None = None,
) -> Any:
    """Return a table of a snapshot in an engine, which reads it lazily.

    Parameters
    ----------
    root
        Folder of the snapshot, or its address on a file system supported by fsspec, such as
        ``s3://bucket/january``.
    files
        Paths of the files of all tables, relative to the root, as the manifest lists them.
    table
        Name of the table.
    engine
        ``duckdb`` (one machine), ``polars``, or ``spark`` (many).
    connection
        A DuckDB connection or a Spark session; by default DuckDB's default connection, on which ``duckdb.sql("SET …")`` works,
        and the running Spark session, or a new one.
    storage_options
        Options of the file system, such as ``{"key": …, "secret": …, "endpoint_url": …}`` for S3. Spark has its own.
    prompts
        Names of prompts by id, for a column ``prompt`` in addition to ``prompt_id``; null for an id without a
        name here.

    Returns
    -------
    object
        A DuckDB relation, a Polars LazyFrame or a Spark DataFrame, with the columns ``prompt_id`` and
        ``month`` of the partitions. Columns that only some files have are missing in other rows; if types
        differ between files, a column is text.

    Raises
    ------
    ConfigError
        Spark's session has no connector for the address.
    MissingExtra
        The engine, or the library for the address, is not installed.
    ValueError
        There is no such engine.
    """
    read = _ENGINES.get(engine)
    if read is None:
        raise ValueError(f"engine must be one of {', '.join(_ENGINES)}, not {engine!r}.")
    place = str(root).rstrip("/")
    wanted = sorted(path for path in files if path.partition("/")[0] == table)
    found = read(place, wanted, table, connection, storage_options or {})
    if not wanted or not _partitioned(wanted):
        return found
    frame = nw.from_native(found)
    columns = frame.collect_schema().names()
    found = frame.drop([name for name in _OWN if name in columns]).to_native()
    return found if prompts is None or "prompt" in columns else _NAMED[engine](found, dict(prompts))


def _is_address(root: str) -> bool:
    return "://" in root


def _empty(table: str) -> pa.Table:
    least = _LEAST.get(table, {_TEXT: ("conversation_id",)})
    return pa.schema([(name, kind) for kind, names in least.items() for name in names]).empty_table()


def _in_duckdb(root: str, files: Sequence[str], table: str, connection: Any, options: dict[str, Any]) -> Any:
    try:
        import duckdb  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtra("engine='duckdb'", "duckdb") from error
    connection = duckdb.default_connection() if connection is None else connection
    if not files:
        return connection.from_arrow(_empty(table))
    place = _registered(connection, RemoteFolder(root, options)) if _is_address(root) else f"{root}/"
    # A star in the name of a folder is not a pattern: only the listed files are read.
    paths = ", ".join(_quoted(re.sub(r"[*?[]", r"[\g<0>]", f"{place}{path}")) for path in files)
    # The partition values are texts: a month is not a date, and an id of digits not a number.
    hive = (
        "hive_partitioning = true, hive_types_autocast = false"
        if _partitioned(files)
        else "hive_partitioning = false"
    )
    return connection.sql(f"SELECT * FROM read_parquet([{paths}], union_by_name = true, {hive})")  # noqa: S608  (quoted)


def _registered(connection: Any, at: RemoteFolder) -> str:
    """Register a folder of a file system with a DuckDB connection, and return the prefix of its paths there.

    A connection identifies a file system by name, so each has its own name, which allows two stores, or one
    with two keys.
    """
    from fsspec.implementations.dirfs import DirFileSystem  # noqa: PLC0415  (an extra)

    folder = DirFileSystem(path=at.root, fs=at.system)
    name = f"folder-{hash(folder):x}"
    if not connection.filesystem_is_registered(name):
        # The name is an attribute of the class, used to parse addresses.
        kind = type("NamedFolder", (DirFileSystem,), {"protocol": name})
        connection.register_filesystem(kind(path=at.root, fs=at.system))
    return f"{name}://"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _partitioned(files: Sequence[str]) -> bool:
    return any(part.startswith(f"{name}=") for name in _PARTITIONS for part in files[0].split("/"))


def _in_polars(root: str, files: Sequence[str], table: str, connection: Any, options: dict[str, Any]) -> Any:
    del connection
    try:
        import polars as pl  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtra("engine='polars'", "polars") from error
    if not files:
        return pl.LazyFrame(_empty(table))
    at = RemoteFolder(root, options) if _is_address(root) else None
    system, path = (None, root) if at is None else (at.system, at.root)
    scans = []
    for schema, group in _by_schema(path, files, system):
        for place, paths in _by_partition(group).items():
            whole = [posixpath.join(path, one) for one in paths]
            if system is None:
                found = pl.scan_parquet(whole, hive_partitioning=False, glob=False)
            else:
                from pyarrow import dataset  # noqa: PLC0415  (only for addresses)

                found = pl.scan_pyarrow_dataset(
                    dataset.dataset(whole, schema=schema, filesystem=system, format="parquet")
                )
            scans.append(found.with_columns(pl.lit(value, pl.String).alias(name) for name, value in place))
    return pl.concat(scans, how="diagonal_relaxed")


def _in_spark(root: str, files: Sequence[str], table: str, connection: Any, options: dict[str, Any]) -> Any:
    del options
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtra("engine='spark'", "spark") from error
    session = SparkSession.builder.getOrCreate() if connection is None else connection
    if not files:
        return session.createDataFrame(_empty(table))
    # Hadoop's name for the file system that the rest of the world calls s3.
    place = root.replace("s3://", "s3a://", 1) if root.startswith("s3://") else root
    before = str(session.conf.get(_SPARK_INFERENCE))
    session.conf.set(_SPARK_INFERENCE, "false")
    try:
        reader = session.read.option("mergeSchema", "true").option("basePath", f"{place}/{table}")
        parts = [
            reader.parquet(*(f"{place}/{path}" for path in group))
            for _, group in _groups_for_spark(root, files)
        ]
    except Exception as error:
        # Errors of the JVM have a class of the gateway in use.
        if _is_address(root) and "ClassNotFoundException" in str(error):
            raise ConfigError(_NO_CONNECTOR.format(root=root, name=place.partition("://")[0])) from error
        raise
    finally:
        session.conf.set(_SPARK_INFERENCE, before)
    return _together(parts)


def _groups_for_spark(root: str, files: Sequence[str]) -> list[tuple[Any, list[str]]]:
    """Group local files by their columns; files at an address visible only to the cluster are one group."""
    return [(None, list(files))] if _is_address(root) else _by_schema(root, files, None)


def _together(parts: Sequence[Any]) -> Any:
    """Concatenate Spark frames; a column with different types becomes text."""
    from pyspark.sql import functions  # noqa: PLC0415  (an extra)

    kinds: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        for column in part.schema:
            kinds[column.name].add(column.dataType.typeName())
    mixed = {name for name, found in kinds.items() if len(found) > 1}
    whole = None
    for part in parts:
        texts = {name: functions.col(f"`{name}`").cast("string") for name in part.columns if name in mixed}
        columns = [texts.get(name, functions.col(f"`{name}`")).alias(name) for name in part.columns]
        part = part.select(*columns)  # noqa: PLW2901  (the same rows)
        whole = part if whole is None else whole.unionByName(part, allowMissingColumns=True)
    return whole


def _by_schema(root: str, files: Sequence[str], system: Any) -> list[tuple[pa.Schema, list[str]]]:
    """Group files by their columns: metadata may have different keys, or types of values, in each."""
    groups: dict[pa.Schema, list[str]] = defaultdict(list)
    for path in files:
        groups[pq.read_schema(posixpath.join(root, path), filesystem=system).remove_metadata()].append(path)
    return list(groups.items())


def _by_partition(files: Sequence[str]) -> dict[tuple[tuple[str, str | None], ...], list[str]]:
    """Group files by the partition values in the names of their folders."""
    groups: dict[tuple[tuple[str, str | None], ...], list[str]] = defaultdict(list)
    for path in files:
        pairs = [part.partition("=") for part in path.split("/")[:-1]]
        place = tuple(
            (name, None if value == NO_VALUE else unquote(value)) for name, sign, value in pairs if sign
        )
        groups[place].append(path)
    return groups


def _named_duckdb(found: Any, prompts: dict[str, str]) -> Any:
    # A map instead of a join: the rows stay in the order of the files, and no second table must be kept
    # alive.
    ids, names = (", ".join(map(_quoted, texts)) for texts in (prompts, prompts.values()))
    named = "MAP {}::MAP(VARCHAR, VARCHAR)" if not prompts else f"MAP([{ids}], [{names}])"
    return found.select(f"*, element_at({named}, prompt_id)[1] AS prompt")


def _named_polars(found: Any, prompts: dict[str, str]) -> Any:
    import polars as pl  # noqa: PLC0415  (an extra)

    named = pl.col("prompt_id").replace_strict(prompts or {"": None}, default=None, return_dtype=pl.String)
    return found.with_columns(named.alias("prompt"))


def _named_spark(found: Any, prompts: dict[str, str]) -> Any:
    from pyspark.sql import functions  # noqa: PLC0415  (an extra)

    if not prompts:
        return found.withColumn("prompt", functions.lit(None).cast("string"))
    pairs = [functions.lit(text) for pair in prompts.items() for text in pair]
    return found.withColumn("prompt", functions.create_map(*pairs)[functions.col("prompt_id")])


_ENGINES: Final[dict[str, Callable[..., Any]]] = {
    "duckdb": _in_duckdb,
    "polars": _in_polars,
    "spark": _in_spark,
}
# What adds the names of prompts.
_NAMED: Final[dict[str, Callable[..., Any]]] = {
    "duckdb": _named_duckdb,
    "polars": _named_polars,
    "spark": _named_spark,
}
