"""What a report says, where it says it, and that no part of it is left when writing fails."""

from __future__ import annotations

import re
import resource

import pandas as pd
import pytest

from promptlift import analysis, report
from promptlift.errors import ConfigError, FrameError, PromptliftError
from support.report_numbers import document_of, exact_tables
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT


def write(source, path, prompt_id="p1", **options):
    return report.write(source, prompt_id, path, clock=clock, **options)


def document(table, prompt_id="p1", **options):
    return document_of(table, prompt_id, clock=clock, **options)


def notices(made):
    return " ".join(notice.text for notice in made.notices)


def sections(made):
    return [section.name for section in made.sections]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A whole page with its figures."""
    return read_page(write(conversations(60), tmp_path_factory.mktemp("page") / "r.html", title="January"))


def test_the_figures_are_text_below_the_title_that_was_given(page):
    assert ("title", "January") in page.pieces
    assert [tag for tag, _ in page.tags].count("svg") == 6
    assert "Task completion rate" in page.text
    assert "Share of conversations (n = 60)" in page.text


@pytest.mark.usefixtures("draws_anew")
@pytest.mark.slow
def test_the_colours_of_figures_follow_the_page(page):
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
    referred = {one or other for one, other in re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", page.source)}
    assert referred <= set(ids)


def test_nothing_asks_the_network_and_nothing_runs(page):
    forbidden = {"script", "iframe", "object", "embed", "link", "img", "base", "form", "image", "a"}
    assert not page.names & forbidden
    for _, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on")
            assert name not in {"src", "srcset", "action", "data", "background"}
            assert not name.endswith("href") or value.startswith("#")
    assert "@import" not in page.source
    assert not re.search(r"url\((?!#)", page.source)
    assert "default-src 'none'" in page.source


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
    table = conversations(60).assign(analyser="lexicon", basis="words")
    text = write(table, tmp_path / "r.md").read_text("utf-8")
    usual = f"relative to the usual score of {table['sentiment_score'].median():+.2f}: share of conversations"
    for said in (usual, "| far below usual |", "Mean sentiment score of a word list", REPORT["word list"]):
        assert said in text
    assert not re.search("positive|neutral|negative", text[: text.index("Example")], re.IGNORECASE)


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
    empty = document(conversations(60), period=("2020-01-01", "2020-02-01"))
    assert "There are no conversations in this period (1 Jan 2020 to 1 Feb 2020)" in notices(empty)


def test_sections_that_would_be_empty_are_left_out_and_named():
    table = conversations(40, content=False).assign(issues=[[] for _ in range(40)])
    made = document(table)
    assert sections(made) == ["completion", "sentiment", "reading", "method", "data"]
    said = (
        "Left out, because there is nothing to show: issues (none was found), examples "
        "(no transcript of an ended conversation)."
    )
    assert said in str(made.sections)
    assert "Left out" not in str(document(conversations(40)).sections)
    blank = table.assign(
        task_completed=pd.array([None] * 40, dtype="boolean"),
        sentiment=pd.Categorical([None] * 40, table["sentiment"].cat.categories),
        sentiment_score=float("nan"),
        has_insights=pd.array([False] * 40, dtype="boolean"),
        issues=[None] * 40,
    )
    made = document(blank)
    assert sections(made) == ["reading", "method", "data"]
    assert REPORT["no insights yet"] in notices(made)
    assert "no conversations with insights yet" in str(made.headlines)


@pytest.mark.parametrize("n", [1, 29])
def test_few_conversations_are_said_to_be_few(n):
    assert f"Only {n} conversation{'' if n == 1 else 's'} with insights" in notices(
        document(conversations(n))
    )


def test_a_part_is_said_to_be_a_part():
    table = conversations(60)
    table.attrs["promptlift"] |= {"complete": False, "total": 900, "warnings": {"sentiment": 4}}
    made = document(table)
    assert "Not all conversations could be read." in notices(made)
    rows = exact_tables(made)["data"].set_index("what")["n"]
    assert (rows["Counted by the service"], rows["Unusable values: sentiment"]) == (900, 4)
    # Rows that were taken out after reading.
    made = document(table[table["sentiment"] == "negative"])
    assert REPORT["rows changed"] in str(made.sections)
    assert "Counted by the service" not in str(made.sections)
    whole = pd.concat([table, conversations(40, prompt_id="p2")], ignore_index=True)
    whole.attrs = {"promptlift": table.attrs["promptlift"] | {"rows": 100, "total": 100}}
    rows = exact_tables(document(whole, ["p1", "p2"]))["data"].set_index("what")["n"]
    assert rows[["Read from the source", "Counted by the service", "In this report"]].tolist() == [100] * 3


def test_several_prompts_are_shown_side_by_side_and_many_in_a_table():
    parts = [conversations(8 + 4 * n, prompt_id=f"p{n}") for n in range(8)]
    table = pd.concat(parts, ignore_index=True)
    counts = analysis.completion(table, by="prompt_id")
    for number in (2, 8):
        made = document(table, [f"p{n}" for n in range(number)])
        assert made.title == "Prompts compared"
        assert ("headline" in sections(made)) == (number == 8)
        assert REPORT["intervals may overlap"] in str(made.sections)
        for row, group in zip(counts.to_dict("records"), made.headlines, strict=False):
            assert f"{row['completed']} of {row['n']}" in str(group.numbers)


def test_a_period_leaves_the_rest_out():
    table = conversations(60)
    made = document(table, period=("2026-03-01", "2026-03-05"))
    inside = table[(table["started_at"] >= "2026-03-01") & (table["started_at"] < "2026-03-06")]
    assert 0 < len(inside) < 60
    assert made.subtitle.endswith(f"{len(inside)} conversations")
    assert [value for _, value in made.facts[:2]] == ["1 Mar 2026 to 5 Mar 2026"] * 2
    assert [label for label, _ in made.facts[:2]] == ["Period", "Conversations"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r.docx", REPORT["not a docx"] + r"\. Supported: .htm, .html, .markdown, .md, .pdf, .xlsx"),
        ("report", REPORT["not without a suffix"] + r" \('report'\). Supported: .htm, .html, "),
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


def test_a_full_disk_leaves_the_old_report_and_no_part(tmp_path):
    old = tmp_path / "r.html"
    old.write_text("the old one")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(PromptliftError) as raised:
            write(conversations(20), old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    said = "r.html: File too large. Nothing was changed. Free some space or choose another path"
    assert said in str(raised.value)
    assert old.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [old]


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


def test_a_source_that_cannot_be_used_is_refused(tmp_path):
    with pytest.raises(FrameError, match=r"no column sentiment, issues.*insights=True"):
        write(conversations(5).drop(columns=["sentiment", "issues"]), tmp_path / "r.html")
    for source in (None, [{"a": 1}]):
        with pytest.raises(TypeError, match=r"made from a workspace .* or a pandas table of"):
            write(source, tmp_path / "r.html")
