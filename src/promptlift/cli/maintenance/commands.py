"""The options of ``promptlift vacuum`` and ``promptlift migrate``."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from promptlift.cli.options import Data, Database  # noqa: TC001 - typer reads the annotations

__all__ = ["migrate", "vacuum"]


def vacuum(
    *,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Delete the transcripts of conversations that started longer ago, such as 400d. What was found in them stays.",
        ),
    ] = None,
    keep_insights: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Delete conversations that started longer ago with their insights: they no longer count anywhere. Not shorter than --keep.",
        ),
    ] = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Delete old transcripts and conversations, and give the space of what was deleted back. The service may run meanwhile."""
    from promptlift.cli.maintenance import run  # noqa: PLC0415

    run.vacuum(
        keep=_days(keep, "--keep"),
        keep_insights=_days(keep_insights, "--keep-insights"),
        data=data,
        database=database,
    )


def migrate(
    *,
    source: Annotated[str, typer.Option("--from", metavar="URL", help="Database to copy: sqlite:///FILE.")],
    target: Annotated[
        str,
        typer.Option("--to", metavar="URL", help="Empty database to copy to: postgresql://USER@HOST/NAME."),
    ],
) -> None:
    """Copy a SQLite database into PostgreSQL, and compare every table by count and hash. End the service first."""
    from promptlift.cli.maintenance import run  # noqa: PLC0415

    run.migrate(source, target)


def _days(age: str | None, option: str) -> int | None:
    if age is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})d", age)
    if found is None:
        raise typer.BadParameter(f"must be a number of days such as 400d, not {age!r}", param_hint=option)
    return int(found[1])
