"""``promptlift report``: a report on one prompt, or on several side by side."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from promptlift.cli.options import BaseUrl, Data, Period, open_service
from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from promptlift.report.period import PeriodLike


def report(
    prompts: Annotated[list[str], typer.Argument(metavar="PROMPT...", help="Names or ids of prompts.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write: .html, .pdf, .xlsx or .md.",
        ),
    ],
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the report.")] = None,
    logo: Annotated[
        Path | None,
        typer.Option("--logo", metavar="FILE", help="PNG or JPEG picture to show beside the title."),
    ] = None,
    period: Period = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", help="Number of example conversations.")
    ] = 6,
    redact: Annotated[bool, typer.Option("--redact", help="Leave out all text of conversations.")] = False,  # noqa: FBT002
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Write a report on one prompt, or on several side by side. The file's extension sets the format."""
    from promptlift.report import write  # noqa: PLC0415  drawing takes its time to load
    from promptlift.report.logo import read_logo  # noqa: PLC0415
    from promptlift.report.renderers import renderer_for  # noqa: PLC0415
    from promptlift.workspace.prompt_names import id_of  # noqa: PLC0415

    days = period_of(period)
    renderer_for(out)
    read_logo(logo)
    with open_service(base_url, data) as lift:
        ids = [id_of(lift, name) for name in prompts]
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(
                lift,
                ids[0] if len(ids) == 1 else ids,
                out,
                title=title,
                logo=logo,
                redact=redact,
                period=days,
                examples=examples,
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
    sys.stdout.write(f"Report: {out}\n")


def period_of(text: str | None) -> PeriodLike:
    """Read a period from the command line.

    >>> period_of("30"), period_of("2026-01-01..2026-01-31"), period_of("2026-01-01..")
    (30, ('2026-01-01', '2026-01-31'), ('2026-01-01', None))

    Raises
    ------
    ConfigError
        It is neither a number of days nor ``FIRST..LAST``.
    """
    from promptlift.report.period import window_of  # noqa: PLC0415

    if text is None:
        return None
    first, dots, last = (part.strip() for part in text.partition(".."))
    period: PeriodLike = (first or None, last or None)
    if not dots:
        period = int(text) if text.strip().isdecimal() else (text,)
    try:
        window_of(period, datetime.now(UTC))
    except ValueError as error:
        raise ConfigError(
            f"--period {text!r} cannot be used: give a number of days up to now, such as 30, or the first and the last "
            "day, such as 2026-01-01..2026-01-31 (either may be left out)."
        ) from error
    return period
