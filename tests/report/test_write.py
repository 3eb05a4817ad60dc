"""What a report says, where it stands, and that nothing is left half done."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import pytest

from promptlift import analysis, report
from promptlift.errors import ConfigError, FrameError
from support.cases import slow_except
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT


def write(source, path, prompt_id="p1", **options):
    return report.write(source, prompt_id, path, clock=clock, **options)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A whole page with its pictures."""
    return read_page(write(conversations(60), tmp_path_factory.mktemp("page") / "r.html", title="January"))


def test_the_pictures_are_there_as_text_below_the_title_that_was_given(page):
    assert ("title", "January") in page.pieces
    assert [tag for tag, _ in page.tags].count("svg") == 6
    assert "Task completion rate" in page.text
    assert "Share of conversations (n = 60)" in page.text


@pytest.mark.usefixtures("draws_anew")
@pytest.mark.slow
def test_the_colours_of_figures_follow_the_page(tmp_path):
    page = read_page(write(conversations(60), tmp_path / "r.html"))
    (style,) = (data for tag, data in page.pieces if tag == "style")
    dark = style[style.index("@media screen and (prefers-color-scheme: dark)") :]
    drawn = {
        value
        for tag, attrs in page.tags
        for value in re.findall(r": (#\w+|var\([^)]*\))", attrs.get("style") or "")
        if tag in {"path", "text", "use", "g", "rect"}
    }
    assert {"var(--ink)", "var(--page)"} < drawn
    # Every colour follows: none is written as it is, and each has a value on a dark page.
    assert not [value for value in drawn if value.startswith("#")]
    for name in re.findall(r"var\((--drawn-\w+),", page.source):
        assert f"{name}: #" in dark


def test_every_id_is_there_once_and_every_reference_is_found(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", page.source)) <= {
        pair for one in ids for pair in ((one, ""), ("", one))
    }


@pytest.mark.usefixtures("draws_anew")
@pytest.mark.slow
def test_the_settings_of_matplotlib_neither_change_nor_matter(tmp_path):
    import matplotlib as mpl

    plain = write(conversations(30), tmp_path / "a.html").read_bytes()
    with mpl.rc_context({"text.color": "red", "font.size": 30, "svg.fonttype": "path"}):
        before = dict(mpl.rcParams)
        assert write(conversations(30), tmp_path / "b.html").read_bytes() == plain
        assert dict(mpl.rcParams) == before


def test_on_a_word_list_the_report_has_scores_and_no_labels(tmp_path):
    table = conversations(60).assign(analyser="lexicon")
    text = write(table, tmp_path / "r.md").read_text("utf-8")
    usual = f"{table['sentiment_score'].median():+.2f}"
    assert (
        f"Sentiment as a word list scores it, relative to the usual score of {usual}: share of conversations"
        in text
    )
    assert "| far below usual |" in text
    assert "Mean sentiment score of a word list" in text
    section = text[: text.index("Example")] if "Example" in text else text
    assert not re.search("positive|neutral|negative", section, re.IGNORECASE)


def test_without_conversations_the_report_says_so(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "r.html"
    link.symlink_to(tmp_path / "real" / "there.html")
    page = read_page(write(conversations(0), link))
    # A link is followed.
    assert link.is_symlink()
    assert (tmp_path / "real" / "there.html").stat().st_size > 1000
    assert "There are no conversations yet, so there is nothing to report." in page.text
    assert "svg" not in page.names
    assert "Written by promptlift" in page.text


def test_without_insights_the_report_says_so(tmp_path):
    table = conversations(12)
    table["task_completed"] = pd.array([None] * 12, dtype="boolean")
    table["sentiment"] = pd.Categorical([None] * 12, ["negative", "neutral", "positive"])
    table["sentiment_score"] = float("nan")
    table["issues"] = [None] * 12
    table["has_insights"] = pd.array([False] * 12, dtype="boolean")
    table["analyser"] = pd.array([None] * 12, dtype="str")
    page = read_page(write(table, tmp_path / "r.html"))
    assert REPORT["no insights yet"] in page.text
    assert "no conversations with insights yet" in page.text
    assert "svg" not in page.names
    assert "Left out, because there is nothing to show: task completion" in page.text


@pytest.mark.slow
def test_sections_that_would_be_empty_are_left_out_and_named(tmp_path):
    table = conversations(40, content=False)
    table["issues"] = [[] for _ in range(len(table))]
    page = read_page(write(table, tmp_path / "r.html"))
    assert [attrs["id"] for tag, attrs in page.tags if tag == "section" and "id" in attrs] == [
        "completion", "sentiment", "reading", "method", "data",
    ]  # fmt: skip
    assert (
        "Left out, because there is nothing to show: issues (none was found), examples "
        "(no transcript of an ended conversation)." in page.text
    )
    assert "Left out" not in read_page(write(conversations(40), tmp_path / "all.html")).text


@pytest.mark.parametrize("n", slow_except([29], [1, 2, 5, 20, 29]))
@pytest.mark.slow
def test_few_conversations_are_said_to_be_few(tmp_path, n):
    page = read_page(write(conversations(n), tmp_path / "r.html"))
    assert f"Only {n} conversation{'' if n == 1 else 's'} with insights" in page.text


@pytest.mark.slow
def test_the_word_list_analyser_is_said_to_be_rough(tmp_path):
    page = read_page(write(conversations(60).assign(basis="words"), tmp_path / "r.html"))
    assert REPORT["word list"] in page.text
    judged = conversations(60).assign(analyser="llm:gpt-4o", basis="model")
    judged.attrs["promptlift"]["analyser"] = "llm"
    text = read_page(write(judged, tmp_path / "l.html")).text
    assert "word list" not in text
    assert (
        "A language model judged the conversations, which can be wrong too. Reported by the service: llm:gpt-4o."
        in text
    )


def test_a_part_is_said_to_be_a_part(tmp_path):
    table = conversations(60)
    table.attrs["promptlift"] |= {"complete": False, "total": 900, "warnings": {"sentiment": 4}}
    text = read_page(write(table, tmp_path / "r.html")).text
    assert "Not all conversations could be read." in text
    assert "Counted by the service 900" in text
    assert "Unusable values: sentiment 4" in text


@pytest.mark.slow
def test_several_prompts_stand_side_by_side(tmp_path):
    table = pd.concat([conversations(40), conversations(50, prompt_id="p2", rate=0.9)], ignore_index=True)
    page = read_page(write(table, tmp_path / "r.html", ["p1", "p2"]))
    completion = analysis.completion(table, by="prompt_id")
    assert "Prompts compared" in page.text
    for row in completion.to_dict("records"):
        assert f"{row['completed']} of {row['n']}" in page.text
    assert "p1 (n = 38)" in page.text
    assert REPORT["intervals may overlap"] in page.text
    assert "do not meet" not in page.text


@pytest.mark.slow
def test_many_prompts_become_a_table(tmp_path):
    parts = [conversations(8, prompt_id=f"p{number}") for number in range(8)]
    table = pd.concat(parts, ignore_index=True)
    page = read_page(write(table, tmp_path / "r.html", [f"p{number}" for number in range(8)]))
    assert "Headline numbers" in page.text
    assert all(f"p{number}" in page.text for number in range(8))


@pytest.mark.slow
def test_a_period_leaves_the_rest_out(tmp_path):
    table = conversations(60)
    page = read_page(write(table, tmp_path / "r.html", period=("2026-03-01", "2026-03-05")))
    inside = table[(table["started_at"] >= "2026-03-01") & (table["started_at"] < "2026-03-06")]
    assert 0 < len(inside) < 60
    assert f"{len(inside)} conversations" in page.text
    assert "1 Mar 2026 to 5 Mar 2026" in page.text
    empty = read_page(write(table, tmp_path / "e.html", period=("2020-01-01", "2020-02-01")))
    assert "There are no conversations in this period (1 Jan 2020 to 1 Feb 2020)" in empty.text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "r.docx",
            REPORT["not a docx"] + r"\. Supported: .htm, .html, ",
        ),
        (
            "report",
            REPORT["not without a suffix"] + r" \('report'\). Supported: .htm, .html, ",
        ),
        ("missing/r.html", r"There is no folder .*missing. Create it first, or choose another one."),
        ("folder.html", r"folder.html is a folder. Name a file in it, such as "),
        (".html", REPORT["not without a suffix"]),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_anything_is_read(tmp_path, name, message):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ConfigError, match=message):
        write(None, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_report_and_no_part(tmp_path):
    old = tmp_path / "r.html"
    old.write_text("the old one")
    code = """
        import resource, sys
        sys.path.insert(0, sys.argv[1])
        from support import report_page as page
        from promptlift import report
        from promptlift.errors import PromptliftError
        table = page.conversations(20)
        report.write(table, "p1", sys.argv[2] + "/warm.html", clock=page.clock)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            report.write(table, "p1", sys.argv[2] + "/r.html", clock=page.clock)
        except PromptliftError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(Path(__file__).parents[1]), str(tmp_path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "r.html: File too large. Nothing was changed. Free some space or choose another path" in said
    assert old.read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "warm.html"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"examples": -1}, "examples=-1 is not a whole number from 0 to 50"),
        ({"examples": True}, "examples=True is not a whole number"),
        ({"period": 0}, "period=0 days is not between"),
        ({"period": "January"}, "period='January' cannot be read. period is a number of days"),
        ({"period": ("2026-02-01", "2026-01-01")}, "ends before it begins"),
        ({"period": ("soon", None)}, "'soon' in period is not a day such as"),
        ({"period": (1, 2)}, "1 in period is not a day"),
        ({"prompt_id": []}, "names no prompt. Pass a name or an id from lift.prompts"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write(conversations(5), tmp_path / "r.html", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_table_without_insights_is_refused_by_its_columns(tmp_path):
    table = conversations(5).drop(columns=["sentiment", "issues"])
    with pytest.raises(FrameError, match=r"no column sentiment, issues.*insights=True"):
        write(table, tmp_path / "r.html")


@pytest.mark.parametrize("source", [None, "table.csv", [{"a": 1}]])
def test_a_source_that_is_none_is_refused_in_words(tmp_path, source):
    with pytest.raises(TypeError, match=r"made from a workspace .* or a pandas table of"):
        write(source, tmp_path / "r.html")


@pytest.mark.slow
def test_rows_taken_out_after_reading_are_said(tmp_path):
    table = conversations(60)
    part = table[table["sentiment"] == "negative"]
    page = read_page(write(part, tmp_path / "r.html"))
    assert REPORT["rows changed"] in page.text
    assert "Counted by the service" not in page.text
    whole = pd.concat([table, conversations(40, prompt_id="p2")], ignore_index=True)
    whole.attrs = table.attrs | {"promptlift": table.attrs["promptlift"] | {"rows": 100, "total": 100}}
    text = read_page(write(whole, tmp_path / "w.html", ["p1", "p2"])).text
    assert "Read from the source 100 Counted by the service 100 In this report 100" in text


def test_nothing_asks_the_network_and_nothing_runs(page):
    assert not page.names & {
        "script",
        "iframe",
        "object",
        "embed",
        "link",
        "img",
        "base",
        "form",
        "image",
        "a",
    }
    for _, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on")
            assert name not in {"src", "srcset", "action", "data", "background"}
            assert not name.endswith("href") or value.startswith("#")
    assert "@import" not in page.source
    assert not re.search(r"url\((?!#)", page.source)
    assert "default-src 'none'" in page.source


@pytest.mark.slow
def test_importing_the_room_is_free():
    code = "import sys, promptlift.report; print({'pandas', 'matplotlib', 'jinja2', 'httpx', 'numpy'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "set()"
