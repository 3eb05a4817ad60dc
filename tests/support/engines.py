"""Tables on every engine that analyses run on, and long tables made of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pytest

LISTS: Final = ("issues", "topics")
# Half an hour beside the full one: an engine that cuts by the clock of its session is found out.
SESSION_ZONE: Final = "Asia/Kolkata"
ENGINES: Final = (
    "polars",
    "lazy polars",
    "arrow",
    "duckdb",
    "ibis on duckdb",
    "ibis on sqlite",
    "spark",
)


class Engines:
    """Puts pandas tables into engines; one connection and one Spark session for all tests."""

    def __init__(self) -> None:
        self._duckdb: Any = None
        self._spark: Any = None
        self._ibis: dict[str, Any] = {}
        self._made = 0

    def table(self, frame: pd.DataFrame, engine: str) -> Any:
        """Put a table into an engine."""
        if engine == "pandas":
            return frame
        if "polars" in engine:
            polars = pytest.importorskip("polars", reason="the extra polars is not installed")
            made = polars.from_pandas(frame)
            return made.lazy() if engine == "lazy polars" else made
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        if engine == "arrow":
            return arrow
        if engine.startswith("ibis"):
            return self._in_ibis(_plain(arrow), engine.rpartition(" ")[2])
        return self.duckdb.from_arrow(_plain(arrow)) if engine == "duckdb" else self._in_spark(_plain(arrow))

    @property
    def duckdb(self) -> Any:
        """The connection to DuckDB, which has a clock of half an hour."""
        if self._duckdb is None:
            duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
            self._duckdb = duckdb.connect()
            self._duckdb.execute(f"SET TimeZone = '{SESSION_ZONE}'")
        return self._duckdb

    @property
    def spark(self) -> Any:
        """The Spark session on this machine."""
        if self._spark is None:
            sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
            settings = {
                "spark.ui.enabled": "false",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.host": "127.0.0.1",
                "spark.sql.session.timeZone": SESSION_ZONE,
                # A table with times without a zone keeps them so.
                "spark.sql.timestampType": "TIMESTAMP_NTZ",
                "spark.sql.shuffle.partitions": "1",
                "spark.default.parallelism": "1",
                "spark.log.level": "ERROR",
            }
            builder = sql.SparkSession.builder.master("local[1]")
            for name, value in settings.items():
                builder = builder.config(name, value)
            self._spark = builder.getOrCreate()
        return self._spark

    def _in_ibis(self, arrow: pa.Table, backend: str) -> Any:
        """Put a table into a database, and open it there with Ibis."""
        ibis = pytest.importorskip("ibis", reason="ibis-framework is not installed")
        self._made += 1
        name = f"table_{self._made}"
        if backend == "duckdb":
            self._ibis.setdefault(backend, ibis.duckdb.from_connection(self.duckdb))
            self.duckdb.from_arrow(arrow).create(name)
            return self._ibis[backend].table(name)
        connection = self._ibis.setdefault(backend, ibis.sqlite.connect())
        columns = [(field.name, _declared(field.type)) for field in arrow.schema]
        written = ", ".join(f'"{column}" {kind}' for column, kind in columns)
        connection.con.execute(f"CREATE TABLE {name} ({written})")
        values = ", ".join("?" * len(columns))
        rows = zip(*(_stored(arrow[column]) for column in arrow.column_names), strict=True)
        connection.con.executemany(f"INSERT INTO {name} VALUES ({values})", rows)
        return connection.table(name)

    def _in_spark(self, arrow: pa.Table) -> Any:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas 3
            return self.spark.createDataFrame(arrow)

    def close(self) -> None:
        """End the connection and the session."""
        if self._duckdb is not None:
            self._duckdb.close()
        if self._spark is not None:
            self._spark.stop()


@dataclass
class Tables:
    """The tables of one engine; ``mentions`` are long tables, or empty where the conversations have lists."""

    engines: Engines
    engine: str
    source: pd.DataFrame

    def put(self, frame: pd.DataFrame) -> Any:
        return self.engines.table(frame, self.engine)

    @property
    def conversations(self) -> Any:
        return self.put(self.source if self.has_lists else self.source.drop(columns=list(LISTS)))

    @property
    def has_lists(self) -> bool:
        return self.engine not in ("duckdb", "spark") and not self.engine.startswith("ibis")

    def mentions(self, *names: str, **renamed: str) -> dict[str, Any]:
        if self.has_lists:
            return {}
        long = long_tables(self.source)
        return {argument: self.put(long[name]) for argument, name in renamed.items()} | {
            name: self.put(long[name]) for name in names
        }

    def of(self, prompt: str) -> Any:
        mine = self.source[self.source["prompt_id"] == prompt]
        return self.put(mine if self.has_lists else mine.drop(columns=list(LISTS)))


def as_kept_by(engine: str, source: pd.DataFrame) -> pd.DataFrame:
    """Return a table with times as exact as an engine keeps them; Ibis knows those of SQLite to the second."""
    if engine != "ibis on sqlite":
        return source
    return source.assign(**{time: source[time].dt.floor("s") for time in ("started_at", "created_at")})


def _plain(arrow: pa.Table) -> pa.Table:
    """Return a table without categories, which engines do not have; what is missing everywhere becomes text."""
    columns = []
    for field, column in zip(arrow.schema, arrow.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        columns.append(column.cast(pa.string() if pa.types.is_null(kind) else kind))
    return pa.table(dict(zip(arrow.column_names, columns, strict=True)))


def _declared(kind: pa.DataType) -> str:
    """Return the type by which Ibis knows a column of SQLite."""
    if pa.types.is_boolean(kind):
        return "BOOLEAN"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if pa.types.is_integer(kind):
        return "BIGINT"
    return "DOUBLE" if pa.types.is_floating(kind) else "TEXT"


def _stored(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as SQLite stores them."""
    if pa.types.is_timestamp(column.type):
        naive = column.cast(pa.timestamp("us", column.type.tz))
        return [
            None if value is None else value.strftime("%Y-%m-%d %H:%M:%S.%f") for value in naive.to_pylist()
        ]
    return column.to_pylist()


def long_tables(conversations: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the long tables of the lists of conversations."""
    found: dict[str, pd.DataFrame] = {}
    for name, label in (("issues", "title"), ("topics", "topic")):
        rows = [
            (key, item["title"] if name == "issues" else item, item["severity"] if name == "issues" else None)
            for key, cell in zip(conversations["conversation_id"], conversations[name], strict=True)
            for item in (cell if isinstance(cell, list) else [])
        ]
        table = pd.DataFrame(rows, columns=["conversation_id", label, "severity"]).astype("str")
        found[name] = table if name == "issues" else table.drop(columns="severity")
    return found
