"""``promptlift import``: conversations from other tools' exports, and the texts of their prompts."""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptlift.cli.options import BaseUrl, Data, open_service
from promptlift.errors import ConfigError, PromptliftError

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.workspace import Workspace

__all__ = ["import_files"]

Files = Annotated[list[Path] | None, typer.Argument(metavar="FILE…", help="Exports of conversations.")]
PromptName = Annotated[
    str,
    typer.Option(
        "--prompt",
        metavar="NAME",
        help="Prompt of the conversations, by name or id; created if there is none. If the files name several prompts, each becomes NAME / its own name.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="M", help="Model of a new prompt. [default: the most frequent one in the conversations]"
    ),
]
TextFile = Annotated[
    Path | None,
    typer.Option(
        "--text",
        metavar="FILE",
        help="File with the text of the prompt, which alone needs no FILE of conversations. [default: the system prompt of the conversations]",
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
        help="Column of a table with the role, text, conversation, time, model or status, such as role=author_type. May be given several times.",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="WORD=ROLE",
        help="Meaning of a role in the files: user, assistant, system or tool, such as Visitor=user. May be given "
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
        help='Outcome of a conversation in the logs, such as "score.reward >= 1" or resolved, which becomes the verdict.',
    ),
]
Wait = Annotated[
    bool, typer.Option(" /--no-wait", help="Exit as soon as everything is logged, without the table.")
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
    wait: Wait = True,
    dry_run: DryRun = False,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Import conversations from other tools' exports. Importing the same file again adds nothing.

    A new prompt gets the system prompt of the exports as its text. Waits for the insights, then prints the
    prompt's performance. The exit code is 1 if something could not be imported; the rest is imported.
    """
    from promptlift import transcripts  # noqa: PLC0415  tables take their time to load
    from promptlift.workspace.importing import files as importing  # noqa: PLC0415

    if not files and text is None:
        raise typer.BadParameter("Give at least one file to import, or --text.", param_hint="FILE…")
    if file_format is not None and file_format not in transcripts.FORMATS:
        known = ", ".join(transcripts.FORMATS)
        raise typer.BadParameter(
            f"there is no format {file_format!r}; the formats are {known}", param_hint="--format"
        )
    with ExitStack() as ends:
        opened: list[Workspace] = []

        def open_once() -> Workspace:
            opened.append(ends.enter_context(open_service(base_url, data)))
            return opened[0]

        result = importing.import_files(
            open_once,
            files or [],
            prompt=prompt,
            model=model,
            text=None if text is None else _read_text(text),
            format=file_format,
            columns=_pairs(column, "--column"),
            roles=_pairs(role, "--role"),
            dry_run=dry_run,
            on_line=_print,
        )
        if result.conversations and wait and not dry_run:
            _print_how_they_do(opened[0], result.prompts, outcome)
    if not result.complete:
        raise typer.Exit(1)


def _print_how_they_do(lift: Workspace, prompts: dict[str, str], outcome: str | None) -> None:
    """Wait for the insights, then print a table of the prompts and the next step."""
    import pandas as pd  # noqa: PLC0415  reading files needs no tables

    from promptlift import analysis  # noqa: PLC0415
    from promptlift.analysis.outcomes import log_outcomes  # noqa: PLC0415
    from promptlift.cli.tables import summary  # noqa: PLC0415
    from promptlift.local import wait_for_insights  # noqa: PLC0415

    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            wait_for_insights(lift, prompts.values(), progress=sys.stderr.isatty())
        for warning in warned:
            _print(str(warning.message))
    except PromptliftError as error:
        _print(f"Not all insights are there yet: {error}")
    if outcome is not None:
        for prompt_id in prompts.values():
            lift.update_prompt(prompt_id, outcome=outcome)
    tables = {name: lift.conversations(prompt_id, insights=True) for name, prompt_id in prompts.items()}
    rows = {name: analysis.prompt_overview(table, by="prompt_id") for name, table in tables.items()}
    judged = {name: prompts[name] for name, row in rows.items() if len(row)}
    if judged:
        joined = pd.concat([rows[name] for name in judged], ignore_index=True)
        joined.attrs = rows[next(iter(judged))].attrs
        _print(f"\n{summary(joined, judged)}")
    for name, table in tables.items():
        if outcome is not None and table["task_completed"].isna().all():
            _print(
                f'No conversation of "{name}" records {outcome!r}. lift.outcomes("{name}") lists what they record.'
            )
    first = next(iter(prompts))
    if outcome is None and tables[first].attrs["promptlift"]["basis"] == "words":
        for line in _ways(first, log_outcomes(tables[first])):
            _print(line)
    _print(
        f'Next: promptlift report "{first}" --out report.html, or promptlift lab to look into them in notebooks.'
    )


def _ways(prompt: str, found: pd.DataFrame) -> list[str]:
    """Return what a word list cannot show, and better ways: first, the logs' own outcomes."""
    from promptlift.schema.basis import WAYS  # noqa: PLC0415

    rules = [str(rule) for rule in found["rule"] if rule]
    if len(rules) == 1:
        row = found[found["rule"] == rules[0]].iloc[0]
        counts = f"{row['n']:,} conversations record how they ended in {row['column']}, {row['n_true']:,} of them well."
        return [
            f'{counts} To judge by that: lift.update_prompt("{prompt}", outcome="{rules[0]}"), or import with --outcome "{rules[0]}".'
        ]
    listed = f" The logs have {', '.join(rules)}." if rules else ""
    return [
        f"A word list is right about as often as chance.{listed} Three ways to know more:",
        *(f"  {way}" for way in WAYS),
    ]


def _read_text(file: Path) -> str:
    """Read the text of a prompt, exactly as it is in the file."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 text ({error.reason}). Save it as UTF-8, without formatting."
        ) from error
    if not text.strip():
        raise ConfigError(f"{file} is empty. It must contain the text of the prompt.")
    return text


def _print(line: str) -> None:
    from promptlift.schema.boundary import printable  # noqa: PLC0415

    sys.stdout.write(f"{printable(line)}\n")


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in given or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs
