"""The options of ``promptlift import`` and of ``promptlift prompts``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from promptlift.cli.options import BaseUrl, Data  # noqa: TC001 - typer reads the annotations

__all__ = ["import_files", "prompts_app"]

prompts_app = typer.Typer(help="Set the text of a prompt.", no_args_is_help=True, rich_markup_mode=None)


@prompts_app.callback()
def _group() -> None:
    """Keep ``set`` a command of its own: it is the only one so far."""


Files = Annotated[list[Path] | None, typer.Argument(metavar="FILE…", help="Exports of conversations.")]
PromptName = Annotated[
    str,
    typer.Option(
        "--prompt",
        metavar="NAME",
        help="Prompt that the conversations were held with, by name or id; created if there is none. Where the files "
        "name several prompts, each becomes NAME / its own name.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(metavar="M", help="Model of a new prompt. [default: the one that most conversations name]"),
]
TextFile = Annotated[
    Path | None,
    typer.Option(
        "--text",
        metavar="FILE",
        help="File with the text of the prompt. [default: the system prompt of the conversations]",
    ),
]
FileFormat = Annotated[
    str | None,
    typer.Option("--format", metavar="F", help="Format of the files. [default: recognised from the content]"),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="WHAT=NAME",
        help="Column of a table that holds the role, text, conversation, time, model or status, such as "
        "role=author_type. May be given several times.",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="WORD=ROLE",
        help="What a role of the files means: user, assistant, system or tool, such as Visitor=user. May be given "
        "several times.",
    ),
]


def _rule(text: str | None) -> str | None:
    from promptlift.schema.outcomes import parse_rule  # noqa: PLC0415

    try:
        return text and str(parse_rule(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


OutcomeOption = Annotated[
    str | None,
    typer.Option(
        "--outcome",
        callback=_rule,
        metavar="RULE",
        help='What the logs say of how a conversation ended, such as "score.reward >= 1" or resolved: it becomes the verdict.',
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="List the fields that are left out, and what else the files say.")
]
Wait = Annotated[
    bool, typer.Option(" /--no-wait", help="End as soon as everything is logged, without the table.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Read the files and report what would be imported; log nothing.")
]


def import_files(
    *,
    files: Files = None,
    prompt: PromptName,
    model: Model = None,
    text: TextFile = None,
    file_format: FileFormat = None,
    column: Columns = None,
    role: Roles = None,
    outcome: OutcomeOption = None,
    verbose: Verbose = False,
    wait: Wait = True,
    dry_run: DryRun = False,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Import conversations from other tools' exports. Importing the same file again adds nothing.

    A new prompt gets the system prompt of the exports as its text. Waits for the insights, then prints how the prompt does.
    The exit code is 1 when something could not be imported; the rest is imported.
    """
    from promptlift.cli.importing.run import run_import  # noqa: PLC0415
    from promptlift.cli.target import Target  # noqa: PLC0415

    if not files and text is None:
        raise typer.BadParameter("Give at least one file to import, or --text.", param_hint="FILE…")
    run_import(
        files or [],
        prompt=prompt,
        model=model,
        text=text,
        file_format=file_format,
        columns=_pairs(column, "--column"),
        roles=_pairs(role, "--role"),
        outcome=outcome,
        dry_run=dry_run,
        verbose=verbose,
        wait=wait,
        target=Target(base_url=base_url, data=data),
    )


@prompts_app.command("set")
def set_text(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name or id of the prompt.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File with its text, in UTF-8.")],
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Set the text of a prompt from a file, byte for byte, as a new version that is live at once."""
    from promptlift.cli.importing.prompt_text import set_prompt_text  # noqa: PLC0415
    from promptlift.cli.target import Target  # noqa: PLC0415

    set_prompt_text(name, file, Target(base_url=base_url, data=data))


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in given or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs
