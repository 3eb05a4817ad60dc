"""``promptlift report``: a report on one prompt, or on several side by side."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from promptlift.cli.target import Target
    from promptlift.report.period import PeriodLike


def write_report(
    prompts: str | Sequence[str],
    *,
    out: Path,
    target: Target,
    title: str | None = None,
    logo: Path | None = None,
    redact: bool = False,
    period: str | None = None,
    examples: int = 6,
) -> None:
    """Write the report and print where it is.

    Options are checked before the service is asked or started.

    Parameters
    ----------
    prompts
        Names or ids.
    out
        File to write; its extension sets the format.
    target
        Service to read from.
    title
        Title of the report.
    logo
        PNG or JPEG picture beside the title.
    redact
        Leave out all text of conversations.
    period
        A number of days, or ``FIRST..LAST``.
    examples
        Number of example conversations.

    Raises
    ------
    ConfigError
        When an option cannot be used.
    """
    from promptlift import report  # noqa: PLC0415  drawing takes its time to load
    from promptlift.report.logo import read_logo  # noqa: PLC0415
    from promptlift.report.renderers import renderer_for  # noqa: PLC0415

    days = period_of(period)
    renderer_for(out)
    read_logo(logo)
    names = [prompts] if isinstance(prompts, str) else list(prompts)
    with target.open() as lift:
        ids = [lift.prompt_id(name) for name in names]
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            report.write(
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
    """Read the period of the command line.

    >>> period_of("30"), period_of("2026-01-01..2026-01-31"), period_of("2026-01-01..")
    (30, ('2026-01-01', '2026-01-31'), ('2026-01-01', None))

    Raises
    ------
    ConfigError
        When it is neither a number of days nor ``FIRST..LAST``.
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
