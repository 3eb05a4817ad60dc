"""How fast a report of 10,000 conversations is written, beside a page made with plain pandas and matplotlib.

``python -m pytest -m benchmark tests/benchmarks/test_report_speed.py -s`` prints the figures. No test asserts a time.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from support.service_process import clean_environment

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

ROWS = 10_000
ROUNDS = 3

# Each runs in a process of its own: the imports count, making the table does not.
START = """
import json, sys, time

def clocks():
    return time.perf_counter(), time.process_time()

started = clocks()
import pandas as pd
imported = [after - before for before, after in zip(started, clocks())]
sys.path.insert(0, sys.argv[1])
from support import report_page
table = report_page.conversations(int(sys.argv[2]))
path = sys.argv[3]
started = clocks()
"""
END = """
seconds, cpu = [first + after - before for first, before, after in zip(imported, started, clocks())]
import os
print(json.dumps({"seconds": seconds, "cpu": cpu, "bytes": os.path.getsize(path)}))
"""
OURS = f"""{START}
from promptlift import report
report.write(table, "p1", path, clock=report_page.clock)
{END}"""

# The baseline: what a person writes first with the same three pictures and tables, without intervals and examples.
PLAIN = f"""{START}
import base64, io
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

def picture(draw):
    figure, ax = plt.subplots(figsize=(9.2, 3.9))
    draw(ax)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    plt.close(figure)
    return f'<img src="data:image/png;base64,{{base64.b64encode(out.getvalue()).decode()}}">'

ended = table[table["status"] != "in_progress"]
daily = ended.set_index("started_at")["task_completed"].astype("float").resample("D").agg(["mean", "count"])
tones = table["sentiment"].value_counts()
issues = table.explode("issues")["issues"].dropna().map(lambda one: one["title"]).value_counts().head(8)
parts = [
    picture(lambda ax: ax.plot(daily.index, daily["mean"], marker="o")),
    picture(lambda ax: ax.barh(tones.index.astype(str), tones)),
    picture(lambda ax: ax.barh(issues.index, issues)),
    daily.to_html(), tones.to_frame().to_html(), issues.to_frame().to_html(),
]
with open(path, "w", encoding="utf-8") as file:
    file.write("<html><body>" + "".join(parts) + "</body></html>")
{END}"""


def run(script, path):
    command = [sys.executable, "-c", script, str(Path(__file__).parents[1]), str(ROWS), str(path)]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_report_of_ten_thousand_conversations_beside_a_plain_page(tmp_path):
    # In turn, so that a busy moment of the machine meets both.
    pairs = [(run(OURS, tmp_path / "r.html"), run(PLAIN, tmp_path / "plain.html")) for _ in range(ROUNDS)]
    ours, plain = (
        {name: statistics.median(one[side][name] for one in pairs) for name in ("seconds", "cpu", "bytes")}
        for side in (0, 1)
    )
    print(
        f"\nreport of {ROWS:,} conversations, imports included: {ours['seconds']:.2f} s ({ours['cpu']:.2f} s CPU), "
        f"{ours['bytes'] / 1024:,.0f} KB; a page of plain pandas and matplotlib {plain['seconds']:.2f} s "
        f"({plain['cpu']:.2f} s CPU), {plain['bytes'] / 1024:,.0f} KB; ratio {ours['seconds'] / plain['seconds']:.2f}"
    )
    assert ours["bytes"] < 1_000_000
