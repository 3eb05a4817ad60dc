"""Reports that can be passed on: one file, opens anywhere, makes no requests.

>>> from promptlift import report
>>> report.write(lift, "prompt-id", "report.html")  # doctest: +SKIP
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from promptlift.report.logo import LogoLike
    from promptlift.report.period import PeriodLike

__all__ = ["write"]


def write(
    source: Any,
    prompt_id: str | Sequence[str] | None,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    logo: LogoLike = None,
    redact: bool = False,
    examples: int = 6,
    period: PeriodLike = None,
    clock: Callable[[], datetime] | None = None,
) -> Path:
    """Write a report about a prompt, or about several side by side.

    The numbers are those of ``promptlift.analysis``, the pictures those of ``promptlift.plots``. The same data and
    the same clock give the same bytes. The file is there completely or not at all.

    Parameters
    ----------
    source
        A workspace, or a table of ``lift.conversations(insights=True)`` (with ``content=True`` it also has the
        examples).
    prompt_id
        A prompt's name or id, or several to compare; of a table, which knows no names, ids. ``None`` takes all
        conversations of a table as one.
    path
        Where to write; the ending says the format. ``.html`` opens anywhere, also without a network; ``.pdf`` (extra
        ``pdf``) is the same on paper; ``.xlsx`` has a sheet for each table; ``.md`` is GitHub's Markdown. ``.csv`` and
        ``.parquet`` are one table with a row for every number of the report; ``.csv.zip`` and ``.parquet.zip`` hold
        one file for each table.
    title
        Title of the report. The name of the prompt when it is left out.
    logo
        PNG or JPEG picture beside the title, as a file or as bytes; in HTML, PDF and Excel.
    redact
        Leave out everything that was said: no transcripts, quotes and summaries. Titles of issues stay unless they
        repeat what was said; e-mail addresses, links and long numbers are taken out of them.
    examples
        How many conversations to show, at most 50; 0 shows none.
    period
        A number of days up to now, or ``(first day, last day)``, days in UTC and both included; either may be
        ``None``.
    clock
        Gives the time that the report bears; the current time when it is left out.

    Returns
    -------
    Path
        Where the report is.

    Raises
    ------
    ConfigError
        When the ending is not supported, the file cannot stand there, or the logo is no such picture. Nothing was
        read then. Also when the system lacks a library that PDF needs.
    MissingExtra
        When the format needs an extra that is not installed.
    NotFound
        When there is no such prompt; the message has near names.
    FrameError
        When a table lacks a column.
    PromptliftError
        When the file cannot be written.
    TypeError
        When the source is neither a workspace nor a pandas table.
    ValueError
        When an option cannot be used, or a table has no conversation of the prompt.
    """
    from promptlift.report.files import check_target, write_report_file  # noqa: PLC0415  (errors come before imports)
    from promptlift.report.logo import read_logo  # noqa: PLC0415
    from promptlift.report.renderers import renderer_for  # noqa: PLC0415

    target = Path(path)
    render = renderer_for(target)
    check_target(target)
    picture = read_logo(logo)

    # pandas and matplotlib are loaded when something is drawn.
    from promptlift.report.compose import compose  # noqa: PLC0415
    from promptlift.report.examples import MAX_EXAMPLES  # noqa: PLC0415
    from promptlift.report.gather import gather  # noqa: PLC0415
    from promptlift.report.period import window_of  # noqa: PLC0415

    if type(examples) is not int or not 0 <= examples <= MAX_EXAMPLES:
        raise ValueError(f"examples={examples!r} is not a number from 0 to {MAX_EXAMPLES}.")
    now = clock() if clock is not None else datetime.now(UTC)
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    window = window_of(period, now)
    material = gather(source, prompt_id, window)
    document = compose(
        material, window=window, now=now, title=title, logo=picture, redacted=redact, examples=examples
    )
    write_report_file(target, render(document))
    return target
