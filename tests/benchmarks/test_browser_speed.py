"""How fast 10,000 conversations open in JupyterLab, and what is sent: the browser beside the ways that people know.

``python -m pytest -m benchmark tests/benchmarks/test_browser_speed.py -s`` prints the figures. Baselines in the same run, in the same
JupyterLab: the whole table as one HTML table (``DataFrame.to_html``, of every transcript the first 50 characters), and
``display(df)``, which shows ten rows and cannot be filtered. No test asserts a time.
"""

from __future__ import annotations

import statistics
import time

import pytest

from support.jupyter_lab import chromium, lab  # noqa: F401  fixtures

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

ROWS = 10_000
RUNS = 3
TABLE = f"""
import json
import pandas as pd
from IPython.display import HTML
from promptlift import widgets

N = {ROWS}
WORDS = "the order parcel refund card late broken size colour account password invoice address please thanks still again ".split()
def content(i):
    said = [" ".join(WORDS[(i * 7 + turn * 3 + word) % len(WORDS)] for word in range(70)) for turn in range(8)]
    return json.dumps({{"messages": [
        {{"role": ("user", "assistant")[turn % 2], "content": f"{{i}} {{text}}", "timestamp": "2026-03-01T10:00:00Z", "tokens": 90}}
        for turn, text in enumerate(said)
    ]}})
df = pd.DataFrame({{
    "conversation_id": [f"conv_{{i:05}}" for i in range(N)],
    "started_at": pd.date_range("2026-03-01", periods=N, freq="7min", tz="UTC"),
    "llm_model": "gpt-4o",
    "sentiment": pd.Categorical([("positive", "neutral", "negative")[i % 3] for i in range(N)]),
    "task_completed": pd.array([i % 4 > 0 for i in range(N)], dtype="boolean"),
    "summary": "The user asks for a parcel that is late.",
    "issues": [[{{"title": "Had to ask twice", "severity": "low"}}] if i % 3 == 0 else [] for i in range(N)],
    "content": [content(i) for i in range(N)],
}})
def whole_table():
    return HTML(df.assign(content=df["content"].str[:50]).to_html())
print(round(df["content"].str.len().sum() / 1e6))
"""
WAYS = {
    "ConversationBrowser": ("widgets.ConversationBrowser(df)", ".plw-browser .plw-row"),
    "whole table as HTML": ("whole_table()", ".jp-OutputArea table tbody tr:nth-child(10000)"),
    "display(df), 10 rows": ("df", ".jp-OutputArea table tbody tr"),
}


def opened(server, name, code, sign):
    """Open a notebook, and give the seconds from the start of the cell to the sign, and the bytes that came."""
    notebook = server.open([TABLE], name=name)
    notebook.run_all()
    page = notebook.page
    before = notebook.received
    # A cell of its own, run by the command that Shift+Enter runs.
    started = time.perf_counter()
    page.evaluate(
        """async code => {
            const app = window.jupyterapp;
            await app.commands.execute('notebook:insert-cell-below');
            app.shell.currentWidget.content.activeCell.model.sharedModel.setSource(code);
            app.commands.execute('notebook:run-cell');
        }""",
        code,
    )
    page.locator(sign).first.wait_for(state="attached", timeout=180_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    seconds = time.perf_counter() - started
    return notebook, seconds, notebook.received - before


def test_ten_thousand_conversations_open_with_a_page_of_bytes(lab, capsys):  # noqa: F811
    figures = {name: ([], []) for name in WAYS}
    for run in range(RUNS):
        for name, (code, sign) in WAYS.items():
            notebook, seconds, received = opened(lab, f"speed-{run}.ipynb", code, sign)
            figures[name][0].append(seconds)
            figures[name][1].append(received)
            if name == "ConversationBrowser" and run == 0:
                before = notebook.received
                box = notebook.page.locator(".plw-browser")
                box.get_by_label("Text in the conversation").fill("9876 parcel")
                notebook.page.wait_for_function(
                    "() => /^1 of 10,000/.test(document.querySelector('.plw-found').textContent)"
                )
                searched = notebook.received - before
    ours, whole, ten = (statistics.median(figures[name][0]) for name in WAYS)
    sent, all_sent, ten_sent = (statistics.median(figures[name][1]) for name in WAYS)
    with capsys.disabled():
        print(f"\n{ROWS:,} conversations in JupyterLab, medians of {RUNS} runs")
        for name, (seconds, received) in figures.items():
            print(
                f"{name:22} {statistics.median(seconds):7.2f} s {statistics.median(received) / 1e3:12,.0f} kB"
            )
        print(f"ours / whole table: {ours / whole:.3f} of the time, {sent / all_sent:.5f} of the bytes")
        print(f"ours / display(df): {ours / ten:.2f} of the time, {sent / ten_sent:.2f} of the bytes")
        print(f"one search in all transcripts: {searched / 1e3:,.0f} kB")
    assert sent < 100_000
    assert sent < all_sent / 20
    assert searched < 30_000
