"""Tables on every engine that analyses run on, and long tables made of lists."""

from __future__ import annotations

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
    pytest.param("spark", marks=pytest.mark.slow),
)
REMOTE: Final = ("duckdb", pytest.param("spark", marks=pytest.mark.slow))


class Engines:
    """Puts pandas tables into engines; one connection and one Spark session for all tests."""

    def __init__(self) -> None:
        self._duckdb: Any = None
        self._spark: Any = None

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
                "spark.sql.shuffle.partitions": "1",
                "spark.default.parallelism": "1",
                "spark.log.level": "ERROR",
            }
            builder = sql.SparkSession.builder.master("local[1]")
            for name, value in settings.items():
                builder = builder.config(name, value)
            self._spark = builder.getOrCreate()
        return self._spark

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


def _plain(arrow: pa.Table) -> pa.Table:
    """Return a table without categories, which engines do not have; what is missing everywhere becomes text."""
    columns = []
    for field, column in zip(arrow.schema, arrow.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        columns.append(column.cast(pa.string() if pa.types.is_null(kind) else kind))
    return pa.table(dict(zip(arrow.column_names, columns, strict=True)))


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
