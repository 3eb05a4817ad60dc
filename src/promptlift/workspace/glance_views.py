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
_EXPORT: Final = 'promptlift.transcripts.read("export.jsonl")'
_LEXICON: Final = "lexicon"
_MODEL: Final = "llm:"
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
    """Return the three calls that come next for an account like this."""
    return [shorten(call, _CALL_WIDTH)[0] for call in _calls(glance)][:_CALLS]


def _calls(glance: Glance) -> Iterator[str]:
    if glance.problem:
        return
    if not glance.prompt_count:
        yield 'lift.create_prompt("Support assistant", "You are …", llm_model="gpt-4o-mini")'
        yield f'lift.log({_EXPORT}, prompt_id="Support assistant")'
        yield "promptlift.local.log_samples(lift)  # or sample conversations"
        return
    name = repr(glance.prompts[0].reference)
    running = [one.optimization_id for one in glance.optimizations or ()]
    active = [f"promptlift.widgets.OptimizationMonitor(lift, {one!r})" for one in running]
    judged = [one for one in glance.prompts if one.rate is not None]
    if not glance.conversations and not judged:
        yield f"lift.log({_EXPORT}, prompt_id={name})"
        yield from active[:1]
        yield f"lift.optimize({name})"
        yield f"lift.versions({name})"
        return
    if not judged:
        yield f"promptlift.local.wait_for_insights(lift, [{name}])"
    yield f"df = lift.conversations({name}, insights=True)"
    yield from active[:1]
    if len(judged) > 1:
        # The list is newest first, so the newer of the two is compared with the older.
        newer, older = sorted(judged[:2], key=lambda one: one.place)
        yield f"lift.compare({older.reference!r}, {newer.reference!r})"
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
        "".join(map(_bar, one.weeks)),
    ]


def _rate(one: PromptGlance) -> str:
    from promptlift.words.figures import figures  # noqa: PLC0415  tables take their time to load

    if one.rate is None:
        return "not known" if one.judged is None else "none judged yet"
    if one.rate_low is None or one.rate_high is None:
        return f"{figures(one.rate, ends=(0.0, 100.0))[0]}%, without an interval"
    shown, low, high = figures(one.rate, one.rate_low, one.rate_high, ends=(0.0, 100.0))
    return f"{shown}% ({low}% to {high}%)"


def _bar(week: tuple[int, int]) -> str:
    """Return a bar from 0 to 100 %, or a dot for a week without judged conversations."""
    judged, completed = week
    return _BARS[min(len(_BARS) - 1, len(_BARS) * completed // judged)] if judged else _NO_BAR


def _sparkline(one: PromptGlance, end: date | None) -> object:
    """Return the bars, and what they say in words for those who point at them or cannot see them."""
    if end is None:
        return ""
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
    yield f"Judge: {_judge(glance)}."
    yield f"Optimizations: {_optimizations(glance)}."


def _judge(glance: Glance) -> str:
    if glance.judge == "outcome":
        return "the logs themselves, which say how conversations ended"
    if glance.judge == _LEXICON:
        return "a word list, which counts words and cannot tell which prompt is better"
    if glance.judge is not None:
        return one_line(glance.judge.removeprefix(_MODEL), _NAME_WIDTH)
    judged = any(one.rate is not None for one in glance.prompts)
    return "the service does not say who" if judged else "nothing is judged yet"


def _optimizations(glance: Glance) -> str:
    if glance.optimizations is None:
        return "could not be read"
    if not glance.optimizations:
        return "none is running"
    return "; ".join(
        f"{one_line(one.label, _NAME_WIDTH)} ({', '.join(filter(None, (one.status, one_line(one.mode, 20))))})"
        for one in glance.optimizations
    )


def _aligned(row: list[str], widths: list[int]) -> str:
    """Put the cells of a row below those of the others; numbers are aligned right."""
    cells = [
        cell.rjust(width) if place in (1, 3) else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _day(day: date | datetime) -> str:
    return f"{day.day} {day:%b %Y}"
