"""The output of a widget: an interactive view where a person can act, HTML everywhere, no view where a program runs."""

from __future__ import annotations

import json
import re

import pytest

from promptlift.widgets.browser.widget import ConversationBrowser
from promptlift.widgets.tree_widget import front_end, is_unattended
from support.conversation_tables import browsable
from support.report_page import Page

VIEW = "application/vnd.jupyter.widget-view+json"


def test_an_interactive_bundle_has_the_view_and_the_html_and_a_closed_widget_still_has_its_html():
    browser = ConversationBrowser(browsable(20))
    bundle, _ = browser._repr_mimebundle_()
    assert set(bundle) == {VIEW, "text/html", "text/plain"}
    assert bundle["text/plain"] == "ConversationBrowser(20 conversations, 0 labelled)"
    text = Page(bundle["text/html"]).text
    for words in (
        "Where is parcel 0?",
        "2026-03-01 10:00:07 · 1,234 tokens · gpt-4o",
        "20 conversations · 10 completed, 10 not completed · 7 positive, 7 neutral, 6 negative",
        "The first 12 of 20",
    ):
        assert words in text
    # The words of two elements stay apart where their styles are taken out, as on GitHub.
    bare = re.sub(r"<[^>]*>", "", bundle["text/html"])
    assert len(re.findall(r"Where is parcel \d+\?\s+2026-03-01 \d\d:\d\d (?:not )?completed", bare)) == 12
    assert not is_unattended()
    browser.close()
    bundle, metadata = browser._repr_mimebundle_()
    assert (set(bundle), metadata) == ({"text/html", "text/plain"}, {})


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [False, True])
def test_a_program_that_runs_a_notebook_gets_the_html_alone(tmp_path, allowed):
    """nbconvert --execute, papermill and documentation builds all run cells this way."""
    import nbclient
    import nbformat

    code = (
        "import pandas as pd\nfrom promptlift import widgets\n"
        "df = pd.DataFrame({'conversation_id': ['a'], 'content': ['User: hello']})\n"
        "browser = widgets.ConversationBrowser(df)\nbrowser"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(book, kernel_name="python3", resources=resources)
    if allowed:  # as JupyterLab, VS Code and Notebook do: a person is there who could answer a question
        client.on_notebook_start = lambda **_: setattr(client.kc, "allow_stdin", True)
    client.execute()
    (output,) = book.cells[0].outputs
    assert "hello" in output["data"]["text/html"]
    assert (VIEW in output["data"]) == allowed
    assert ("ConversationBrowser" in json.dumps(book.metadata.get("widgets", {}))) == allowed


def test_the_front_end_has_no_way_to_parse_html_or_to_load_anything():
    code = "".join(front_end("js", *names) for names in ([], ["browser"], ["plot"]))
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
    sheets = ("browser", "commands", "review", "search", "labelling", "monitor", "plot")
    assert "url(" not in front_end("css", *sheets)
