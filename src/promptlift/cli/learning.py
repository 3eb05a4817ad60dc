"""``promptlift learn``: a judge of completion that learns from labels."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from promptlift.cli.options import BaseUrl, Data, open_service
from promptlift.errors import ConfigError


def learn(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="Name or id of the prompt.")],
    *,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Column with the task or user of each conversation, such as metadata.taskId, if some occur more than once.",
        ),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove the judge instead, and restore the previous verdicts.")
    ] = False,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Learn from stored labels whether conversations completed their task, and judge all accordingly if possible. No language model is used."""
    with open_service(base_url, data) as lift:
        try:
            said = (
                lift.judges.forget(prompt).message
                if forget
                else lift.judges.learn(prompt=prompt, group=group)
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
    sys.stdout.write(f"{said}\n")
