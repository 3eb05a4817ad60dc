"""The ten tasks of the documentation: each row's call runs as it stands, and gives what the row says."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from matplotlib.axes import Axes

import promptlift
from promptlift import analysis, plots, widgets
from promptlift.local import log_samples, wait_for_insights
from promptlift.schema.conversations import Conversation
from promptlift.workspace import Comparison
from support.front_end import BrowserFrontEnd
from support.source_tree import ROOT

pytestmark = pytest.mark.slow

V1, V2 = "Support assistant v1", "Support assistant v2"
PAGE = (ROOT / "notebooks" / "docs" / "questions.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Ten tasks")[2].partition("\n## ")[0]
TASKS = dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", SECTION, re.MULTILINE))


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the page says that the names stand for: the samples, and a few conversations that cost something."""
    with promptlift.local(tmp_path_factory.mktemp("tasks"), progress=False) as lift:
        prompts = log_samples(lift)
        costly = [{"content": f"User: Thanks {n}\nAssistant: Fine.", "cost": n / 100} for n in range(1, 4)]
        lift.log(costly, prompt_id=V1)
        wait_for_insights(lift, prompts.values(), progress=False)
        df = lift.conversations(insights=True)
        modules = {"analysis": analysis, "plots": plots, "widgets": widgets}
        yield {"lift": lift, "df": df, **modules}


def of_one_prompt(found, names):
    assert isinstance(found, pd.DataFrame)
    assert set(found["prompt"]) == {V2}
    assert len(found) == (names["df"]["prompt"] == V2).sum()
    assert found["task_completed"].notna().any()


def rates(found, _names):
    assert list(found["prompt"]) == [V1, V2]
    assert (found["rate_low"] < found["rate"]).all()
    assert (found["rate"] < found["rate_high"]).all()


def compared(found, _names):
    assert isinstance(found, Comparison)
    assert re.match(
        rf"{V2} completes \d+ points more than {V1} \(\d+ to \d+\); clearly higher", found.sentence
    )


def drawn_by_week(found, names):
    assert isinstance(found, Axes)
    numbers = analysis.completion_trend(names["df"], freq="W", by="prompt")
    assert set(numbers["prompt"]) == {V1, V2}
    legend = [text.get_text() for text in found.get_legend().get_texts()]
    assert [one.partition(" (n = ")[0] for one in legend] == [V1, V2]


def with_issue(found, _names):
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


CHECKS = {
    "Read conversations by the prompt's name": of_one_prompt,
    "How often the task is completed, with interval, by name": rates,
    "Is v2 better, in words?": compared,
    "The trend by week": drawn_by_week,
    "Conversations with an issue": with_issue,
    "Read one": readable,
    "Segments by metadata": by_channel,
    "This week against the last": week_against_week,
    "Cost and latency": costs,
    "Label 50, unseen by the judge": fifty_to_label,
    "… and check the judge with them": judge_checked,
}


def test_every_task_of_the_page_is_checked_here():
    assert list(TASKS) == list(CHECKS)


def test_a_task_is_one_call():
    for task, code in TASKS.items():
        assert "\n" not in code
        assert ";" not in code, task


@pytest.mark.parametrize("task", CHECKS)
def test_the_call_does_the_task(task, names):
    if "browser.labels" in TASKS[task] and "browser" not in names:
        fifty_to_label(run("Label 50, unseen by the judge", names), names)
    found = run(task, names)
    assert found is not None
    CHECKS[task](found, names)


def run(task, names):
    return eval(TASKS[task].removeprefix("browser = "), dict(names))
