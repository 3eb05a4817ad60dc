"""Fifty million conversations in a snapshot, analysed by DuckDB with two threads: seconds and peak memory of each analysis.

Beside the seconds on the clock stand those of the processor, user's and system's, divided by the two threads: what a machine with
nothing else to do would take at best. The load is that of the machine while it was measured.

    python tests/benchmarks/fifty_million.py FOLDER [--rows 1000000 10000000 50000000] [--keep]

Rows are drawn by DuckDB in the layout of a snapshot, without transcripts. Each analysis runs in a process of its own, so that
its peak memory is its own. What was generated is removed at the end unless ``--keep`` is given.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

PROMPTS: Final = ("support", "sales", "onboarding", "returns", "billing")
MONTHS: Final = tuple(f"2026-{month:02d}" for month in range(1, 13))
THREADS: Final = 2
# Of DuckDB alone; Python, pandas and Arrow take about 0.4 GB more.
MEMORY: Final = "1400MB"
MOST_SECONDS: Final = 60.0
MOST_MEGABYTES: Final = 2_000
_JUDGED: Final = "hash(i, 2) % 10 < 9"

CONVERSATIONS: Final = """
    SELECT {key} AS conversation_id, '{prompt}' AS prompt,
        CASE WHEN hash(i, 1) % 20 = 0 THEN 'in_progress' WHEN hash(i, 1) % 5 = 1 THEN 'abandoned' ELSE 'completed' END AS status,
        {judged} AS has_insights,
        CASE WHEN {judged} THEN hash(i, 3) % 1000 < 650 + 10 * (hash(i, 6) % 4) END AS task_completed,
        CASE WHEN {judged} THEN ['negative', 'neutral', 'positive'][1 + (hash(i, 4) % 3)::INT] END AS sentiment,
        CASE WHEN {judged} THEN (hash(i, 5) % 2001)::DOUBLE / 1000 - 1 END AS sentiment_score,
        ['gpt-4o', 'gpt-4o-mini', 'claude', 'llama'][1 + (hash(i, 6) % 4)::INT] AS llm_model,
        ['web', 'app', 'mail'][1 + (hash(i, 7) % 3)::INT] AS "metadata.channel",
        (1 + hash(i, 8) % 20)::BIGINT AS n_turns,
        (hash(i, 13) % 100000)::DOUBLE / 1e6 AS cost,
        make_timestamptz(epoch_us(TIMESTAMPTZ '{month}-01 00:00:00+00') + (hash(i, 9) % 2419200000000)::BIGINT) AS started_at
    FROM range({first}, {last}) rows(i)"""
ISSUES: Final = """
    SELECT {key} AS conversation_id, 'Something went wrong in step ' || (hash(i, 10, k) % 12)::VARCHAR AS title,
        ['low', 'medium', 'high'][1 + (hash(i, 12, k) % 3)::INT] AS severity
    FROM range({first}, {last}) rows(i), range(1, 4) mentions(k) WHERE {judged} AND hash(i, 11, k) % 10 < 3"""
TOPICS: Final = """
    SELECT {key} AS conversation_id, 'A question about ' || (hash(i, 14, k) % 9)::VARCHAR AS topic
    FROM range({first}, {last}) rows(i), range(1, 3) mentions(k) WHERE {judged} AND hash(i, 15, k) % 10 < 7"""
TABLES: Final = {"conversations": CONVERSATIONS, "issues": ISSUES, "topics": TOPICS}
# As long as the service's ids, and as little in order.
KEY: Final = "'cnv_' || md5(i::VARCHAR)[:24]"

RUNS: Final[dict[str, Any]] = {
    "completion": lambda a, t: a.completion(t("conversations"), by="llm_model"),
    "weekly trend": lambda a, t: a.completion_trend(t("conversations"), freq="W", tz="Europe/Berlin"),
    "daily trend in Kathmandu by prompt": lambda a, t: a.completion_trend(
        t("conversations"), freq="D", tz="Asia/Kathmandu", by="prompt"
    ),
    "sentiment": lambda a, t: a.sentiment_distribution(t("conversations"), by="prompt"),
    "sentiment trend": lambda a, t: a.sentiment_trend(t("conversations"), freq="W"),
    "issues": lambda a, t: a.issues(t("conversations"), mentions=t("issues"), by="prompt"),
    "topics": lambda a, t: a.topics(t("conversations"), mentions=t("topics")),
    "segments": lambda a, t: a.segments(t("conversations")),
    "segments with topics": lambda a, t: a.segments(t("conversations"), topics=t("topics")),
    "comparison": lambda a, t: a.compare(t("conversations"), by="llm_model", control="gpt-4o"),
    "headroom": lambda a, t: a.headroom(t("conversations"), mentions=t("issues")),
    "plan of labels": lambda a, t: a.label_plan(t("conversations"), by="prompt", n=200),
    "overview": lambda a, t: a.prompt_overview(t("conversations"), by="prompt"),
}


def generate(root: Path, rows: int) -> list[str]:
    """Draw a snapshot, and return its files: one a prompt and month of each table."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET memory_limit = '{MEMORY}'")
    each = rows // (len(PROMPTS) * len(MONTHS))
    parts = []
    for number, (prompt, month) in enumerate((one, other) for one in PROMPTS for other in MONTHS):
        values = {"key": KEY, "judged": _JUDGED, "prompt": prompt, "month": month, "first": number * each}
        for table, query in TABLES.items():
            folder = root / table / f"prompt_id={prompt}" / f"month={month}"
            folder.mkdir(parents=True)
            drawn = folder / "part.parquet"
            sql = query.format(last=(number + 1) * each, **values)
            connection.execute(f"COPY ({sql}) TO '{drawn}' (FORMAT parquet, COMPRESSION zstd)")
            with drawn.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            named = drawn.rename(folder / f"part-1-{digest[:8]}.parquet")
            parts.append({"path": named.relative_to(root).as_posix(), "sha256": digest})
    (root / "manifest.json").write_text(json.dumps({"files": parts}, indent=1), encoding="utf-8")
    return [part["path"] for part in parts]


def measure(root: Path, name: str) -> dict[str, Any]:
    """Run one analysis in a process of its own."""
    command = [sys.executable, __file__, str(root), "--run", name]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        return {"name": name, "failed": answer.stderr.strip().splitlines()[-1][:200]}
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def run(root: Path, name: str) -> None:
    """Run one analysis here, and print its seconds and its peak memory."""
    from promptlift import analysis
    from promptlift.snapshot.scan import scan

    files = [
        part["path"] for part in json.loads((root / "manifest.json").read_text(encoding="utf-8"))["files"]
    ]
    connection = _connection(root)
    started, worked = time.perf_counter(), time.process_time()
    table = RUNS[name](analysis, lambda of: scan(root, files, of, engine="duckdb", connection=connection))
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    said = {
        "name": name,
        "seconds": round(seconds, 2),
        "processor": round(worked, 2),
        "load": round(os.getloadavg()[0], 1),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "rows": len(table),
    }
    print(json.dumps(said))


def _connection(root: Path) -> Any:
    import duckdb

    spill = str(root.parent / "spill").replace("'", "''")
    settings = {
        "threads": THREADS,
        "memory_limit": f"'{MEMORY}'",
        "temp_directory": f"'{spill}'",
        "enable_progress_bar": "false",
    }
    connection = duckdb.connect()
    for setting, value in settings.items():
        connection.execute(f"SET {setting} = {value}")
    return connection


def main() -> None:
    """Generate, measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 50_000_000])
    parser.add_argument("--only", nargs="+", default=list(RUNS), choices=list(RUNS))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--run")
    given = parser.parse_args()
    if given.run:
        run(given.folder, given.run)
        return
    for rows in given.rows:
        root = given.folder / str(rows)
        if not (root / "manifest.json").exists():
            shutil.rmtree(root, ignore_errors=True)
            started = time.perf_counter()
            generate(root, rows)
            print(f"{rows:,} rows drawn in {time.perf_counter() - started:.0f} s", flush=True)
        for name in given.only:
            found, said = measure(root, name), f"{rows:>12,}  {name:36}"
            if "failed" in found:
                print(said, found["failed"], flush=True)
                continue
            within = found["seconds"] <= MOST_SECONDS and found["megabytes"] <= MOST_MEGABYTES
            print(
                f"{said} {found['seconds']:7.2f} s, processor {found['processor'] / THREADS:7.2f} s at {THREADS}, "
                f"load {found['load']:4.1f}, {found['megabytes']:6,} MB  {'within' if within else 'OVER'}",
                flush=True,
            )
        if not given.keep:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
