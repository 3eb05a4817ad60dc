"""Measure a second load: 10,000 conversations with insights from a snapshot, against bare Parquet of the same rows.

    PYTHONPATH=tests python tests/benchmarks/second_load.py [--rows 10000] [--prompts 3] [--months 6]

Processor time tells more than the clock on a machine that others use too; both are printed. The bare files are read with every
column of the table: the same files by PyArrow's dataset and by pandas, one after the other, and one file that pandas wrote.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pandas as pd
from pyarrow import dataset

import promptlift
from support.foreign_service import ForeignService
from support.pulled import workspace

_REPEATS = 15


def seconds(read) -> tuple[float, float]:
    """Return the median wall and processor milliseconds of a warm read."""
    read()
    taken = []
    for _ in range(_REPEATS):
        wall, processor = time.perf_counter(), time.process_time()
        read()
        taken.append((time.perf_counter() - wall, time.process_time() - processor))
    walls, processors = zip(*taken, strict=True)
    return 1000 * statistics.median(walls), 1000 * statistics.median(processors)


def main() -> None:
    """Print a line for each way to read, and our ratio to it."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rows", 10_000), ("prompts", 3), ("months", 6)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ForeignService(honours=("includeInsights",)) as service:
        partitions = [
            (prompt, month) for prompt in range(options.prompts) for month in range(1, options.months + 1)
        ]
        for prompt, month in partitions:
            began = f"2026-{month:02d}-03T00:00:00Z"
            service.fill(options.rows // len(partitions), promptId=f"p{prompt}", createdAt=began)
        workspace(service).pull(Path(folder, "snapshot"))
        opened = promptlift.open_snapshot(Path(folder, "snapshot"))
        files = opened.snapshot.files("conversations")
        one = Path(folder, "one.parquet")
        opened.conversations(insights=True).drop(columns="prompt").to_parquet(one)
        ours = seconds(lambda: opened.conversations(insights=True))
        print(f"from the snapshot, {len(files)} files: {ours[0]:.1f} ms, processor {ours[1]:.1f} ms")
        bare = {
            f"the same {len(files)} files, PyArrow dataset": lambda: (
                dataset.dataset(files).to_table().to_pandas()
            ),
            f"the same {len(files)} files, pandas": lambda: pd.concat(
                [pd.read_parquet(path, partitioning=None) for path in files]
            ),
            "one file, pandas": lambda: pd.read_parquet(one),
        }
        for name, read in bare.items():
            wall, processor = seconds(read)
            print(
                f"{name}: {wall:.1f} ms, processor {processor:.1f} ms; "
                f"ours takes {ours[0] / wall:.2f} and {ours[1] / processor:.2f} times as long"
            )


if __name__ == "__main__":
    main()
