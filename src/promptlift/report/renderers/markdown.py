"""A report as GitHub Markdown: headings, lists, tables; every text is escaped, figures are described in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptlift.report.cells import formatted, heading, value_of
from promptlift.report.formatting import clock_time, omitted
from promptlift.report.sections.headlines import CARDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptlift.report.document import Document, Section, Table, Transcript

__all__ = ["escape", "render"]

# Characters with a meaning in Markdown, in GitHub's extensions or in formulas. Entities are used where a backslash could
# start a formula.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]()<>#+!|~$&=^:@\"'-]")
_ENTITIES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "\\": "&#92;",
    "$": "&#36;",
    "`": "&#96;",
    "|": "&#124;",
    "~": "&#126;",
}
_PLAIN: Final = frozenset("()+!=:@\"'-{}^#")
# Addresses and mentions become links even when escaped; an invisible word joiner prevents that.
_LINKS: Final = re.compile(r"(?i)(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=@)(?=[a-z0-9])|(?<=#)(?=\d)")
_JOINER: Final = "\u2060"
_NUMBERED: Final = re.compile(r"^(\d{1,9})([.)])")
_AT_START: Final = re.compile(r"^([-+=:#>!@])")


def escape(text: str) -> str:
    r"""Return a text as one line that Markdown shows as it is.

    >>> escape("1. *not* <b>bold</b> | $x$")
    '1\\. \\*not\\* &lt;b&gt;bold&lt;/b&gt; &#124; &#36;x&#36;'
    """
    line = _LINKS.sub(_JOINER, " ".join(text.split()))
    line = _SPECIAL.sub(_inert, line)
    line = _NUMBERED.sub(r"\1\\\2", line)
    return _AT_START.sub(r"\\\1", line)


def _inert(found: re.Match[str]) -> str:
    mark = found.group()
    return _ENTITIES.get(mark) or (mark if mark in _PLAIN else f"\\{mark}")


def render(document: Document) -> bytes:
    """Render a document."""
    lines = [f"# {escape(document.title) or 'Report'}", ""]
    if document.subtitle:
        lines += [escape(document.subtitle), ""]
    for place, sentence in enumerate(document.answer):
        lines += [f"**{escape(sentence)}**" if place == 0 else escape(sentence), ""]
    lines += [f"- {escape(label)}: {escape(value)}" for label, value in document.facts]
    lines += [""] if document.facts else []
    for notice in document.notices:
        lines += [f"> **{notice.kind.capitalize()}:** {escape(notice.text)}", ""]
    if len(document.headlines) <= CARDS:
        for group in document.headlines:
            if group.name:
                lines += [f"## {escape(group.name)}", ""]
            cells = [(number.label, value_of(number), number.detail) for number in group.numbers]
            lines += [*_grid(("Measure", "Value", "Interval and size"), cells, (False, True, False)), ""]
    for section in document.sections:
        lines += _section(section)
    lines += ["---", "", escape(document.footer), ""]
    return "\n".join(lines).encode("utf-8", "replace")


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {escape(section.title)}", "")
    for text in section.paragraphs:
        yield from (escape(text), "")
    yield from (f"- {escape(text)}" for text in section.points)
    if section.points:
        yield ""
    for figure in section.figures:
        yield from (f"*{escape(figure.alt)}*", "")
    for table in section.tables:
        yield from _table(table)
        yield ""
        if table.hidden:
            yield from (f"{table.hidden} more rows are in the HTML page and the Excel workbook.", "")
    for figure in section.figures:
        if figure.caption:
            yield from (escape(figure.caption), "")
    for transcript in section.transcripts:
        yield from _transcript(transcript)


def _table(table: Table) -> Iterator[str]:
    cells = [
        tuple(formatted(cell, column.kind) for cell, column in zip(row, table.columns, strict=True))
        for row in table.rows[: table.most]
    ]
    labels = tuple(heading(column).replace("\u00ad", "") for column in table.columns)
    return _grid(labels, cells, tuple(column.kind != "text" for column in table.columns))


def _grid(labels: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[bool, ...]) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, labels))} |"
    yield f"| {' | '.join('---:' if numeric else '---' for numeric in right)} |"
    for row in rows:
        yield f"| {' | '.join(map(escape, row))} |"


def _transcript(transcript: Transcript) -> Iterator[str]:
    yield from (f"### {transcript.outcome.capitalize()}: {escape(transcript.title)}", "")
    yield from (f"- {escape(label)}: {escape(value)}" for label, value in transcript.facts)
    yield ""
    if not transcript.turns:
        return
    for line in transcript.preview:
        yield from (f"> **{line.role}** {escape(line.content)}", "")
    yield from ("<details><summary>The whole conversation</summary>", "")
    yield from _turns(transcript)
    yield from ("</details>", "")


def _turns(transcript: Transcript) -> Iterator[str]:
    for turn in transcript.turns:
        if turn.role == "gap":
            yield from (f"> *{escape(turn.content)}*", "")
            continue
        at = f" {clock_time(turn.at)}" if turn.at else ""
        yield f"> **{turn.role}{at}**\\"
        lines = [escape(line) or "&nbsp;" for line in turn.content.split("\n")]
        lines += [f"*{escape(omitted(turn.cut))}*"] if turn.cut else []
        yield from (f"> {line}\\" for line in lines[:-1])
        yield from (f"> {lines[-1]}", "")
