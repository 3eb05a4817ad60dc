"""A model that is away, and a model that talks nonsense: what becomes of conversations, to the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import promptlift
from promptlift import report, widgets
from promptlift.errors import IncompleteError, NotFound
from promptlift.local import InsightsMissing, wait_for_insights
from support import fork_server
from support.answering_model import serving
from support.service_process import wait_until
from support.stub_endpoint import Say, StubModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from promptlift.workspace import Workspace
    from support.service_process import ServiceProcess

pytestmark = pytest.mark.slow

JUDGEMENT = {
    "sentiment": "negative",
    "sentimentScore": -0.4,
    "taskCompleted": False,
    "quality": 35,
    "topics": ["delivery"],
    "summary": "The parcel did not come.",
    "issues": [{"title": "Late delivery", "severity": "high", "evidence": None}],
}
COUNT = 20
# What the service waits for before it asks again; the pause of a conversation is in milliseconds.
SHORTER = {
    "promptlift.service.background.worker.LOOK_SECONDS": 0.5,
    "promptlift.service.insights.judge_watch.PAUSE_SECONDS": 0.5,
    "promptlift.service.insights.judge_watch.TICK_SECONDS": 0.1,
    "promptlift.service.insights.worker.FIRST_PAUSE": 500,
}


class Judge(StubModel):
    """A model that a test can take away and bring back, and that talks nonsense about one conversation."""

    nonsense_about: str | None = None

    def _judge(self, messages: list[dict[str, str]]) -> Any:
        if self.nonsense_about is not None and self.nonsense_about in json.dumps(messages):
            return "I would rather not."
        return JUDGEMENT

    def _issues(self, _messages: list[dict[str, str]]) -> Any:
        return {"groups": []}


@pytest.fixture
def model() -> Judge:
    return Judge()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lift(model: Judge, start_service: Callable[..., ServiceProcess]) -> Iterator[Workspace]:
    with serving(model) as env:
        running = start_service(env={**env, fork_server.SHORTER: json.dumps(SHORTER)})
        with promptlift.connect(running.base_url, running.key, progress=False) as workspace:
            yield workspace


def log(lift: Workspace, count: int) -> tuple[str, list[str]]:
    prompt = lift.client.prompts.create(name="p", content="Help.", llm_model="gpt-4o")
    ids = [
        lift.client.conversations.create(
            prompt_id=prompt.id, content=f"User: Where is parcel {number}?\nAssistant: I do not know."
        ).id
        for number in range(count)
    ]
    return prompt.id, ids


def without_insights(lift: Workspace) -> int:
    page = lift.client.conversations.list(has_insights=False, limit=1)
    assert page.pagination is not None
    return page.pagination.total


def judged_soon(lift: Workspace) -> None:
    """Ten seconds are promised; the rest is for a machine that is busy."""
    wait_until(lambda: without_insights(lift) == 0, what="every conversation judged", seconds=15)


def test_a_model_that_comes_back_judges_every_conversation_once(lift: Workspace, model: Judge) -> None:
    model.fault = lambda _asked: Say({"error": {"message": "no such key"}}, status=401)
    prompt_id, ids = log(lift, COUNT)
    # Pauses that grow with each try would be long by then.
    wait_until(lambda: model.asked["judge"] >= 4, what="the model was asked, refused, and tried again")
    # Those that were on their way when it was noticed, and then one at a time.
    assert model.asked["judge"] < COUNT
    assert without_insights(lift) == COUNT
    # Each conversation says why, whether it was tried itself or only waits.
    said = lift.conversations()
    assert said["insights_error"].str.startswith("Not yet: The language model's endpoint refused").all()
    assert list(said.attrs["promptlift"]["insights_errors"].values()) == [COUNT]
    counts = lift.client.prompts.status(prompt_id).insights
    assert (counts.ready, counts.waiting, counts.failed) == (0, COUNT, 0)
    assert [one.count for one in counts.reasons] == [COUNT]
    assert "401" in counts.reasons[0].reason
    with pytest.raises(IncompleteError, match=f"0 of {COUNT} conversations have insights.*401.*no such key"):
        wait_for_insights(lift, [prompt_id], patience=0.1, progress=False)
    with pytest.raises(NotFound, match="not ready yet"):
        lift.client.conversations.insights(ids[0])

    model.fault = None
    refused = model.asked["judge"]
    judged_soon(lift)
    table = lift.conversations(insights=True)
    assert set(table["analyser"]) == {"llm:stub"}
    assert table["insights_error"].isna().all()
    assert table.attrs["promptlift"]["insights_errors"] == {}
    assert table["task_completed"].eq(False).all()
    # Some may have been refused once more before the model came back; none was judged twice.
    used: Any = lift.client.usage.get().tokens.used
    assert used == COUNT * 15
    assert model.asked["judge"] - refused >= COUNT


def test_nonsense_is_given_up_with_its_reason_and_can_be_asked_again(lift: Workspace, model: Judge) -> None:
    model.nonsense_about = "parcel 0"
    prompt_id, ids = log(lift, 2)

    with pytest.warns(InsightsMissing, match=r"1 of 2 conversations could not be judged: .*did not fit"):
        assert wait_for_insights(lift, [prompt_id], progress=False) == 1
    with pytest.raises(NotFound, match="judging failed"):
        lift.client.conversations.insights(ids[0])
    asked = model.asked["judge"]
    # Three tries, and in each the model is asked once more because its answer did not fit; and the other conversation.
    assert asked == 7
    assert lift.client.usage.get().tokens.used == asked * 15
    one = lift.client.conversations.get(ids[0])
    assert one.insights_error is not None
    assert one.insights_error.startswith("The language model's answer did not fit")
    counts = lift.client.prompts.status(prompt_id).insights
    assert counts is not None
    assert (counts.ready, counts.waiting, counts.failed) == (1, 0, 1)
    assert [(reason.reason, reason.count) for reason in counts.reasons] == [(one.insights_error, 1)]

    # Reports and widgets say it too.
    table = lift.conversations(prompt_id, insights=True, content=True)
    assert table.attrs["promptlift"]["insights_errors"] == {one.insights_error: 1}
    written = report.write(lift, prompt_id, "report.md").read_text()
    assert "1 conversation could not be judged and have no insights: The language model" in written
    browser = widgets.ConversationBrowser(table)
    assert "1 could not be judged and have no insights: The language model" in browser._repr_html_()
    assert "could not be judged" in browser._repr_mimebundle_()[0]["text/html"]

    model.nonsense_about = None
    assert lift.client.conversations.regenerate_insights(ids[0]).queued == 1
    wait_until(lambda: without_insights(lift) == 0, what="the conversation is judged")
    assert lift.client.conversations.insights(ids[0]).summary == JUDGEMENT["summary"]
    assert lift.client.conversations.get(ids[0]).insights_error is None
    assert lift.client.prompts.insights(prompt_id).top_issues[0].issue == "Late delivery"
