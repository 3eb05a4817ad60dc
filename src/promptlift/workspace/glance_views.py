"""A glance at an account as text and as HTML, with the calls that come next."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from promptlift.display.static_html import bars, bars_html, element, paragraph, root, table
from promptlift.errors import ApiError
from promptlift.schema.inert import one_line, shorten
from promptlift.workspace.glance import Glance, take_glance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.client.transport import Transport
    from promptlift.workspace.glance import PromptGlance

__all__ = ["Shown", "as_html", "as_text", "next_calls", "show"]

_CALLS: Final = 3
_NAME_WIDTH: Final = 48
# Longer than any call with ids that a person could type.
_CALL_WIDTH: Final = 400
_BARS: Final = "▁▂▃▄▅▆▇█"
_NO_BAR: Final = "·"
_OLDER: Final = "all of them earlier"
_EXPORT: Final = '"export.jsonl"'
_WORDS: Final = "words"
_JUDGES: Final = {
    "outcome": "the logs themselves, which say how conversations ended",
    "label": "people",
    "model": "a language model",
    "learned": "a judge that learned from labels",
    _WORDS: "a word list, which counts words and cannot tell which prompt is better",
}
_UNSAID: Final = "a judge that the service does not name"
# A week before this the data end in the past: "this week" would be empty.
_RECENT: Final = timedelta(days=6)


class Shown(NamedTuple):
    """What a cell shows of an account."""

    text: str
    html: str


def show(transport: Transport, place: str) -> Shown:
    """Look at an account and show it; this never raises and never hangs, because a notebook calls it for a cell.

    Parameters
    ----------
    place
        Where the data are, in words.
    """
    try:
        glance = take_glance(transport, place)
        return Shown(as_text(glance), as_html(glance))
    except ApiError as error:
        problem = f"{error.message.rstrip('.')}."
    except Exception as error:  # noqa: BLE001 - an answer of any shape must not break the cell that shows a workspace
        problem = f"The answer of the service cannot be read ({type(error).__name__})."
    glance = Glance(place, problem=problem)
    return Shown(as_text(glance), as_html(glance))


def as_text(glance: Glance) -> str:
    """Return the glance as lines of text."""
    lines = [f"promptlift: {glance.place}"]
    if glance.prompts:
        rows = [_head(glance), *(_cells(one) for one in glance.prompts)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        lines += ["", *(_aligned(row, widths) for row in rows), ""]
    lines += _said(glance)
    calls = next_calls(glance)
    return "\n".join([*lines, *(["Next:", *(f"  {call}" for call in calls)] if calls else [])])


def as_html(glance: Glance) -> str:
    """Return the glance as HTML without scripts; names are inert."""
    parts = [paragraph(element("b", "promptlift"), ": ", one_line(glance.place, 400))]
    if glance.prompts:
        rows = [[*_cells(one)[:-1], _sparkline(one, glance.weeks_end)] for one in glance.prompts]
        parts.append(table(_head(glance), rows, numbers=(1, 3)))
    parts += [paragraph(line) for line in _said(glance)]
    calls = next_calls(glance)
    if calls:
        style = "margin:.2em 0;white-space:pre-wrap"
        parts.append(paragraph("Next:"))
        parts += [element("div", element("code", call), style=style) for call in calls]
    return str(root(*parts))


def next_calls(glance: Glance) -> list[str]:
    """Return the calls that come next for an account like this, three at most."""
    return [shorten(call, _CALL_WIDTH)[0] for call in _calls(glance)][:_CALLS]


def _calls(glance: Glance) -> Iterator[str]:
    if glance.problem:
        return
    if not glance.prompt_count:
        yield f'lift.import_files({_EXPORT}, prompt="Support assistant")'
        yield "promptlift.local.log_samples(lift)  # or sample conversations"
        return
    first = glance.prompts[0]
    name = repr(first.reference)
    active = [f"promptlift.widgets.OptimizationMonitor(lift, {one!r})" for one, _ in glance.optimizing]
    if first.conversations == 0:
        yield f"lift.import_files({_EXPORT}, prompt={name})"
        yield from active[:1]
        yield f"lift.optimize({name})"
        yield f"lift.versions({name})"
        return
    if first.rate is None and first.conversations is not None:
        yield f"promptlift.local.wait_for_insights(lift, [{name}])"
    yield f"df = lift.conversations({name}, insights=True)"
    yield from active[:1]
    pair = glance.comparable()
    if first.basis == _WORDS:
        yield f"lift.outcomes({name})"
    elif pair is not None:
        yield f"lift.compare({pair[0].reference!r}, {pair[1].reference!r})"
    if all(judged for judged, _ in first.weeks[-2:]) and first.weeks:
        until = ""
        if glance.weeks_end is not None and glance.weeks_end < glance.at.date() - _RECENT:
            until = f", until={glance.weeks_end.isoformat()!r}"
        yield f"lift.this_week({name}{until})"
    yield f"promptlift.plots.prompt_overview(lift, {name})"


def _head(glance: Glance) -> list[str]:
    weeks = "" if glance.weeks_end is None else f"8 weeks to {_day(glance.weeks_end - timedelta(days=1))}"
    return ["Prompt", "Conversations", "Completed (95% interval)", "n", weeks]


def _cells(one: PromptGlance) -> list[str]:
    return [
        one_line(one.label, _NAME_WIDTH) or "(no name)",
        "not known" if one.conversations is None else f"{one.conversations:,}",
        _rate(one),
        "" if one.judged is None else f"{one.judged:,}",
        "".join(map(_bar, one.weeks)) if _has_weeks(one) else _OLDER * bool(one.judged),
    ]


def _rate(one: PromptGlance) -> str:
    from promptlift.words.figures import figures  # noqa: PLC0415  tables take their time to load

    if one.judged == 0:
        return "none judged yet"
    if one.rate is None or one.rate_low is None or one.rate_high is None:
        return "not known"
    shown, low, high = figures(one.rate, one.rate_low, one.rate_high, ends=(0.0, 100.0))
    return f"{shown}% ({low}% to {high}%)"


def _has_weeks(one: PromptGlance) -> bool:
    return any(judged for judged, _ in one.weeks)


def _bar(week: tuple[int, int]) -> str:
    """Return a bar from 0 to 100%, or a dot for a week without judged conversations."""
    judged, completed = week
    return _BARS[min(len(_BARS) - 1, len(_BARS) * completed // judged)] if judged else _NO_BAR


def _sparkline(one: PromptGlance, end: date | None) -> object:
    """Return the bars, and what they say in words for those who point at them or cannot see them."""
    if end is None or not _has_weeks(one):
        return _OLDER * bool(one.judged)
    begins = [end - timedelta(weeks=ago) for ago in range(len(one.weeks), 0, -1)]
    words = [
        f"{_day(begin)}: {f'{completed:,} of {judged:,} completed' if judged else 'none judged'}"
        for begin, (judged, completed) in zip(begins, one.weeks, strict=True)
    ]
    rates = [completed / judged if judged else None for judged, completed in one.weeks]
    return bars_html(bars(rates, low=0.0, high=1.0), label="Weeks from " + "; ".join(words))


def _said(glance: Glance) -> Iterator[str]:
    if glance.problem:
        yield f"The service cannot be reached or read now. {one_line(glance.problem, 600)} Then run this again."
        return
    if not glance.prompt_count:
        yield "There are no prompts yet. In a terminal, promptlift import takes exports of other tools."
        return
    more = glance.prompt_count - len(glance.prompts)
    if more:
        all_listed = glance.listed == glance.prompt_count
        looked = "" if all_listed else f", of which the newest {glance.listed:,} were looked at"
        yield f"{more:,} more of {glance.prompt_count:,} prompts{looked}: lift.prompts() has all."
    waiting = sum(one.without_insights or 0 for one in glance.prompts)
    if waiting:
        yield f"{waiting:,} of {glance.conversations:,} conversations have no insights, or not yet."
    if any(one.rate is not None for one in glance.prompts):
        bases = dict.fromkeys(one.basis for one in glance.prompts if one.rate is not None)
        yield f"Judged by {', and by '.join(_JUDGES.get(one or '', _UNSAID) for one in bases)}."
    if glance.optimizing:
        names = dict.fromkeys(one_line(label, _NAME_WIDTH) for _, label in glance.optimizing)
        yield f"Being optimized: {', '.join(names)}."


def _aligned(row: list[str], widths: list[int]) -> str:
    """Put the cells of a row below those of the others; numbers are aligned right."""
    cells = [
        cell.rjust(width) if place in (1, 3) else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _day(day: date | datetime) -> str:
    return f"{day.day} {day:%b %Y}"
