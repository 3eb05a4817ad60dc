"""``promptlift learn``: a judge of completion that learns from labels."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import Annotated

import typer

from promptlift.cli.options import BaseUrl, Data, open_service
from promptlift.errors import ConfigError


def learn(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="Name or id of the prompt.")],
    *,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Labels (.csv or .parquet) with conversation_id and task_completed. [default: those stored in the service]",
        ),
    ] = None,
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
    """Learn from labels whether conversations completed their task, and judge all accordingly if possible. No language model is used."""
    from promptlift.widgets.browser.labels import read_labels  # noqa: PLC0415  tables take their time to load

    table = None if labels is None else read_labels(labels)
    with open_service(base_url, data) as lift:
        try:
            said = (
                lift.judges.forget(prompt).message
                if forget
                else lift.judges.learn(prompt=prompt, labels=table, group=group)
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
    sys.stdout.write(f"{said}\n")
