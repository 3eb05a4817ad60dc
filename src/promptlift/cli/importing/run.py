"""``promptlift import``: import conversations from other tools' exports into a service."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

import typer

from promptlift import transcripts
from promptlift.cli.importing.destination import Destination
from promptlift.cli.importing.prompt_text import read_text
from promptlift.cli.summary import summary
from promptlift.errors import PromptliftError, TranscriptError
from promptlift.schema.basis import WAYS
from promptlift.schema.boundary import printable
from promptlift.transcripts import Problem, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from promptlift.cli.target import Target
    from promptlift.workspace import LogResult


def run_import(
    files: Sequence[Path],
    *,
    prompt: str,
    model: str | None,
    text: Path | None,
    file_format: str | None,
    dry_run: bool,
    target: Target,
    columns: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    outcome: str | None = None,
    verbose: bool = False,
    wait: bool = True,
) -> None:
    """Read files, log their conversations, and say in a line each what became of them; then how the prompts do.

    Their system prompt becomes the text of the prompt, unless that is known already.

    Parameters
    ----------
    files
        Files to read.
    prompt
        Name or id of the prompt; it is created when there is none of that name.
    model
        Model of a new prompt; ``None`` is the one that most conversations name, of a large first file most of its first
        thousand.
    text
        File with the text of the prompt, instead of the system prompt of the files.
    file_format
        Format of all files; ``None`` recognises it for each.
    dry_run
        Whether to read and report only.
    target
        Service to log to.
    columns, roles
        Columns of a table by their meaning, and what the roles of the files mean.
    outcome
        The rule of the prompts' outcome, if the user gave one.
    verbose
        Whether to list the fields that are left out, and the notes of the readers.
    wait
        Whether to wait for the insights and print the table.
    """
    if file_format is not None and file_format not in transcripts.FORMATS:
        known = ", ".join(transcripts.FORMATS)
        raise typer.BadParameter(
            f"there is no format {file_format!r}; the formats are {known}", param_hint="--format"
        )
    given = None if text is None else read_text(text)
    others = transcripts.OtherFiles(files)

    def read(file: Path) -> Iterator[Reading]:
        try:
            yield from transcripts.read_in_parts(
                file, format=file_format, columns=columns, roles=roles, beside=others
            )
        except TranscriptError as error:
            yield Reading(problems=[Problem(str(file), None, str(error))])

    with Destination(target, prompt=prompt, model=model, text=given) as destination:
        complete, found = _log_files(files, destination, read, dry_run=dry_run, verbose=verbose)
        if dry_run:
            _print_lines(destination.describe())
        elif found or not files:
            _print_lines(destination.set_prompt_texts())
        if found and wait and not dry_run:
            _print_how_they_do(destination, outcome)
    if dry_run:
        _print("Nothing was logged: this was a dry run.")
    elif files and not found:
        _print("The files hold no conversations that could be logged.")
    if not complete or (files and not found):
        raise typer.Exit(1)


def _log_files(
    files: Sequence[Path],
    destination: Destination,
    read: Callable[[Path], Iterator[Reading]],
    *,
    dry_run: bool,
    verbose: bool,
) -> tuple[bool, bool]:
    """Log one file after another, as exports may be large. Return whether all was logged, and whether there was anything."""
    complete, found = True, False
    for file in files:
        parts = _Parts(read(file))
        result = None
        if dry_run:
            destination.plan(parts)
        else:
            result = destination.log(parts)
        _print_reading(file, parts, result, verbose=verbose)
        found = found or bool(parts.conversations)
        # A conversation that this service cannot update is not a failure of the import.
        failed = result is not None and bool(result.failed or result.not_sent or result.stopped)
        complete = complete and not parts.last.problems and not failed
    return complete, found


class _Parts:
    """The parts of a file while they are read.

    Attributes
    ----------
    conversations
        How many they had so far.
    last
        The last one; that of the whole file says what is wrong with it, and what was left out.
    """

    def __init__(self, parts: Iterator[Reading]) -> None:
        self._parts = parts
        self.conversations = 0
        self.last = Reading()

    def __iter__(self) -> Iterator[Reading]:
        for part in self._parts:
            self.last = part
            self.conversations += len(part.conversations)
            yield part


def _print_reading(file: Path, parts: _Parts, result: LogResult | None, *, verbose: bool) -> None:
    """Print one line for a file, then what went wrong, and what else there is to say when that is asked for."""
    reading = parts.last
    if reading.format:
        _print(_line(file, parts, result if parts.conversations else None))
    if verbose:
        for field, count in sorted(reading.dropped.items()):
            _print(f"  left out {field} ({count:,} record{'s' * (count != 1)})")
    if verbose or not parts.conversations:
        for note in reading.notes:
            _print(f"  {note}")
    if result is not None:
        _print_failures(result)
    indent = "  " if reading.format else ""
    for problem in reading.problems:
        _print(f"{indent}{problem}")


def _print_failures(result: LogResult) -> None:
    for failure in result.failed:
        _print(f"  not logged: {failure}")
    if result.not_sent or result.stopped:
        _print(f"  not sent: {result.not_sent}; stopped early: {result.stopped}")


def _line(file: Path, parts: _Parts, result: LogResult | None) -> str:
    reading = parts.last
    found = [f"{reading.format}, {_count(parts.conversations, 'conversation')}"]
    if reading.model_calls:
        found.append(_count(reading.model_calls, "model call"))
    said = [", ".join(found)]
    if result is not None:
        updated = f"updated {result.updated}, " if result.updated else ""
        said.append(f"logged {result.logged}, {updated}already there {result.already_there}")
    if reading.dropped:
        said.append(f"{_count(len(reading.dropped), 'field')} left out, --verbose lists them")
    return f"{file}: {'; '.join(said)}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _print_how_they_do(destination: Destination, outcome: str | None) -> None:
    """Wait for the insights, then print a table of the prompts and the next step."""
    from promptlift import analysis  # noqa: PLC0415  reading files needs no tables
    from promptlift.analysis.log_outcomes import log_outcomes  # noqa: PLC0415
    from promptlift.local import wait_for_insights  # noqa: PLC0415

    lift, prompts = destination.service, destination.prompts
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
        _print("")
        _print(summary(_joined([rows[name] for name in judged]), judged))
    first = next(iter(prompts))
    if outcome is None and tables[first].attrs["promptlift"]["basis"] == "words":
        _print_lines(_ways(first, log_outcomes(tables[first])))
    _print(
        f'Next: promptlift report "{first}" --out report.html, or promptlift lab to look into them in notebooks.'
    )


def _ways(prompt: str, found: pd.DataFrame) -> list[str]:
    """Return what a word list cannot tell, and how to have it told: by the logs' own outcomes first."""
    rules = [str(rule) for rule in found["rule"] if rule]
    if len(rules) == 1:
        row = found[found["rule"] == rules[0]].iloc[0]
        said = f"{row['n']:,} conversations say how they ended in {row['column']}, {row['n_true']:,} of them well."
        return [
            f'{said} To judge by that: lift.update_prompt("{prompt}", outcome="{rules[0]}"), or import with --outcome "{rules[0]}".'
        ]
    listed = f" The logs have {', '.join(rules)}." if rules else ""
    return [
        f"A word list is right about as often as chance.{listed} Three ways to know more:",
        *(f"  {way}" for way in WAYS),
    ]


def _joined(overviews: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    joined = pd.concat(overviews, ignore_index=True)
    joined.attrs = overviews[0].attrs
    return joined


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        _print(line)


def _print(line: str) -> None:
    sys.stdout.write(f"{printable(line)}\n")
