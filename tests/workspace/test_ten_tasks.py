"""The ten questions of the documentation: each row's call runs as it stands, from a cold start, and gives what the row says."""

from __future__ import annotations

import ast
import json
import re
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes

import promptlift
from promptlift import analysis, plots, report, widgets
from promptlift.local import log_samples, wait_for_insights
from promptlift.schema.conversations import Conversation
from promptlift.workspace import Comparison
from support.front_end import BrowserFrontEnd
from support.shared_data import SHARED, load, needs_shared
from support.source_tree import ROOT

pytestmark = pytest.mark.slow

V1, V2 = "Support assistant v1", "Support assistant v2"
PAGE = (ROOT / "notebooks" / "docs" / "questions.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Ten questions")[2].partition("\n## ")[0]
TASKS = dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", SECTION, re.MULTILINE))


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the page says that the names stand for: the samples, and a few conversations that cost something."""
    with promptlift.local(tmp_path_factory.mktemp("tasks"), progress=False) as lift:
        prompts = log_samples(lift)
        costly = [{"content": f"User: Thanks {n}\nAssistant: Fine.", "cost": n / 100} for n in range(1, 4)]
        lift.log(costly, prompt_id=V1)
        wait_for_insights(lift, prompts.values(), progress=False)
        df = eval(re.search(r"`df` is `(.+?)`", PAGE)[1], {"lift": lift})
        modules = {"analysis": analysis, "plots": plots, "report": report, "widgets": widgets}
        yield {"lift": lift, "df": df, **modules}


def at_a_glance(found, _names):
    shown = repr(found)
    assert V1 in shown
    assert V2 in shown
    assert re.search(r"\d+% \(\d+% to \d+%\)", shown)


def resolved(names):
    """The share of conversations of each prompt that the logs say were resolved."""
    ended = names["df"][names["df"]["status"] != "in_progress"]
    return ended.groupby("prompt", observed=True)["score.resolved"].mean().astype(float).tolist()


def rates(found, names):
    assert list(found["prompt"]) == [V1, V2]
    assert (found["rate_low"] < found["rate"]).all()
    assert (found["rate"] < found["rate_high"]).all()
    assert found["rate"].tolist() == pytest.approx(resolved(names))


def compared(found, names):
    assert isinstance(found, Comparison)
    old, new = resolved(names)
    assert f"completes {100 * (new - old):.0f} points more" in found.sentence
    assert re.match(
        rf"{V2} completes \d+ points more than {V1} \(\d+ to \d+\); clearly higher", found.sentence
    )


def drawn_by_week(found, names):
    assert isinstance(found, Axes)
    numbers = analysis.completion_trend(names["df"], freq="W", by="prompt")
    assert set(numbers["prompt"]) == {V1, V2}
    legend = [text.get_text() for text in found.get_legend().get_texts()]
    assert [one.partition(" (n = ")[0] for one in legend] == [V1, V2]


def worse_somewhere(found, names):
    old, new = resolved(names)
    row = found[found["segment"] == V1].iloc[0]
    assert row["difference_points"] == pytest.approx(100 * (old - new))
    named = found[found["verdict"] == "lower"]
    assert len(named) > 0
    assert (named["difference_points"] < 0).all()


def failing_ends(found, names):
    """Every conversation that it quotes is one of the prompt, and every failure that it counts is one."""
    known = names["df"].set_index("conversation_id")
    assert len(found.table) > 0
    for row in found.table.itertuples():
        assert row.n_failed <= (known["score.resolved"] == False).sum()  # noqa: E712  missing is not failed
        assert row.quotations
        assert set(known.loc[list(row.quoted), "prompt"]) == {V1}


def with_issue(found, _names):
    assert set(found["prompt"]) == {V2}
    titles = found["issues"].map(lambda issues: {issue["title"] for issue in issues})
    assert len(found) > 0
    assert all("User gave up" in one for one in titles)


def readable(found, names):
    assert isinstance(found, Conversation)
    shown = found._repr_html_()
    messages = names["lift"].messages(found.prompt_id)
    said = messages.loc[messages["conversation_id"] == found.id, "content"]
    assert "task" in shown
    assert all(one.split()[0].strip("?!.,'") in shown for one in said)


def by_channel(found, _names):
    groups = found["prompt · metadata.channel"]
    assert {f"{prompt} · {channel}" for prompt in (V1, V2) for channel in ("web", "mobile", "api")} <= set(
        groups
    )


def week_against_week(found, names):
    assert isinstance(found, Comparison)
    assert set(found.conversations["compared"]) == {"this week", "the week before"}
    assert set(found.conversations["prompt"]) == {V2}
    assert "this week" in found.sentence.lower()


def costs(found, _names):
    rows = found.set_index(["prompt", "measure"])
    assert rows.loc[(V1, "cost"), ["n", "mean", "total"]].tolist() == pytest.approx([3, 0.02, 0.06])
    assert rows.loc[(V2, "cost"), "n"] == 0
    assert (rows.loc[[(V1, "latency_ms"), (V2, "latency_ms")], "mean_low"] > 0).all()


def fifty_to_label(browser, names):
    """As a person labels them in the browser: every one as completed."""
    front = BrowserFrontEnd(browser)
    assert front.found == "50 conversations"
    assert front.root.all("select", name="facet task_completed") == []
    assert front.root.all(".plw-turn")
    for place in range(50):
        front.label(place, "task_completed", "yes")
    names["browser"] = browser
    assert len(browser.labels) == 50


def judge_checked(found, names):
    row = found[found["question"] == "task_completed"].iloc[0]
    assert row["n"] + row["n_unjudged"] == 50
    judged = (
        names["df"]
        .set_index("conversation_id")
        .loc[names["browser"].labels["conversation_id"], "task_completed"]
    )
    assert row["agreed"] == judged.sum()
    assert row["agreement_low"] < row["agreement"] < row["agreement_high"]


def written(found, _names):
    page = Path(found).read_text(encoding="utf-8")
    assert V2 in page
    assert "75%" in page


def optimized(run, names):
    assert run.status == "completed"
    assert "a winner was found" in run.sentence
    assert run.rehearsal
    names["run"] = run


def applied(_answer, names):
    winner = names["run"].variants().query("is_winner")["content"].iloc[0]
    assert names["lift"].versions(V1)["content"].iloc[0] == winner


def undone(_answer, names):
    texts = names["lift"].versions(V1)["content"].tolist()
    assert texts[0] == texts[-1] != texts[1]


CHECKS = {
    "1. What is there, and how does it do?": at_a_glance,
    "… as a table, with intervals": rates,
    "2. Where is it going?": drawn_by_week,
    "… this week against the last": week_against_week,
    "3. Is v2 better, in words?": compared,
    "… what does it cost, and how fast is it?": costs,
    "4. Where does it fail?": worse_somewhere,
    "… by metadata": by_channel,
    "5. Why does it fail?": failing_ends,
    "6. What was said, where an issue came up?": with_issue,
    "… word by word": readable,
    "7. Label 50, unseen by the judge": fifty_to_label,
    "8. A report": written,
    "9. Is there a better text?": optimized,
    "… apply it": applied,
    "… and undo that": undone,
    "10. Can I trust the judge?": judge_checked,
}


def test_every_task_of_the_page_is_checked_here():
    assert list(TASKS) == list(CHECKS)


def test_ten_questions_are_one_expression_each():
    assert [int(task.split(".")[0]) for task in TASKS if not task.startswith("…")] == list(range(1, 11))
    for code in TASKS.values():
        assert len(ast.parse(code).body) == 1


def test_the_calls_in_their_order_answer_the_questions(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for task, check in CHECKS.items():
        found = eval(
            TASKS[task].partition(" = ")[2] if re.match(r"\w+ = ", TASKS[task]) else TASKS[task], dict(names)
        )
        assert found is not None, task
        check(found, names)


# The same calls on logs of real agents, whose outcomes a benchmark knows: the rewards are in the logs, as a user has them.
AGENTS = {V1: "taubench-airline", V2: "tau2-retail"}


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """The logs of two agents, imported with their reward as the outcome, and the records they were made from."""
    folder = tmp_path_factory.mktemp("agents")
    records = {}
    texts = json.loads((SHARED / "prompts.json").read_text(encoding="utf-8"))
    with promptlift.local(folder / "data", progress=False) as lift:
        for prompt, name in AGENTS.items():
            records[prompt] = {record["sourceId"]: record for record in load(name)}
            lines = [
                {
                    "id": record["sourceId"],
                    "model": record["llmModel"],
                    "system": texts[record["promptRef"]]["content"],
                    "metadata": {**record["metadata"], "reward": record["truth"]["reward"]},
                    "messages": record["messages"],
                }
                for record in records[prompt].values()
            ]
            (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
            assert lift.import_files(folder / f"{name}.jsonl", prompt=prompt).complete
            lift.update_prompt(prompt, outcome="score.reward >= 1")
        wait_for_insights(lift, list(AGENTS), progress=False)
        modules = {"analysis": analysis, "plots": plots, "report": report, "widgets": widgets}
        yield {
            "lift": lift,
            "df": lift.conversations(insights=True, content=True),
            "records": records,
            **modules,
        }


def solved(names, prompt):
    """Whether each conversation of a prompt was solved, by its id in the benchmark."""
    return {name: one["truth"]["reward"] >= 1 for name, one in names["records"][prompt].items()}


def rate_of(names, prompt):
    found = list(solved(names, prompt).values())
    return sum(found) / len(found)


def glance_of_agents(found, names):
    shown = repr(found)
    for prompt in (V1, V2):
        n, rate = len(solved(names, prompt)), rate_of(names, prompt)
        assert re.search(rf"{prompt} +{n}  {rate:.0%} \(", shown)
    assert "Judged by the logs themselves" in shown


def rates_of_agents(found, names):
    for row in found.itertuples():
        truth = list(solved(names, row.prompt).values())
        assert (row.n, row.completed, row.n_missing) == (len(truth), sum(truth), 0)
        # Wilson's interval, from its formula.
        n, rate, z = row.n, row.completed / row.n, 1.959964
        middle, half = rate + z * z / (2 * n), z * (rate * (1 - rate) / n + z * z / (4 * n * n)) ** 0.5
        ends = [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)]
        assert [row.rate_low, row.rate_high] == pytest.approx(ends, abs=1e-6)


def weeks_of_agents(found, names):
    assert {text.get_text() for text in found.get_legend().get_texts()} == {
        f"{prompt} (n = {len(solved(names, prompt))})" for prompt in (V1, V2)
    }
    numbers = analysis.completion_trend(names["df"], freq="W", by="prompt")
    drawn = numbers[numbers["prompt"].eq(V2) & numbers["n"].gt(0)].set_index("period_start")
    dated = {
        name: min(times)
        for name, one in names["records"][V2].items()
        if (times := [turn["timestamp"] for turn in one["messages"] if turn.get("timestamp")])
    }
    weeks = pd.to_datetime(pd.Series(dated), utc=True).dt.floor("D")
    weeks -= pd.to_timedelta(weeks.dt.day_of_week, unit="D")
    counted = pd.Series(solved(names, V2))[weeks.index].groupby(weeks).agg(["size", "sum"])
    assert len(counted) > 0
    for week, (n, completed) in counted.iterrows():
        assert (drawn.loc[week, "n"], drawn.loc[week, "completed"]) == (n, completed)


def no_week_before(found, _names):
    assert "there are no conversations of the week before" in found.sentence


def compared_agents(found, names):
    more = 100 * (rate_of(names, V2) - rate_of(names, V1))
    assert found.sentence.startswith(f"{V2} completes {more:.0f} points more than {V1} (")
    assert "; clearly higher." in found.sentence


def latency_of_agents(found, names):
    rows = found.set_index(["prompt", "measure"])
    assert rows.loc[[(V1, "cost"), (V2, "cost"), (V1, "latency_ms")], "n"].tolist() == [0, 0, 0]
    waited = []
    for one in names["records"][V2].values():
        turns = [
            (turn["role"], pd.Timestamp(turn["timestamp"]))
            for turn in one["messages"]
            if turn.get("timestamp")
        ]
        waits = [
            (answered - asked).total_seconds()
            for (who, asked), (other, answered) in pairwise(turns)
            if (who, other) == ("user", "assistant")
        ]
        if waits:
            waited.append(1000 * sum(waits) / len(waits))
    row = rows.loc[(V2, "latency_ms")]
    assert row["n"] == len(waited)
    assert row["mean"] == pytest.approx(sum(waited) / len(waited), rel=1e-3)


def segments_of_agents(found, names):
    row = found[found["segment"] == V1].iloc[0]
    assert row["difference_points"] == pytest.approx(100 * (rate_of(names, V1) - rate_of(names, V2)))
    assert row["verdict"] == "lower"
    # The benchmark ran the retail agent with several models; one of them is clearly worse.
    truth = {name: one["llmModel"] for name, one in names["records"][V2].items()}
    of_model = [done for name, done in solved(names, V2).items() if truth[name] == "gpt-4o-2024-11-20"]
    row = found[found["segment"] == "gpt-4o-2024-11-20"].iloc[0]
    assert (row["n"], row["completed"]) == (len(of_model), sum(of_model))


def channels_of_agents(found, names):
    rows = found.set_index("prompt · metadata.channel")["rate"]
    assert rows[[f"{V1} · api", f"{V2} · api"]].tolist() == pytest.approx(
        [rate_of(names, V1), rate_of(names, V2)]
    )


def ends_of_agents(found, names):
    """What it names are failures: everything that it quotes was not solved."""
    failed = solved(names, V1)
    sources = names["df"].set_index("conversation_id")["source_id"]
    assert found.table["n_failed"].le(sum(not done for done in failed.values())).all()
    assert not any(failed[sources[one]] for quoted in found.table["quoted"] for one in quoted)


def issue_of_agents(found, names):
    with_issue(found, names)
    assert found["task_completed"].tolist() == [solved(names, V2)[one] for one in found["source_id"]]


def label_as_the_benchmark(browser, names):
    front = BrowserFrontEnd(browser)
    truth = {name: done for prompt in (V1, V2) for name, done in solved(names, prompt).items()}
    sources = names["df"].set_index("conversation_id")["source_id"]
    for place, one in enumerate(names["df"].sample(50, random_state=1)["conversation_id"]):
        front.label(place, "task_completed", "yes" if truth[sources[one]] else "no")
    names["browser"] = browser
    assert len(browser.labels) == 50


def judged_as_the_benchmark(found, _names):
    row = found[found["question"] == "task_completed"].iloc[0]
    assert (row["n"], row["agreed"]) == (50, 50)


def report_of_agents(found, names):
    page = Path(found).read_text(encoding="utf-8")
    n, done = len(solved(names, V2)), sum(solved(names, V2).values())
    assert f"{done} of {n}" in page
    assert f"{done / n:.0%} of {n} conversations completed their task" in page
    assert "according to the analyser" not in page
    # Both agents on paper: their dialogues are long, and their tools answer with JSON.
    reader = pytest.importorskip("pypdf").PdfReader(report.write(names["lift"], [V1, V2], "two.pdf"))
    assert 4 <= len(reader.pages) <= 8


# Whose answers are the logs'; what is written and applied is the same on any logs.
OF_AGENTS = {
    "1. What is there, and how does it do?": glance_of_agents,
    "… as a table, with intervals": rates_of_agents,
    "2. Where is it going?": weeks_of_agents,
    "… this week against the last": no_week_before,
    "3. Is v2 better, in words?": compared_agents,
    "… what does it cost, and how fast is it?": latency_of_agents,
    "4. Where does it fail?": segments_of_agents,
    "… by metadata": channels_of_agents,
    "5. Why does it fail?": ends_of_agents,
    "6. What was said, where an issue came up?": issue_of_agents,
    "7. Label 50, unseen by the judge": label_as_the_benchmark,
    "8. A report": report_of_agents,
    "10. Can I trust the judge?": judged_as_the_benchmark,
}


@needs_shared
def test_on_logs_of_agents_the_same_calls_give_the_numbers_of_the_benchmark(agents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for task, check in OF_AGENTS.items():
        code = TASKS[task].partition(" = ")[2] if re.match(r"\w+ = ", TASKS[task]) else TASKS[task]
        check(eval(code, dict(agents)), agents)
