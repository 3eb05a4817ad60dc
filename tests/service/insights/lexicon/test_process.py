"""The built-in analyser in a process of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.judge import JudgeFailed, Judgement, JudgeRequest, JudgeUnavailable
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.service.insights.lexicon.process import LexiconProcess
from support.service_process import is_running, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.service_process import ServiceProcess

pytestmark = pytest.mark.slow  # every test starts a process

# A judge whose process ends on some conversations, as a defect in a C library would end it.
FRAGILE = """
import os
from promptlift.service.insights.lexicon.process import serve
from promptlift.service.insights.lexicon.judge import LexiconJudge


class Fragile(LexiconJudge):
    def judge(self, transcript, **kwargs):
        if "deadly" in transcript.messages[0].content:
            os._exit(3)
        print("noise on standard output")
        return super().judge(transcript, **kwargs)


serve(Fragile())
"""


def asked(content: str, exclusions: str | None = None) -> JudgeRequest:
    return JudgeRequest("cnv_1", content, None, exclusions)


@pytest.fixture(scope="module")
def process() -> Iterator[LexiconProcess]:
    made = LexiconProcess()
    yield made
    made.close()


@pytest.fixture
def fragile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LexiconProcess]:
    (tmp_path / "fragile_judge.py").write_text(FRAGILE)
    monkeypatch.syspath_prepend(tmp_path)
    made = LexiconProcess("fragile_judge")
    yield made
    made.close()


def test_it_judges_as_the_lexicon_does_in_this_process(process: LexiconProcess) -> None:
    contents = [
        "User: My order is late, this is terrible!\nAssistant: I am sorry, a refund is on its way.\nUser: thanks, that works",
        "User: Where is my refund?\nAssistant: I cannot help you with that.",
        '{"messages": [{"role": "user", "content": "Ünïcode 🎉 \\u0000 \\"quoted\\""}]}',
    ]
    outcomes = process.judge_all([asked(content, "refund") for content in contents])
    judge = LexiconJudge()
    assert outcomes == [judge.judge(parse_content(one), exclusions="refund") for one in contents]


def test_a_conversation_that_cannot_be_judged_does_not_hold_up_its_neighbours(
    process: LexiconProcess,
) -> None:
    outcomes = process.judge_all([asked("no label"), asked("User: hello"), asked("User:\nAssistant: \n")])
    assert [type(outcome) for outcome in outcomes] == [TranscriptError, Judgement, JudgeFailed]
    assert "no role label" in str(outcomes[0])
    assert process.judge_all([]) == []


def test_a_conversation_that_ends_the_process_fails_alone(fragile: LexiconProcess) -> None:
    outcomes = fragile.judge_all([asked("User: hello"), asked("User: deadly"), asked("User: bye")])
    assert [type(outcome) for outcome in outcomes] == [Judgement, JudgeFailed, Judgement]
    assert "crashed on this conversation" in str(outcomes[1])


def test_a_process_that_was_killed_is_started_again(process: LexiconProcess) -> None:
    first = process.judge_all([asked("User: hello")])
    assert process._child is not None
    os.kill(process._child.pid, signal.SIGKILL)
    assert process.judge_all([asked("User: hello")]) == first


def test_when_it_cannot_be_started_the_conversations_wait(
    process: LexiconProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process._child is not None
    process._child.kill()
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere/python")
        assert [type(one) for one in process.judge_all([asked("User: hello")])] == [JudgeUnavailable]
    assert [type(one) for one in process.judge_all([asked("User: hello")])] == [Judgement]


@pytest.mark.cold  # so that it is the service's child
def test_it_ends_with_a_service_that_was_killed(start_service: Callable[..., ServiceProcess]) -> None:
    import promptlift

    service = start_service()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(name="p", content="Help.", llm_model="gpt-4o")
        lift.log([{"content": "User: hello"}], prompt_id=prompt.id)
        wait_until(
            lambda: lift.client.conversations.list(has_insights=True).pagination.total == 1, what="insights"
        )
    tasks = Path(f"/proc/{service.pid}/task").iterdir()  # children belong to the thread that started them
    children = [int(number) for task in tasks for number in (task / "children").read_text().split()]
    assert children, "the built-in analyser has a process of its own"
    service.kill()
    wait_until(lambda: not any(is_running(child) for child in children), what="the analyser ended too")
