"""The application of the page on live versions: it resolves, answers with the OpenAI client, and logs."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

import promptlift
from promptlift.schema.experiments import Assignment
from support.reviewed_world import ReviewedWorld
from support.source_tree import ROOT
from support.stub_endpoint import KEY, StubEndpoint, completion

pytestmark = pytest.mark.slow

PAGE = ROOT / "notebooks" / "docs" / "live.md"


def test_the_application_gives_each_user_a_version_and_loses_nothing(service, monkeypatch, tmp_path):
    application, start, *_ = re.findall(
        r"^```python$(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    world = ReviewedWorld.beside(service.data)
    world.database.close()
    with (
        promptlift.connect(service.base_url, world.key, progress=False) as lift,
        closing(StubEndpoint([completion("On its way.")])) as endpoint,
    ):
        lift.create_prompt("Support assistant", "first", llm_model="gpt-4o-mini")
        lift.update_prompt("Support assistant", content="second")
        lift.update_prompt("Support assistant", content="third")
        lift.restore("Support assistant", lift.versions("Support assistant")["version_id"].iloc[1])
        for name, value in (("BASE_URL", service.base_url), ("API_KEY", world.key)):
            monkeypatch.setenv(f"PROMPTLIFT_{name}", value)
        for name, value in (("BASE_URL", endpoint.settings.base_url), ("API_KEY", KEY)):
            monkeypatch.setenv(f"OPENAI_{name}", value)
        names = {}
        exec(compile(application, PAGE.name, "exec"), names)
        live = lift.live("Support assistant", {"v3": 0.5})
        chats = {}
        for user in range(12):
            chats[user] = [{"role": "user", "content": "Where is my parcel?"}]
            assert names["answer"](f"user-{user}", f"chat-{user}", chats[user]) == "On its way."
            chats[user].append({"role": "user", "content": "Thanks."})
            names["answer"](f"user-{user}", f"chat-{user}", chats[user], ended=True)
        logged = lift.conversations("Support assistant")
        assert logged["source_id"].nunique() == len(logged) == 12
        assert set(logged["status"]) == {"completed"}
        arms = [Assignment.read(one).arm for one in logged["metadata.promptlift.assignment"]]
        assert {0, 1} == set(arms)
        texts = [asked.body["messages"][0]["content"] for asked in endpoint.asked]
        assert [texts.count("third"), len(texts)] == [2 * arms.count(1), 24]
        # The second block, as it stands: nothing is better yet, so its apply is refused.
        live.stop()
        names |= {"lift": lift, "plots": promptlift.plots}
        with pytest.raises(promptlift.errors.InvalidState, match="No version is better"):
            exec(compile(start, PAGE.name, "exec"), names)
        assert names["live"].table["n_units"].sum() == 0
