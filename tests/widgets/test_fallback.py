"""The output of a widget: an interactive view where a person can act, HTML everywhere, no view where a program runs."""

from __future__ import annotations

import json

import pytest

from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.fallback import front_end, is_unattended
from support.conversation_tables import browsable
from support.report_page import Page

VIEW = "application/vnd.jupyter.widget-view+json"


def test_an_interactive_bundle_has_the_view_and_the_html():
    bundle, _ = ConversationBrowser(browsable(20))._repr_mimebundle_()
    assert set(bundle) == {VIEW, "text/html", "text/plain"}
    assert bundle["text/plain"] == "ConversationBrowser(20 conversations, 0 labelled)"
    page = Page(bundle["text/html"])
    assert "Where is parcel 0?" in page.text
    assert "2026-03-01 10:00:07 · 1,234 tokens · gpt-4o" in page.text
    assert (
        "20 conversations · 10 completed, 10 not completed · 7 positive, 7 neutral, 6 negative" in page.text
    )
    assert "The first 12 of 20" in page.text


def test_a_closed_widget_still_has_its_html():
    browser = ConversationBrowser(browsable(3))
    browser.close()
    bundle, metadata = browser._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert metadata == {}


def test_a_plain_script_is_not_unattended():
    assert not is_unattended()


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [False, True])
def test_a_program_that_runs_a_notebook_gets_the_html_alone(tmp_path, allowed):
    """nbconvert --execute, papermill and documentation builds all run cells this way."""
    import nbclient
    import nbformat

    code = (
        "import pandas as pd\nfrom promptlift import widgets\n"
        "browser = widgets.ConversationBrowser(pd.DataFrame({'conversation_id': ['a'], 'content': ['User: hello']}))\nbrowser"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client = nbclient.NotebookClient(
        book, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    if allowed:  # as JupyterLab, VS Code and Notebook do: a person is there who could answer a question
        client.on_notebook_start = lambda **_: setattr(client.kc, "allow_stdin", True)
    client.execute()
    (output,) = book.cells[0].outputs
    assert "hello" in output["data"]["text/html"]
    assert (VIEW in output["data"]) == allowed
    assert ("ConversationBrowser" in json.dumps(book.metadata.get("widgets", {}))) == allowed


@pytest.mark.parametrize("names", [[], ["browser"], ["plot"]])
def test_the_front_end_has_no_way_to_parse_html(names):
    code = front_end("js", *names)
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "DOMParser",
        "http:",
        "https:",
    ):
        assert name not in code
    assert "url(" not in front_end(
        "css", "browser", "commands", "review", "search", "labelling", "monitor", "plot"
    )
