"""What ``promptlift report`` does: names become prompts, options become those of ``report.write``."""

from __future__ import annotations

import pytest

from promptlift.cli.reporting import report
from promptlift.errors import ConfigError
from support.sentences import REPORT
from support.service_process import wait_until


@pytest.fixture
def base_url(service, monkeypatch):
    monkeypatch.setenv("PROMPTLIFT_API_KEY", service.key)
    return service.base_url


@pytest.fixture
def names(lift):
    made = []
    for number in range(2):
        name = f"Shell {number} of {id(lift)}"
        prompt = lift.client.prompts.create(name=name, content="Help.", llm_model="gpt-4o-mini")
        talks = [f"User: Where is my Wobblefish {n}?\nAssistant: Here.\nUser: Thanks" for n in range(6)]
        lift.log([{"content": talk} for talk in talks], prompt_id=prompt.id)
        wait_until(
            lambda one=prompt.id: lift.conversations(prompt_id=one, insights=True)["has_insights"].all(),
            what="all conversations have insights",
        )
        made.append(name)
    return made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "r.docx"}, REPORT["not a docx"]),
        ({"period": "soon"}, "--period 'soon' cannot be used: give a number of days"),
        ({"period": "2026-02-01..2026-01-01"}, "cannot be used"),
        ({"period": ""}, "cannot be used"),
        ({"logo": "no.png"}, "The logo .*no.png cannot be read"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_before_a_service_is_asked(tmp_path, options, message):
    nowhere = "http://127.0.0.1:1"
    out = tmp_path / options.pop("out", "r.html")
    with pytest.raises(ConfigError, match=message):
        report(["x"], out=out, base_url=nowhere, **options)
