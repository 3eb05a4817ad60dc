"""Everything that came from a conversation, a prompt or a model is hostile: it is shown, and does nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata

import pandas as pd
import pytest

from promptlift import report
from report_page import clock, conversations, read_page

PAYLOADS = {
    "script": "<script>document.title='owned'</script>",
    "img": "<img src=x onerror=\"document.title='owned'\">",
    "svg": "<svg onload=\"document.title='owned'\"><script>document.title='owned'</script></svg>",
    "style_breakout": "</style><script>document.title='owned'</script><style>body{display:none}",
    "title_breakout": "</title></head><body onload=\"document.title='owned'\">",
    "attribute_breakout": '" onmouseover="document.title=\'owned\'" x="',
    "single_quote_breakout": "' onfocus='document.title=1' autofocus='",
    "comment": "--><script>document.title='owned'</script><!--",
    "cdata": "]]><script>document.title='owned'</script><![CDATA[",
    "iframe": "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\"></iframe>",
    "template": "{{ 7 * 191 }}{% for x in ().__class__.__mro__ %}{{ x }}{% endfor %}",
    "entity": "&lt;script&gt;document.title='owned'&lt;/script&gt;&#60;b&#62;",
    "javascript_link": "<a href=\"javascript:document.title='owned'\">click</a>",
    "css": '<div style="position:fixed;inset:0;background:url(https://evil.example/x)">',
    "meta_refresh": "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "mathtext": r"costs $\frac{1}{$ or $x_{$ and \$5 $",
    "percent": "100%s %d %(x)s {0} {name} \\N{DASH} \\x00",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J",
    "right_to_left": "\u202egnp.exe\u202c \u2066hidden\u2069 \u200f\u061c",
    "controls": "a\x00b\x01c\x08d\x7fe\x85f\x9bg\ufffeh\ufeffi",
    "surrogate": "half \ud83d of a pair",
    "long_word": "A" * 40_000,
    "long_lines": "word " * 10_000,
    "many_breaks": "top" + "\n" * 5_000 + "bottom",
    "accents": "Z" + "\u0301" * 3_000 + "algo",
    "tags": "flag\U000e0067\U000e0062\U000e007f",
    "wide": "一二三四五六七八九十" * 30 + " \U0001f600" * 30 + " \ufdfd" * 20,
    "empty": "",
    "spaces": " \u00a0\u2003\u3000 ",
    "svg_style": "<style>*{display:none}</style>",
    "xml": "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "null_utf7": "+ADw-script+AD4-document.title='owned'+ADw-/script+AD4-",
}
# What the page itself is made of.
OWN_TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
    "footer",
    "section",
    "article",
    "figure",
    "figcaption",
    "h1",
    "h2",
    "h3",
    "p",
    "div",
    "span",
    "dl",
    "dt",
    "dd",
    "ul",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "time",
    "details",
    "summary",
    "svg",
    "g",
    "path",
    "use",
    "defs",
    "clippath",
    "rect",
    "text",
    "tspan",
    "line",
    "polyline",
}


def poisoned(payload):
    """Conversations with the payload wherever a text can be."""
    table = conversations(24, prompt_id="p1")
    safe = payload.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    content = json.dumps(
        {"messages": [{"role": role, "content": safe} for role in ("user", "assistant", "system", "user")]}
    )
    issues = [
        {"title": payload or " ", "severity": "high", "evidence": payload},
        {"title": "Known", "severity": "low"},
    ]
    table["content"] = content
    table["issues"] = [issues] * len(table)
    table["topics"] = [[payload]] * len(table)
    for name in ("llm_model", "company_name", "summary", "analyser"):
        table[name] = pd.Series([payload] * len(table), index=table.index, dtype=object)
    table["conversation_id"] = [f"{safe[:300]}{number}" for number in range(len(table))]
    table.attrs["promptlift"]["warnings"] = {payload: 3}
    return table.assign(prompt_id=pd.Series([payload or "p"] * len(table), index=table.index, dtype=object))


@pytest.fixture(params=list(PAYLOADS))
def hostile(request, tmp_path):
    payload = PAYLOADS[request.param]
    path = tmp_path / "r.html"
    report.write(poisoned(payload), payload or "p", path, clock=clock, title=payload or None)
    return payload, path


def test_a_payload_becomes_text_and_nothing_else(hostile):
    _, path = hostile
    page = read_page(path)
    assert page.names <= OWN_TAGS
    assert page.misnested == []
    assert page.comments == []
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"src", "srcdoc", "action", "autofocus"}
            assert not name.endswith("href") or value.startswith("#")
            if tag != "svg" and name == "style":
                assert "url(" not in value.replace("url(#", "")
    assert [tag for tag, _ in page.tags].count("style") == 1
    assert [tag for tag, _ in page.tags].count("svg") == 3


def test_nothing_invisible_or_turning_is_left(hostile):
    _, path = hostile
    text = path.read_bytes().decode("utf-8", "strict")
    odd = {
        char
        for char in text
        if unicodedata.category(char) in {"Cc", "Cf", "Cs"} and char not in "\n\t\u00ad\u200d\u200c"
    }
    assert odd == set()
    assert not re.search("[\u0300-\u036f]{4}", text)


def test_the_page_stays_small(hostile):
    _, path = hostile
    assert path.stat().st_size < 300_000


def test_templates_in_texts_are_not_run(tmp_path):
    path = report.write(
        poisoned(PAYLOADS["template"]), PAYLOADS["template"], tmp_path / "r.html", clock=clock
    )
    page = read_page(path)
    assert "1337" not in page.text
    assert "{{ 7 * 191 }}" in page.text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not on this machine")
def test_a_browser_runs_nothing_of_it(tmp_path):
    table = poisoned("x")
    texts = [
        text
        for name, text in PAYLOADS.items()
        if name not in {"surrogate", "controls", "long_word", "long_lines"}
    ]
    messages = [{"role": "user", "content": text} for text in texts]
    table["content"] = json.dumps({"messages": messages})
    table["issues"] = [
        [{"title": text, "severity": "high", "evidence": text} for text in texts if text]
    ] * len(table)
    # Without the policy of the page: escaping alone must hold.
    path = report.write(table, "x", tmp_path / "r.html", clock=clock, title="honest")
    path.write_text(
        re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", path.read_text("utf-8")), "utf-8"
    )
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert "<title>honest</title>" in dom
    assert "owned" in dom  # the payloads are there, as text
    assert not re.search(r"<(script|iframe|img|a|body on)\b", dom)
