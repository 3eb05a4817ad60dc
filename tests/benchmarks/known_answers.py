"""What could be gained on logs whose outcome is known: the headroom of airline and retail agents, and their issues by rank.

``python tests/benchmarks/known_answers.py`` logs the conversations of the agents in a service of its own, whose built-in
analyser names the issues, and prints for each prompt what `analysis.headroom` and ``lift.plan_optimization`` say: first
with the analyser's own verdicts, then with what the benchmark found in its database afterwards. The truth is never logged.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd

import promptlift
from benchmarks.real_logs import log_everything, wait_for_insights
from benchmarks.tables import markdown
from promptlift import analysis
from support.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from promptlift.workspace import Workspace

AGENT_FILES = ("tau2-airline", "tau2-retail", "taubench-airline")
ISSUES_SHOWN = 8
HEAD = (
    "issue", "conversations", "points, as judged", "true completion with", "without", "points, by the truth",
)  # fmt: skip


def with_truth(table: pd.DataFrame, logged: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """The same conversations and issues, with the outcome that the benchmark found."""
    source_ids = [json.loads(content)["metadata"]["sourceId"] for content in table["content"]]
    truth = [logged[source_id]["truth"]["taskCompleted"] for source_id in source_ids]
    return table.assign(task_completed=pd.array(truth, dtype="boolean"))


def corrected(table: pd.DataFrame, logged: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Leave out the tasks whose expected result the benchmark corrected later: there a failure may be none."""
    source_ids = [json.loads(content)["metadata"]["sourceId"] for content in table["content"]]
    return table[[logged[source_id]["truth"].get("goldChangedLater") is not True for source_id in source_ids]]


def _points(row: Mapping[str, Any]) -> str:
    return f"{row['points']:+.1f} ({row['points_low']:+.1f} to {row['points_high']:+.1f})"


def _rate(row: Mapping[str, Any], ending: str) -> str:
    if not row[f"n_rated{ending}"]:
        return "–"
    low, high = row[f"rate_low{ending}"], row[f"rate_high{ending}"]
    return f"{100 * row[f'rate{ending}']:.0f}% ({100 * low:.0f} to {100 * high:.0f})"


def rows_of(judged: pd.DataFrame, true: pd.DataFrame) -> Iterator[list[str]]:
    """Lines of one table: each issue with the headroom that the analyser says and the true one."""
    said = analysis.headroom(judged, top=ISSUES_SHOWN).to_dict("records")
    known = {row["issue"]: row for row in analysis.headroom(true, top=None).to_dict("records")}
    for row in said:
        truth = known[row["issue"]]
        yield [
            row["issue"],
            f"{row['n']} of {row['total']}",
            _points(row),
            _rate(truth, ""),
            _rate(truth, "_without"),
            _points(truth),
        ]


def report(lift: Workspace, logged: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """One table a prompt, with the sentence that a user reads before an optimization."""
    for prompt_id, sources in logged.items():
        table = lift.conversations(prompt_id, insights=True, content=True)
        true = with_truth(table, sources)
        kept = true.loc[corrected(true, sources).index]
        yield f"### {lift.client.prompts.get(prompt_id).name}\n"
        yield from markdown(HEAD, rows_of(table, true))
        said, known = table["task_completed"].mean(), true["task_completed"].mean()
        yield f"\nJudged {100 * said:.1f}% completed, in truth {100 * known:.1f}%."
        if len(kept) < len(true):
            whole = analysis.headroom(kept, top=1).iloc[0]
            yield f"Without the tasks that were corrected later ({len(kept)} left): any issue {_points(whole)} by the truth."
        plan = lift.plan_optimization(prompt_id, search="on")
        yield f"The plan says: {plan.sentence}\n"


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory(prefix="promptlift-answers-") as folder:
        os.environ["PROMPTLIFT_DATA"] = str(Path(folder) / "client")
        service = ServiceProcess(Path(folder) / "service").start()
        try:
            with promptlift.connect(service.base_url, service.key, progress=False) as lift:
                logged = log_everything(lift, files=AGENT_FILES)
                wait_for_insights(lift)
                print(*report(lift, logged), sep="\n")
        finally:
            service.stop()


if __name__ == "__main__":
    main()
