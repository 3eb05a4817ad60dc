"""What ``promptlift report`` does: names become prompts, options become those of ``report.write``."""

from __future__ import annotations

import pytest

from promptlift.cli.reporting import period_of, report
from promptlift.errors import ConfigError, NotFound
from promptlift.report.renderers import SUFFIXES
from support.report_numbers import pdf_can_be_written
from support.report_page import read_page
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


def test_every_format_is_written_in_a_folder_that_is_made(base_url, names, tmp_path, capsys):
    for ending in SUFFIXES:
        if ending == ".pdf" and not pdf_can_be_written():
            continue
        out = tmp_path / "new" / f"r{ending}"
        report([names[0]], out=out, base_url=base_url)
        assert out.stat().st_size > 300
        assert capsys.readouterr().out == f"Report: {out}\n"


def test_several_prompts_with_title_redacted_of_a_period(base_url, names, tmp_path):
    out = tmp_path / "r.html"
    report(names, out=out, base_url=base_url, title="Weekly", redact=True, period="7", examples=2)
    page = read_page(out)
    assert ("title", "Weekly") in page.pieces
    assert all(name in page.text for name in names)
    assert "last 7 days" in page.text
    assert "Wobblefish" not in page.source
    assert [tag for tag, _ in page.tags].count("article") == 2
    with pytest.raises(NotFound, match="There is no prompt 'nobody'"):
        report(["nobody"], out=tmp_path / "x.html", base_url=base_url)
    assert list(tmp_path.iterdir()) == [out]


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


@pytest.mark.parametrize(
    ("text", "period"),
    [
        (None, None),
        ("30", 30),
        ("2026-01-01..2026-01-31", ("2026-01-01", "2026-01-31")),
        (" 2026-01-01 .. ", ("2026-01-01", None)),
        ("..2026-01-31", (None, "2026-01-31")),
    ],
)
def test_a_period_is_days_or_from_to(text, period):
    assert period_of(text) == period
