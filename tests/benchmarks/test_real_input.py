"""Real conversations in through HTTP and out as tables, pictures and a report: nothing missing, every byte the same.

The test takes a slice of every file. ``python tests/benchmarks/test_real_input.py FOLDER`` takes all of them and
leaves the pictures and reports in the folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import matplotlib as mpl
import pytest

import promptlift
from support.service_process import ServiceProcess, wait_until
from support.shared_data import CONVERSATION_FILES, SHARED, load, needs_shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.workspace import Workspace

# Fields that a service may know; never the truth that was measured.
MESSAGE_FIELDS = ("role", "content", "timestamp", "model", "tokens")


def _content(row: dict[str, Any]) -> str:
    messages = [
        {name: m[name] for name in MESSAGE_FIELDS if m.get(name) is not None} for m in row["messages"]
    ]
    metadata = {name: row["metadata"][name] for name in ("channel", "language") if row["metadata"].get(name)}
    return json.dumps(
        {"messages": messages, "metadata": {**metadata, "sourceId": row["sourceId"]}}, ensure_ascii=False
    )


def log_everything(
    lift: Workspace, limit: int | None, *, files: Sequence[str] = CONVERSATION_FILES
) -> dict[str, dict[str, dict[str, Any]]]:
    """Log the real conversations, a prompt for each that they were held with; gives them by prompt and source id."""
    prompts = json.loads((SHARED / "prompts.json").read_text(encoding="utf-8"))
    logged: dict[str, dict[str, dict[str, Any]]] = {}
    ids: dict[str, str] = {}
    for name in files:
        rows = load(name)[:limit]
        for reference in sorted({row["promptRef"] for row in rows} - set(ids)):
            prompt = prompts[reference]
            made = lift.client.prompts.create(
                name=prompt["name"], content=prompt["content"], llm_model="gpt-4o", tags=["real"]
            )
            ids[reference] = made.id
        for reference, prompt_id in ids.items():
            mine = [row for row in rows if row["promptRef"] == reference]
            records = [
                {
                    "content": _content(row),
                    "status": row["status"],
                    "llm_model": row["llmModel"],
                    "idempotency_key": f"{prompt_id} {row['sourceId']}",
                }
                for row in mine
            ]
            result = lift.log(records, prompt_id=prompt_id)
            assert (result.logged, result.failed) == (len(mine), []), str(result)
            logged.setdefault(prompt_id, {}).update({row["sourceId"]: row for row in mine})
    return logged


def check_tables(lift: Workspace, logged: dict[str, dict[str, dict[str, Any]]]) -> int:
    """Compare the tables with what was logged; gives the messages that were compared."""
    compared = 0
    for prompt_id, rows in logged.items():
        table = lift.conversations(prompt_id, insights=True, content=True)
        assert len(table) == len(rows)
        assert table["task_completed"].notna().all()
        assert set(table["analyser"]) == {"lexicon"}
        source_ids = [json.loads(content)["metadata"]["sourceId"] for content in table["content"]]
        assert sorted(source_ids) == sorted(rows)
        for source_id, content in zip(source_ids, table["content"], strict=True):
            assert content == _content(rows[source_id])
        messages = lift.messages(prompt_id)
        said = {key: list(group) for key, group in messages.groupby("conversation_id", sort=False)["content"]}
        for conversation_id, source_id in zip(table["conversation_id"], source_ids, strict=True):
            assert said[conversation_id] == [message["content"] for message in rows[source_id]["messages"]]
            compared += len(said[conversation_id])
    return compared


def draw_and_report(lift: Workspace, logged: dict[str, Any], folder: Path) -> None:
    """Draw the overview and write the report of every prompt."""
    from matplotlib import pyplot as plt

    from promptlift import plots, report

    for number, prompt_id in enumerate(logged):
        figure = plots.prompt_overview(lift, prompt_id)
        figure.savefig(folder / f"overview-{number}.png", dpi=80)
        plt.close(figure)
        written = report.write(lift, prompt_id, folder / f"report-{number}.html")
        assert written.stat().st_size > 10_000
        assert (folder / f"overview-{number}.png").stat().st_size > 10_000


def wait_for_insights(lift: Workspace) -> None:
    """Wait until every conversation has been judged."""

    def all_judged() -> bool:
        return lift.client.conversations.list(has_insights=False, limit=1).pagination.total == 0

    wait_until(all_judged, what="all conversations judged", seconds=300)


@needs_shared
@pytest.mark.timeout(300)
def test_real_conversations_come_back_as_they_went_in(lift: Workspace, tmp_path: Path) -> None:
    logged = log_everything(lift, limit=15)
    wait_for_insights(lift)
    assert sum(map(len, logged.values())) == 15 * len(CONVERSATION_FILES)
    assert check_tables(lift, logged) > 1_000
    draw_and_report(lift, logged, tmp_path)


def main(folder: Path) -> None:
    """Take everything, and say how long each part took."""
    mpl.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["PROMPTLIFT_DATA"] = str(folder / "client")
    service = ServiceProcess(folder / "service").start()
    try:
        with promptlift.connect(service.base_url, service.key, progress=False) as lift:
            clock = [time.perf_counter()]
            logged = log_everything(lift, limit=None)
            clock.append(time.perf_counter())
            wait_for_insights(lift)
            clock.append(time.perf_counter())
            messages = check_tables(lift, logged)
            clock.append(time.perf_counter())
            draw_and_report(lift, logged, folder)
            clock.append(time.perf_counter())
        spent = [after - before for before, after in pairwise(clock)]
        count = sum(map(len, logged.values()))
        print(f"{count} conversations of {len(logged)} prompts, {messages} messages: every text the same")
        print(
            "seconds: log {:.1f}, wait for insights {:.1f}, read and compare {:.1f}, draw {:.1f}".format(
                *spent
            )
        )
    finally:
        service.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
